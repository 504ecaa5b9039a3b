// Shows what a teacher passes on of one picture, as the server makes it (xformer/ui/server/sharing.py): its link, a QR
// code, and the code of a frame. It comes when it is asked for.
import {copyText} from './save.js';

// Opens the sheet of an address. from: what has the focus afterwards.
export async function share(address, from) {
  const query = new URLSearchParams({language: document.documentElement.lang, address});
  const answer = await fetch(new URL(`./share?${query}`, document.baseURI)), text = await answer.text();
  const dialog = Object.assign(document.createElement('dialog'), {className: 'share'});
  if (answer.ok) dialog.innerHTML = text;
  else dialog.textContent = text;
  (document.querySelector('.gradio-container') ?? document.body).append(dialog);
  dialog.addEventListener('close', () => {
    dialog.remove();
    from.focus();
  });
  dialog.addEventListener('click', async event => {
    if (event.target === dialog) dialog.close();
    const button = event.target.closest('[data-copies]');
    if (!button) return;
    await copyText(dialog.querySelector(`textarea.${button.dataset.copies}`).value, button);
    dialog.querySelector('.reply').textContent = button.dataset.said;
  });
  dialog.showModal();
}
