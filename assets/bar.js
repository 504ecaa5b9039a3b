// The bar above the tabs: the examples open under the sentence, and the menu closes, as a person expects.

// What an address says, but for the open tab.
function besidesTab(search) {
  const query = new URLSearchParams(search);
  query.delete('tab');
  return query.toString();
}

// Shows what the address says after the browser's Back or Forward.
function follow() {
  const tab = new URLSearchParams(location.search).get('tab');
  const button = document.querySelector(`[role=tab][data-tab-id="${CSS.escape(tab)}"]`);
  if (button && besidesTab(location.search) === besidesTab(window.writtenAddress)) return button.click();
  window.settled = false;  // what is set on the way is no step
  document.querySelector('.go-back').click();
}

// A click on what names an address (data-address: values by key, null for none) opens the page there.
function openAddress(event) {
  const named = event.target.closest('[data-address]');
  if (!named) return;
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(JSON.parse(named.dataset.address))) {
    if (value === null) query.delete(key);
    else query.set(key, value);
  }
  history.pushState(null, '', `${location.pathname}?${query}`);
  follow();
}

// Gradio gives each radio button a name of its own; with one name, a group is one stop of the Tab key, and arrow keys
// choose in it.
function groupRadios() {
  document.querySelectorAll('.gradio-container fieldset').forEach((group, i) => {
    for (const radio of group.querySelectorAll('input[type=radio]'))
      if (radio.name !== `group-${i}`) radio.name = `group-${i}`;
  });
}

export default function ({element}) {
  document.documentElement.lang = element.querySelector('h1').dataset.language;
  window.addEventListener('popstate', follow);
  document.addEventListener('click', openAddress);
  document.addEventListener('focusin', groupRadios);

  const bar = element.closest('.bar'), ask = bar.querySelector('.ask'), field = ask.querySelector('textarea');
  const menu = bar.querySelector('.menu'), button = menu.querySelector('button'), panel = button.nextElementSibling;
  const opened = () => panel.style.display !== 'none';
  const shut = () => opened() && button.click();
  // A long sentence is shown whole while it is typed; the examples, when they are asked for or nothing is there.
  const type = (examples = false) => {
    ask.classList.add('typing');
    ask.classList.toggle('open', examples);
  };
  const rest = () => ask.classList.remove('typing', 'open');

  field.addEventListener('pointerdown', () => type(true));
  field.addEventListener('input', () => type());
  field.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown' && field.selectionEnd === field.value.length) type(true);
    if (event.key === 'Enter') rest();
  });
  ask.addEventListener('focusout', event => ask.contains(event.relatedTarget) || rest());
  ask.addEventListener('click', event => event.target.closest('button') && rest());
  // A browser that gives no focus to a button that is clicked would close the examples before the click.
  ask.addEventListener('mousedown', event => event.target.closest('.examples') && event.preventDefault());

  const tell = () => button.setAttribute('aria-expanded', opened());
  new MutationObserver(tell).observe(panel, {attributes: true, attributeFilter: ['style']});
  tell();
  document.addEventListener('pointerdown', event => menu.contains(event.target) || shut());
  bar.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return;
    rest();
    if (opened()) {
      shut();
      button.focus();
    }
  });
}
