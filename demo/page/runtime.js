// Measures one runtime of the comparison: four times a second of real time, it checks whether the runtime returns a token, and whether
// that token is still valid. A token is valid for three times `refreshSeconds` after it was first returned: see `world.ts`.

import { $, post, tail } from '/common.js';

const SAMPLE_MS = 250;
/** Two minutes of samples, each two pixels wide on the canvas. */
const SHOWN = 480;

/** How the strip shows a sample: its colour and height. */
const LOOKS = { valid: ['--accent', 1], none: ['--line', 0.25], expired: ['--bad', 0.6] };

/** Return the set of this comparison's reader, for a runtime that does not ask the publisher itself. */
export async function firstSet() {
  const answer = await post('/compare/token');
  if (!answer) throw new Error('nobody is signed in');
  return answer.body;
}

/** Show why a runtime is not measured. */
export const showFailure = ({ message }) => {
  $('now').textContent = message;
};

/**
 * Measure a runtime.
 *
 * @param title  its name.
 * @param note   how it is used here.
 * @param read   returns its current token, or undefined.
 */
export function measure(title, note, read) {
  $('title').textContent = title;
  $('note').textContent = note;
  const samples = [];
  // Real time by kind, ms. The page around this frame shows it beside the requests.
  const counts = { valid: 0, none: 0, expired: 0 };
  window.measured = counts;
  const { setting, realNow, realInterval } = window.demoWorld;
  let known;
  let validUntil = 0;
  let lastAt = realNow();
  let lastShiftMs = setting.shiftMs;
  const sample = () => {
    const token = read() || undefined;
    if (token !== known) {
      known = token;
      validUntil = Date.now() + 3000 * setting.refreshSeconds;
    }
    const kind = !token ? 'none' : Date.now() < validUntil ? 'valid' : 'expired';
    // Time counts from the first token on. Skipped time does not count.
    if (known !== undefined || counts.valid) counts[kind] += setting.shiftMs === lastShiftMs ? realNow() - lastAt : 0;
    lastAt = realNow();
    lastShiftMs = setting.shiftMs;
    samples.push(kind);
    if (samples.length > SHOWN) samples.shift();
    $('now').textContent = { valid: 'a valid token', none: 'no token', expired: 'an expired token' }[kind];
    $('token').textContent = tail(token);
    for (const name of Object.keys(counts)) $(name).textContent = `${Math.round(counts[name] / 1000)} s`;
    draw(samples);
  };
  realInterval(sample, SAMPLE_MS);
  sample();
}

function draw(samples) {
  const canvas = $('strip');
  const context = canvas.getContext('2d');
  const style = getComputedStyle(canvas);
  const probe = $('title');
  const width = canvas.width / SHOWN;
  context.clearRect(0, 0, canvas.width, canvas.height);
  const colours = {};
  for (const [kind, [name]] of Object.entries(LOOKS)) {
    probe.style.color = `var(${name})`;
    colours[kind] = getComputedStyle(probe).color;
  }
  probe.style.color = '';
  samples.forEach((kind, index) => {
    const height = canvas.height * LOOKS[kind][1];
    context.fillStyle = colours[kind] || style.color;
    // Whole pixels, because half-covered ones would show as stripes.
    const left = Math.floor(canvas.width - (samples.length - index) * width);
    context.fillRect(left, canvas.height - height, Math.ceil(width), height);
  });
}
