// The invitation to the first lesson: seen until a lesson was begun, or until it was put away.
import {keep, kept} from '../../../assets/shared.js';

const INVITED = 'invited';

export default function start({element}) {
  const draw = () => { element.querySelector('p').hidden = kept(INVITED) || kept('lessons'); };
  element.addEventListener('click', event => {
    if (!event.target.closest('button')) return;
    keep(INVITED, true);
    document.querySelector('.questions li button')?.focus();  // a lesson that opens takes the focus from there
    draw();
  });
  draw();
}
