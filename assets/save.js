// The toolbar of a figure: saves it as a file, and copies the page's address. Pictures have the page's colours, light
// or dark.
import {watchMenus} from './menus.js';
import {watchProjector} from './projector.js';
import {download, publicAddress} from './shared.js';

watchMenus();  // once, however many figures the page shows
watchProjector();

// The element that names the model of a figure: the figure itself, or the nearest one around it in its tab, such as
// that of a classifier of reviews; else the one in the page's header.
function modelElement(element) {
  const own = element.querySelector('.towers[data-identity]'), tab = element.closest('[role=tabpanel]');
  if (own) return own;
  for (let around = element; tab?.contains(around); around = around.parentElement) {
    const named = around.querySelector('[data-identity]:not(.towers)');
    if (named) return named;
  }
  return document.querySelector('.about [data-identity]');
}

export function modelText(element) {
  const {dataset, textContent} = modelElement(element);
  return dataset.title ?? textContent;
}

export function checkpoint(element) {
  const {name, identity} = modelElement(element).dataset;
  return {name, identity};
}

// The background of the page, light or dark.
export const background = element =>
  getComputedStyle(element).getPropertyValue('--body-background-fill').trim() || '#fff';

// A cell of a CSV file, quoted where needed. An apostrophe keeps spreadsheets from reading a text as a formula; a
// number that people read with a minus sign has a hyphen in a file.
function csvCell(value) {
  if (/^\u2212[\d.]+$/.test(value)) return value.replace('\u2212', '-');
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(element, title, pair, {columns: [first, ...others], rows}) {
  const {name, identity} = checkpoint(element);
  const corner = [title, pair.join(' → '), first, `${name} ${identity}`].filter(Boolean).join(' · ');
  return [[corner, ...others], ...rows].map(row => row.map(csvCell).join(',')).join('\n') + '\n';
}

function json(element, title, pair, table) {
  const about = {title, ...(pair.length && {pair}), model: modelText(element), checkpoint: checkpoint(element),
                 address: publicAddress()};
  return JSON.stringify({...about, ...table});
}

// The sentence and its translation, of which a figure is that names them (data-pair).
export const pairIn = element =>
  JSON.parse((element.matches('[data-pair]') ? element : element.querySelector('[data-pair]'))?.dataset.pair ?? '[]');

const blobAddress = (text, type) => URL.createObjectURL(new Blob([text], {type}));

// Copies a text at the click of a button. Where the clipboard is forbidden, it is copied from a field.
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = Object.assign(document.createElement('textarea'), {value: text});
    button.after(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    button.focus();
  }
}

// The address of what an element shows: the page's, which says all that is on it, and the place that is opened to see
// it, where it stands in one; without what is Gradio's own, such as the theme.
export function addressOf(element) {
  const place = element.closest('.section[class*=" at-"], .block[class*=" at-"]'), address = new URL(publicAddress());
  for (const key of [...address.searchParams.keys()]) if (key.startsWith('__')) address.searchParams.delete(key);
  address.hash = place?.className.match(/ at-([\w-]+)/)[1] ?? '';
  return address.href;
}

// The same, and the picture in which the element stands, by the last of its classes that it alone has: the page opens
// at that, as `follow` in places.js reads it.
function addressOfPicture(element) {
  const address = new URL(addressOf(element)), block = element.closest('.block');
  const own = [...block.querySelector('.prose').classList].filter(one => !/^(svelte-|frame)/.test(one));
  const isAlone = name => document.querySelectorAll(`.block.${CSS.escape(name)}`).length === 1;
  const name = own.findLast(one => block.classList.contains(one) && isAlone(one));
  if (name) address.hash = `${address.hash.slice(1)}:${name}`;
  return address.href;
}

// Copies that address, and says so until the button is left.
async function copyLink(button) {
  await copyText(addressOf(button), button);
  const note = button.parentElement.querySelector('.copied');
  note.textContent = button.dataset.said;
  button.addEventListener('blur', () => { note.textContent = ''; }, {once: true});
}

// Saves a figure when one of its buttons is clicked, and copies the address. title() → text, table() → {columns, rows},
// picture(kind) → a promise of the address of an 'svg' or a 'png', pair() → the texts that it is of.
export function saveOnClick(element, {title, table, picture, pair = () => pairIn(element)}) {
  const files = {
    csv: () => blobAddress(csv(element, title(), pair(), table())),
    json: () => blobAddress(json(element, title(), pair(), table())),
  };
  element.addEventListener('click', async event => {
    const button = event.target.closest('button'), kind = button?.dataset.save;
    if (button?.dataset.act === 'copy') await copyLink(button);
    if (button?.dataset.act === 'share') {
      const {share} = await import(new URL('./share.js', import.meta.url));
      await share(addressOfPicture(button), button.closest('.save-menu').querySelector('summary'));
    }
    if (!kind) return;
    const address = files[kind] ? files[kind]() : await picture(kind);
    const name = title().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
    download(address, `${name}.${kind}`);
  });
}

// The address of an SVG, or of a PNG drawn from it at twice its size.
export async function pictureAddress(kind, svg, width, height) {
  if (kind === 'svg') return blobAddress(svg, 'image/svg+xml');
  const canvas = Object.assign(document.createElement('canvas'), {width: 2 * width, height: 2 * height});
  const image = new Image();
  image.src = 'data:image/svg+xml,' + encodeURIComponent(svg);
  await image.decode();
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL();
}
