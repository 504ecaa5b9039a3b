// Says what the locked words look at and which heads link them, from props.value (xformer/figures/locked_word.py). A
// click on a head triggers 'choose' {layer, head, add}; a choice in the list of other words locks that word too, and
// triggers 'lock'.
import {chooseHead} from '../../../assets/heads.js';
import {setLock} from '../../../assets/lock.js';
import {escapeHtml, redraw} from '../../../assets/shared.js';

const LETTER = {row: 0, column: 1};

function list({title, words, empty}) {
  const item = ({label, value}) => `<li><span class="name">${escapeHtml(label)}</span>` +
    `<span class="share" style="--share:${value}"></span><span class="number">${value.toFixed(3)}</span></li>`;
  const items = words.length ? `<ul>${words.map(item).join('')}</ul>` : `<p class="sub">${escapeHtml(empty)}</p>`;
  return `<h4>${escapeHtml(title)}</h4>${items}`;
}

function link({layer, head, place, words, value, here}) {
  const text = `${escapeHtml(place)}${words && `<span class="sub"> ${escapeHtml(words)}</span>`}`;
  return `<li><button type="button" data-layer="${layer}" data-head="${head}" aria-pressed="${here}">` +
    `<span class="name">${text}</span><span class="number">${value.toFixed(3)}</span></button></li>`;
}

function otherWord({other, none, others, chosen}) {
  const options = others.map((text, i) =>
    `<option value="${i}" ${i === chosen ? 'selected' : ''}>${escapeHtml(text)}</option>`);
  return `<label class="other">${escapeHtml(other)} <select><option value="">${escapeHtml(none)}</option>` +
    `${options.join('')}</select></label>`;
}

export default function start({element, props, trigger, watch}) {
  const inside = selector => element.querySelector(selector);

  function draw() {
    const word = props.value, place = inside('.word');
    element.dataset.empty = !word;
    if (!word || !place) return;
    inside('h3').textContent = word.title || word.heading;
    inside('.let-go').hidden = inside('.in-all').hidden = !word.title;
    const linked = word.title && `<h4>${escapeHtml(word.question)}</h4>${otherWord(word)}` +
      `<ol class="links">${word.links.map(link).join('')}</ol>`;
    const hint = `<p class="sub">${escapeHtml(word.hint)}</p>`;
    redraw(place, word.title ? word.lists.map(list).join('') + linked : hint);
  }

  // Opens the part of the drawer about these words in all heads; on a phone, after this click has closed the drawer.
  function openDrawer() {
    const tab = document.querySelector('.drawer [role=tab][data-tab-id=word-link]');
    setTimeout(() => {
      tab.click();
      tab.scrollIntoView({block: 'nearest'});
    });
  }

  function choose(place) {
    chooseHead(place);
    trigger('choose', {...place, add: false});
  }

  function lock(text) {
    setLock(text);
    trigger('lock');
  }

  element.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (button?.dataset.layer) choose({layer: Number(button.dataset.layer), head: Number(button.dataset.head)});
    else if (button?.matches('.let-go')) lock('');
    else if (button?.matches('.in-all')) openDrawer();
  });
  element.addEventListener('change', event => {
    const {locks, axis} = props.value, chosen = event.target.value;
    if (event.target.tagName !== 'SELECT') return;
    const other = chosen === '' ? '' : locks.others[Number(chosen)];
    lock(LETTER[axis] ? locks.own + (other && '-' + other) : other + '-' + locks.own);
  });
  watch('value', draw);
  draw();
}
