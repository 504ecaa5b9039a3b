// Runs in the page before anything else, as part of its HTML: opens the tab that the address names, and shows its name
// and the frames of what it begins with until Gradio has laid the page out (`tabOpened` of page.js).
(() => {
  const {components, tabs_of: tabs} = window.gradio_config, query = new URLSearchParams(location.search);
  const opening = document.querySelector('.opening'), inside = document.createElement('template');
  const isIn = address => [...new URLSearchParams(address)].every(([key, value]) => query.get(key) === value);
  const layings = components.filter(({props}) => props.elem_id?.startsWith('laying-'));
  for (const {props} of layings) {
    inside.innerHTML = props.value;
    const parts = [...inside.content.querySelectorAll('.frames')];
    const chosen = parts.find(one => isIn(one.dataset.address)) ?? parts[0];
    for (const one of parts) one.hidden = one !== chosen;
    props.value = inside.innerHTML;
  }
  const shown = layings.find(({props}) => props.elem_id === `laying-${query.get('tab')}`) ?? layings[0];
  if (!shown) return opening.remove();
  opening.dataset.tab = shown.props.elem_id.slice('laying-'.length);
  components.find(({id}) => id === tabs).props.selected = opening.dataset.tab;
  opening.innerHTML = `<b>${window.gradio_config.title}</b><i></i><hr><div class="laying">${shown.props.value}</div>`;
})();
