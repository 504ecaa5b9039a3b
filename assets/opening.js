// Runs in the page before anything else, as part of its HTML: opens the tab, and the sheet, that the address names, and
// shows its name, the places of the field, of tabs and sheets, and the frames of what it begins with until Gradio has
// laid the page out (`tabOpened` of page.js).
(() => {
  const {components, tabs: later, tabs_of: tabs} = window.gradio_config, query = new URLSearchParams(location.search);
  const opening = document.querySelector('.opening'), inside = document.createElement('template');
  // An address of before, as it is now (xformer/ui/former.py).
  const former = JSON.parse(opening.dataset.former).filter(([key, value]) => query.get(key) === value);
  for (const [key] of former) query.delete(key);
  for (const [, , {'#': place, ...now}] of former) {
    Object.entries(now).forEach(one => query.set(...one));
    if (!place || location.hash) continue;
    const whole = new URL(location.href);
    whole.hash = place;
    history.replaceState(history.state, '', whole);
  }
  const isIn = address => [...new URLSearchParams(address)].every(([key, value]) => query.get(key) === value);
  const layings = new Map(components.filter(({props}) => props.elem_id?.startsWith('laying-'))
    .map(({props}) => [props.elem_id.slice('laying-'.length), props]));
  for (const props of layings.values()) {
    inside.innerHTML = props.value;
    const parts = [...inside.content.querySelectorAll('.frames')];
    const chosen = parts.find(one => isIn(one.dataset.address)) ?? parts[0];
    for (const one of parts) one.hidden = one !== chosen;
    props.value = inside.innerHTML;
  }
  if (!layings.size) return opening.remove();
  const first = [...layings.keys()].find(name => !Object.hasOwn(later, name));
  const tab = layings.has(query.get('tab')) ? query.get('tab') : first, part = query.get(`${tab}_part`);
  const sheet = part !== null && Object.hasOwn(later, part) ? part : tab;
  opening.dataset.sheet = sheet;
  components.find(({id}) => id === tabs).props.selected = tab;
  // Of the first tab, which comes with the page, the sheet is laid out alone.
  const columns = components.filter(({props}) => props.elem_classes?.includes('sheet'));
  const column = columns.find(({props}) => props.elem_classes.includes(`later-${sheet}`));
  if (tab === first && column) for (const one of columns) one.props.visible = one === column;
  const {value} = layings.get(sheet) ?? layings.get(tab);
  const isAmong = (names, one) => opening.dataset[names].split(' ').includes(one);
  const hasSheets = isAmong('sheets', tab), field = `<i${hasSheets ? ' class="below-sheets"' : ''}></i>`;
  opening.innerHTML = `<b>${window.gradio_config.title}</b>${isAmong('own', sheet) ? '' : field}<hr>` +
    `${hasSheets ? '<p></p>' : ''}<div class="laying">${value}</div>`;
})();
