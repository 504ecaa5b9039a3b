// Runs in a page before its own scripts: counts what the page has begun and not ended, for `idle` in acts.py.
(() => {
  const SHORT = 500;  // milliseconds; what a page does later than that, such as hiding a notice, it does unasked
  const STEADY = 4;  // frames in a row in which nothing was waited for: one answer leads to the next by way of some
  const drawings = new Set(), timers = new Set(), turns = new Set();
  const frame = window.requestAnimationFrame.bind(window), later = window.setTimeout.bind(window);  // not counted
  let steady = 0, page = null;

  // Replaces what begins a call and what takes it back by functions that count it in a set.
  function count(begun, begin, cancel, counts = () => true) {
    const [first, takeBack] = [window[begin], window[cancel]];
    window[begin] = (call, ...how) => {
      const id = first(typeof call !== 'function' ? call : (...given) => {
        begun.delete(id);
        return call(...given);
      }, ...how);
      if (counts(...how)) begun.add(id);
      return id;
    };
    window[cancel] = id => {
      begun.delete(id);
      takeBack(id);
    };
  }

  count(drawings, 'requestAnimationFrame', 'cancelAnimationFrame');
  count(timers, 'setTimeout', 'clearTimeout', (wait = 0) => wait <= SHORT);
  count(turns, 'requestIdleCallback', 'cancelIdleCallback');

  const moves = () => document.getAnimations().filter(
    one => one.playState === 'running' && one.effect.getTiming().iterations !== Infinity);

  // What the page waits for, by name, as JSON holds it.
  window.waitsFor = () => ({
    settled: page?.settled ?? null,
    requests: [...page?.waiting.requests.values() ?? []],
    scripts: page?.waiting.scripts ?? 0,
    frames: drawings.size, timers: timers.size, turns: turns.size, moves: moves().length});

  // Whether the page waited for nothing in the last frames. state: of the page, by assets/state.js; held: how many
  // requests a test holds back itself, or the name of the listener whose requests it holds.
  window.isIdle = (state, held = 0) => {
    page = state;
    const {settled, requests, frames: drawn, ...others} = window.waitsFor();
    if (!held) others.frames = drawn;  // what is held may show a clock meanwhile
    const most = Number.isInteger(held) ? held : 0;
    const waits = !settled || requests.filter(name => name !== held).length > most ||
      Object.values(others).some(Boolean);
    steady = waits ? 0 : steady + 1;
    if (steady < STEADY) return false;
    steady = 0;  // the next wait is for what is done after this one
    return true;
  };

  // Tells when the page waits for nothing: null; or what it waits for after so many milliseconds.
  window.untilIdle = (state, most) => new Promise(told => {
    const ask = () => window.isIdle(state) ? told(null) : frame(ask);
    later(() => told(window.waitsFor()), most);
    ask();
  });
})();
