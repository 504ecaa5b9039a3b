// Keeps the maps of all heads of a stack, from props.value (xformer/figures/heads_payload.py), so that another head is
// drawn at once, before the server has answered.
import {bytes, fill} from './shared.js';
import {state, tell} from './state.js';

const MOST = 65535;  // what stands for a probability of 1

export default function start({props, watch}) {
  const receive = () => { state.heads = props.value ?? null; };
  watch('value', receive);
  receive();
}

// Shows a head, {layer, head}, of the stack that is shown; null: the server says which are shown.
export function chooseHead(place) {
  state.chosenHead = place;
  if (place) tell('headchosen');
}

// The map of the head that was chosen, as `readMap` of head_map.js gives it, from the map that is shown; null where
// this page does not have it.
export function chosenMap(shown) {
  const {of, title: titles, rules, readings} = state.heads ?? {}, {layer, head} = state.chosenHead;
  const name = `${layer}.${head}`, found = readings?.find(({heads}) => heads.includes(name));
  if (!found || shown.of !== of) return null;
  const {heads, data, ...labels} = found, {show: _, ...chips} = shown.chips;
  const cells = labels.queries.length * labels.keys.length, first = heads.indexOf(name) * cells;
  const levels = new Uint16Array(bytes(data).buffer, 2 * first, cells), title = fill(titles, {layer, head});
  const key = shown.key.replace(shown.title, () => title);
  return {...shown, ...labels, title, key, rules, chips, probabilities: Float32Array.from(levels, one => one / MOST)};
}
