// Saves the table of one query's scores, step by step, as a picture or as its numbers: a row for each number.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';

export default function start({element}) {
  const part = () => element.querySelector('.scores');
  const title = () => part().querySelector('.caption').textContent;
  const texts = selector => [...part().querySelectorAll(selector)].map(cell => cell.textContent);

  function table() {
    const [keys, ...steps] = texts('thead th'), {query, step, value} = part().dataset;
    const rows = [...part().querySelectorAll('tbody tr')].flatMap(row =>
      [...row.querySelectorAll('td')].map((cell, i) =>
        [query, row.querySelector('th').textContent, steps[i], Number(cell.dataset.value)]));
    return {columns: ['', keys, step, value], rows: rows.filter(row => Number.isFinite(row[3]))};
  }

  saveOnClick(element, {title, table, picture: kind => htmlPicture(kind, element, part(), 'first-scores')});
}
