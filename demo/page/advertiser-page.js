// The advertiser: sends a list to its own server, which maps and stores it, and shows what becomes due as time passes.

import { $, get, post } from '/common.js';

const number = new Intl.NumberFormat('en');
const say = (text) => {
  $('said').textContent = text;
};
const showCounts = ({ mapped, optedOut, due, rotated }) => {
  for (const [id, count] of Object.entries({ mapped, optedOut, 'due-count': due, rotated }))
    $(id).textContent = number.format(count);
};
/** Show why rows are not valid. */
const showReasons = (reasons) => {
  const items = reasons.map(({ reason, count, line }) => {
    const rows = count === 1 ? '1 row' : `${number.format(count)} rows`;
    const where = line ? ` (${count === 1 ? '' : 'first '}line ${line})` : '';
    return Object.assign(document.createElement('li'), { textContent: `${rows}${where}: ${reason}` });
  });
  $('reasons').replaceChildren(...items);
  $('reasons').hidden = !items.length;
};

/** Run a job and show its progress, which arrives as a stream of lines. */
async function run(path, body) {
  say('Working.');
  showReasons([]);
  $('bar').value = 0;
  const response = await fetch(path, { method: 'POST', body }).catch(() => undefined);
  if (!response?.ok)
    return say((await response?.json().catch(() => undefined))?.message ?? 'The server cannot be reached.');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ; ) {
    const chunk = await reader.read().catch(() => undefined);
    if (!chunk) return say('The connection to the server ended before the job did.');
    if (chunk.done) return;
    const parts = `${text}${chunk.value}`.split('\n\n');
    text = parts.pop();
    for (const part of parts) show(JSON.parse(part.replace(/^data: /, '')));
  }
}

function show({ progress, reasons, summary, counts, problem }) {
  if (problem) return say(problem);
  if (reasons) return showReasons(reasons);
  $('bar').value = progress ?? 1;
  if (!summary) return;
  const { mapped, kept, optedOut, invalid } = summary;
  say(
    `${number.format(mapped)} mapped, ${number.format(kept)} not due, ${number.format(optedOut)} opted out, ${number.format(invalid)} not valid.`,
  );
  showCounts(counts);
}

const mapFile = (file) => file && run('/advertiser/map', file);
$('file').onchange = () => {
  mapFile($('file').files[0]);
  // Choosing the same file again, once it is corrected, is a change too.
  $('file').value = '';
};
$('sample').onclick = () => {
  const rows = Array.from({ length: 997 }, (_, index) => `customer-${index}@example.com`);
  return run(
    '/advertiser/map',
    ['email', ...rows, 'optout@example.com', 'not an address', 'customer-0@example.com'].join('\n'),
  );
};
for (const type of ['dragover', 'dragleave', 'drop']) {
  $('drop').addEventListener(type, (event) => {
    event.preventDefault();
    $('drop').classList.toggle('over', type === 'dragover');
    if (type === 'drop') mapFile(event.dataTransfer.files[0]);
  });
}

const showTime = ({ shiftMs }) => {
  $('date').textContent = new Date(Date.now() + shiftMs).toLocaleDateString('en-GB', { dateStyle: 'long' });
};
for (const button of document.querySelectorAll('[data-travel]')) {
  button.onclick = async () => {
    try {
      const { shiftMs } = await get('/demo/setting');
      showTime(await post('/demo/setting', { shiftMs: shiftMs + Number(button.dataset.travel) }));
      showCounts(await get('/advertiser/counts'));
    } catch ({ message, status }) {
      say(status === 400 ? `${message}. "Start over" in the dashboard returns to the present.` : message);
    }
  };
}
$('map-due').onclick = () => run('/advertiser/due');
get('/demo/setting').then(showTime, ({ message }) => say(message));
/** Say how the store was opened, unless a job has begun meanwhile. */
const sayOpened = (text) => {
  if ($('said').textContent.startsWith('Opening')) say(text);
};
get('/advertiser/counts').then(
  (counts) => {
    showCounts(counts);
    sayOpened(counts.mapped ? 'Earlier mappings are still stored.' : 'Nothing mapped yet.');
  },
  ({ message }) => sayOpened(message),
);
