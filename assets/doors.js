// The doors of the Translate tab: asks for their pictures once the page has arrived, and keeps them folded where a
// reader has folded or used them.
import {whenSettled} from './state.js';

const KEY = 'doors';
const folded = () => {
  try {
    return localStorage.getItem(KEY) === 'folded';
  } catch { return false; /* a browser that keeps nothing */ }
};
const keep = isFolded => {
  try {
    localStorage.setItem(KEY, isFolded ? 'folded' : 'open');
  } catch { /* the same */ }
};

export default function start({element, trigger, watch}) {
  const list = () => element.querySelector('details');
  const draw = () => { list().open = !folded(); };
  element.addEventListener('click', event => {
    if (event.target.closest('summary')) keep(list().open);  // which it closes now
    else if (event.target.closest('[data-address]')) keep(true);
  });
  watch('value', draw);
  draw();
  whenSettled(() => trigger('wanted'));
}
