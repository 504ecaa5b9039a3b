// Stands before the script of every figure: how its numbers become a file, and a file is offered.
const plain = text => new DOMParser().parseFromString(String(text ?? '').replaceAll('<br>', ' '), 'text/html').body.textContent;
const escape = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const quoted = value => {  // what a spreadsheet would take for a formula is put behind an apostrophe
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// The model that a figure is of: that of its tab where the tab names one, as the classifier's does, else the page's.
const model = () => element.closest('[role=tabpanel]')?.querySelector('[data-identity]') ?? document.querySelector('header [data-identity]');
const checkpoint = () => ({name: model().dataset.name, identity: model().dataset.identity});

// title() names the figure, table() has its numbers {columns, rows}, picture(kind) is an address of its picture.
function saves(title, table, picture) {
  const made = {
    csv: () => {
      const {columns: [first, ...columns], rows} = table(), {name, identity} = checkpoint();
      const corner = [title(), first, `${name} ${identity}`].filter(Boolean).join(' · ');
      return [[corner, ...columns], ...rows].map(row => row.map(quoted).join(',')).join('\n') + '\n';
    },
    json: () => JSON.stringify({title: title(), model: model().textContent, checkpoint: checkpoint(), address: location.href, ...table()}),
  };
  element.addEventListener('click', async event => {
    const kind = event.target.closest('button')?.dataset.save;
    if (!kind) return;
    const href = made[kind] ? URL.createObjectURL(new Blob([made[kind]()])) : await picture(kind);
    const download = title().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') + '.' + kind;
    Object.assign(document.createElement('a'), {href, download}).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  });
}

const background = () => getComputedStyle(element).getPropertyValue('--body-background-fill').trim() || '#fff';

// An address of an SVG, or of what it looks like.
async function rendered(kind, svg, width, height) {
  if (kind === 'svg') return URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
  const image = new Image(), canvas = Object.assign(document.createElement('canvas'), {width: 2 * width, height: 2 * height});
  image.src = 'data:image/svg+xml,' + encodeURIComponent(svg);
  await image.decode();
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL();
}
