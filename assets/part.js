// Saves a part of the page that is written in HTML, by `savable` in xformer/figures/tables.py: as a picture, or as the
// numbers of its table.
import {htmlPicture} from './html_picture.js';
import {saveOnClick} from './save.js';

export default function start({element, props, watch}) {
  const part = () => element.querySelector('[data-table]');
  const note = () => { element.dataset.empty = !props.value?.includes('data-table'); };

  saveOnClick(element, {
    title: () => part().dataset.title,
    table: () => JSON.parse(part().dataset.table),
    picture: kind => htmlPicture(kind, element, part(), part().classList[0]),
  });
  watch('value', note);
  note();
}
