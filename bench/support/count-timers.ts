/** A script for a page: counts the timers that fire, in the global `fired`. It runs before any other script. */

export const COUNT_TIMERS = `
  window.fired = 0;
  for (const name of ['setTimeout', 'setInterval', 'requestAnimationFrame', 'requestIdleCallback']) {
    const real = window[name];
    window[name] = (call, ...more) => real((...given) => {
      fired++;
      return call(...given);
    }, ...more);
  }`;
