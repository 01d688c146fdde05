// The advertiser: sends a list to its own server, which maps and stores it, and shows what becomes due as time passes.

import { $, post } from '/common.js';

const number = new Intl.NumberFormat('en');
const say = (text) => {
  $('said').textContent = text;
};
const showCounts = ({ mapped, optedOut, invalid, due, rotated }) => {
  for (const [id, count] of Object.entries({ mapped, optedOut, invalid, 'due-count': due, rotated }))
    $(id).textContent = number.format(count);
};

/** Run a job and show its progress, which arrives as a stream of lines. */
async function run(path, body, lines) {
  say('Working.');
  $('bar').value = 0;
  const response = await fetch(path, { method: 'POST', body }).catch(() => undefined);
  if (!response?.ok)
    return say((await response?.json().catch(() => undefined))?.message ?? 'The server cannot be reached.');
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop();
    for (const part of parts) show(JSON.parse(part.replace(/^data: /, '')), lines);
  }
}

function show({ progress, summary, counts, problem }, lines) {
  if (problem) return say(problem);
  if (progress) {
    const { kept, mapped, optedOut, invalid, total = lines } = progress;
    $('bar').value = Math.min(1, (kept + mapped + optedOut + invalid) / Math.max(1, total));
    return;
  }
  $('bar').value = 1;
  const { mapped, kept, optedOut, invalid } = summary;
  say(
    `${number.format(mapped)} mapped, ${number.format(kept)} not due, ${number.format(optedOut)} opted out, ${number.format(invalid)} not valid.`,
  );
  showCounts(counts);
}

const mapText = (text) => run('/advertiser/map', text, text.split('\n').filter(Boolean).length);
$('file').onchange = async () => {
  const [file] = $('file').files;
  if (file) await mapText(await file.text());
};
$('sample').onclick = () => {
  const rows = Array.from({ length: 997 }, (_, index) => `customer-${index}@example.com`);
  return mapText(['email', ...rows, 'optout@example.com', 'not an address', 'customer-0@example.com'].join('\n'));
};
for (const type of ['dragover', 'dragleave', 'drop']) {
  $('drop').addEventListener(type, async (event) => {
    event.preventDefault();
    $('drop').classList.toggle('over', type === 'dragover');
    const file = type === 'drop' && event.dataTransfer.files[0];
    if (file) await mapText(await file.text());
  });
}

const showTime = ({ shiftMs }) => {
  $('date').textContent = new Date(Date.now() + shiftMs).toLocaleDateString('en-GB', { dateStyle: 'long' });
};
const get = async (path) => (await fetch(path)).json();
for (const button of document.querySelectorAll('[data-travel]')) {
  button.onclick = async () => {
    try {
      const { shiftMs } = await get('/demo/setting');
      showTime(await post('/demo/setting', { shiftMs: shiftMs + Number(button.dataset.travel) }));
      showCounts(await get('/advertiser/counts'));
    } catch ({ message }) {
      say(`${message}. "Start over" in the dashboard returns to the present.`);
    }
  };
}
$('map-due').onclick = () => run('/advertiser/due');
get('/demo/setting').then(showTime, () => say('The server cannot be reached.'));
get('/advertiser/counts').then(
  (counts) => {
    showCounts(counts);
    // A job may have begun meanwhile.
    if ($('said').textContent.startsWith('Opening'))
      say(counts.mapped ? 'Earlier mappings are still stored.' : 'Nothing mapped yet.');
  },
  () => say('The server cannot be reached.'),
);
