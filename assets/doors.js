// The doors of the Translate tab: asks for their pictures once the page has arrived, and keeps them folded where a
// reader has folded or used them.
import {keep, kept} from './shared.js';
import {whenSettled} from './state.js';

const KEY = 'doors';

export default function start({element, trigger, watch}) {
  const list = () => element.querySelector('details');
  const draw = () => { list().open = kept(KEY) !== 'folded'; };
  element.addEventListener('click', event => {
    if (event.target.closest('summary')) keep(KEY, list().open ? 'folded' : 'open');  // which it closes now
    else if (event.target.closest('[data-address]')) keep(KEY, 'folded');
  });
  watch('value', draw);
  draw();
  whenSettled(() => trigger('wanted'));
}
