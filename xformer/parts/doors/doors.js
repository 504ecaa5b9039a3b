// The doors of the Translate tab: asks for their pictures once the page has arrived, and keeps them folded where a
// reader has folded or used them. The invitation to the first lesson is seen until a lesson was begun, or until it was
// put away.
import {keep, kept} from '../../../assets/shared.js';
import {whenSettled} from '../../../assets/state.js';

const KEY = 'doors', INVITED = 'invited';

export default function start({element, trigger, watch}) {
  const list = () => element.querySelector('details');
  const invite = () => { element.querySelector('.invitation').hidden = kept(INVITED) || kept('lessons'); };
  const draw = () => {
    list().open = kept(KEY) !== 'folded';
    invite();
  };
  element.addEventListener('click', event => {
    if (event.target.closest('summary')) keep(KEY, list().open ? 'folded' : 'open');  // which it closes now
    else if (event.target.closest('[data-address]')) keep(KEY, 'folded');
    else if (event.target.closest('.invitation button')) {
      keep(INVITED, true);
      list().querySelector('summary').focus();  // a lesson that opens takes the focus from there
      invite();
    }
  });
  watch('value', draw);
  draw();
  whenSettled(() => trigger('wanted'));
}
