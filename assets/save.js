// Stands before the script of every figure: how its numbers become a file, and a file is offered.
const plain = text => new DOMParser().parseFromString(String(text ?? '').replaceAll('<br>', ' '), 'text/html').body.textContent;
const cell = value => {  // what a spreadsheet would take for a formula is put behind an apostrophe
  const text = typeof value === 'string' && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// title() names the figure, table() has its numbers {columns, rows}, picture(kind) is an address of its picture.
function saves(title, table, picture) {
  const made = {
    csv: () => [table().columns, ...table().rows].map(row => row.map(cell).join(',')).join('\n') + '\n',
    json: () => JSON.stringify({title: title(), model: document.querySelector('header .model')?.textContent, address: location.href, ...table()}),
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
