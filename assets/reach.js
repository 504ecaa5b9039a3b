// What the keyboard reaches beyond buttons and fields: what scrolls, and the pieces of a translation. And the chosen
// part of a tab, where the choice scrolls.
import {overflow} from './shared.js';

const SCROLLING = '.tables, .scroll, .plot, .maps, .rows, .review';
const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

// What a region shows, in words: its caption, or the heading above it; with a number, where another has that name.
function nameOf(region) {
  const above = [...document.querySelectorAll('h2, h3, h4')].filter(one => one.checkVisibility() &&
    one.compareDocumentPosition(region) & Node.DOCUMENT_POSITION_FOLLOWING);
  const name = (region.querySelector('caption, .caption') ?? above.at(-1))?.textContent.trim() ?? '';
  const taken = new Set([...document.querySelectorAll('[role=region]')].map(one => one.getAttribute('aria-label')));
  let number = 1;
  while (taken.has(number === 1 ? name : `${name} ${number}`)) number++;
  return number === 1 ? name : `${name} ${number}`;
}

// Lets the arrow keys scroll what is larger than its box and holds nothing that has the focus, by giving it a Tab stop.
function reachScrolling() {
  for (const region of document.querySelectorAll(SCROLLING)) {
    if (!region.clientWidth) continue;
    const {across, down} = overflow(region), isCut = across > 1 || down > 1;
    const isOurs = region.dataset.reached === 'true';
    if (isCut && !isOurs && region.tabIndex < 0 && !region.querySelector(FOCUSABLE)) {
      region.dataset.reached = true;
      region.tabIndex = 0;
      if (!region.getAttribute('aria-label')) region.setAttribute('aria-label', nameOf(region));
      if (!region.getAttribute('role')) region.setAttribute('role', 'region');
    } else if (!isCut && isOurs) {
      delete region.dataset.reached;
      region.removeAttribute('tabindex');
    }
  }
}

// Brings the chosen part into sight where the choice scrolls, as it does on a phone.
function showChosen() {
  for (const chosen of document.querySelectorAll(':is(.parts, .sheets) label.selected')) {
    const row = chosen.parentElement, {left, right} = chosen.getBoundingClientRect(), box = row.getBoundingClientRect();
    if (left < box.left) row.scrollLeft -= box.left - left + 24;
    else if (right > box.right) row.scrollLeft += right - box.right + 24;
  }
}

// The pieces of a translation are one Tab stop; arrow keys go from piece to piece.
function goBetweenPieces(event) {
  const piece = event.target.closest?.('.translation .piece');
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (!piece || !by) return;
  event.preventDefault();
  const pieces = [...piece.closest('.translation').querySelectorAll('.piece')];
  pieces[pieces.indexOf(piece) + by]?.focus();
}

function moveStop(event) {
  const piece = event.target.closest?.('.translation .piece');
  const pieces = piece?.closest('.translation').querySelectorAll('.piece') ?? [];
  for (const one of pieces) one.tabIndex = one === piece ? 0 : -1;
}

// Calls a function a moment after the last of many events, when all is laid out.
function afterwards(call) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => requestAnimationFrame(call), 150);
  };
}

// Call it once for a page.
export function watchReach() {
  document.addEventListener('keydown', goBetweenPieces);
  document.addEventListener('focusin', moveStop);
  const look = afterwards(() => {
    reachScrolling();
    showChosen();
  });
  new MutationObserver(look).observe(document.body, {childList: true, subtree: true});
  window.addEventListener('resize', look);
  window.addEventListener('settled', look);
  document.addEventListener('click', look);
}
