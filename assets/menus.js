// Closes the menus of the page, <details class="save-menu"> and Gradio's accordions with the class .view-menu, after a
// click elsewhere or the Escape key, and a menu that saves when something in it is chosen.
const accordion = menu => menu.querySelector('[data-testid=accordion-content]');

function closeMenu(menu) {
  if (menu.tagName === 'DETAILS') menu.open = false;
  else if (accordion(menu)?.checkVisibility()) menu.querySelector('button.label-wrap').click();
}

// Watches all menus of the page. Call it once.
export function watchMenus() {
  const menus = () => [...document.querySelectorAll('details.save-menu[open], .view-menu')];
  function leave(menu) {
    menu.querySelector('summary, button.label-wrap').focus();
    closeMenu(menu);
  }
  document.addEventListener('pointerdown', event => {
    menus().filter(menu => !menu.contains(event.target)).forEach(closeMenu);
  });
  document.addEventListener('click', event => {
    const menu = event.target.closest('.save-menu button')?.closest('.save-menu');
    if (menu) leave(menu);
  });
  document.addEventListener('keydown', event => {
    const menu = event.key === 'Escape' && menus().find(one => one.contains(document.activeElement));
    if (!menu) return;
    event.stopPropagation();
    leave(menu);
  }, true);
}

// Lets the drawer of a phone open by a tap on one of its tabs, and close by a tap on the same tab or elsewhere. Call it
// once for a page.
export function watchDrawer() {
  let shown = null;
  document.addEventListener('click', event => {
    const drawer = document.querySelector('.drawer'), tab = event.target.closest('.drawer [role=tab]');
    if (!drawer || (!tab && drawer.contains(event.target))) return;
    const isOpen = drawer.dataset.open === 'true' && tab === shown;
    drawer.dataset.open = Boolean(tab) && !isOpen;
    shown = tab;
  });
}
