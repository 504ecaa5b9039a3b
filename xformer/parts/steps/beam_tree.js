// Draws a beam as a tree, from props.value (beam_tree.py): a column for each step, of the pieces
// that the beam considered, the best on top. A click or Enter on a piece triggers 'choose' {node}; arrow keys go to its
// parent, its best continuation, and its neighbours above and below.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {escapeHtml, fill, fixed, label, rect, redraw, tongue} from '../../../assets/shared.js';

const COLUMN = 132, BOX = 107, TOP = 24, LEFT = 6, LETTERS = 8;  // pixels, and letters of a piece
// Pixels: between rows, and between a row's box and the next; rows are closer where there are more, so that a wider
// beam moves nothing that stands below, until they are as near as a finger can tell apart.
const ROW = 27, NEAREST = 24, ROOM = 290, BETWEEN = 5;
const cut = text => text.length > LETTERS ? text.slice(0, LETTERS - 1) + '…' : text;

export default function start({element, props, trigger, watch}) {
  let tree = null;  // the last value
  let chosen = 0, apart = ROW;
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(tree.texts[key], values);

  function receive() {
    tree = props.value && {...props.value, nodes: JSON.parse(props.value.nodes)};
    element.dataset.empty = !tree;
    if (!tree || !inside('.drawing')) return;
    const before = inside('.scroll')?.scrollLeft ?? 0;
    chosen = tree.chosen;
    draw();
    inside('.scroll').scrollLeft = before;
  }

  const xOf = node => LEFT + node.step * COLUMN, yOf = node => TOP + node.row * apart, high = () => apart - BETWEEN;
  // A node's class, which gives its colours.
  const kindOf = node => node.place === 1 ? 'winner' : node.fate;
  const fateOf = node => say(`tree_${kindOf(node)}`) + (node.cut ? `, ${say('tree_cut')}` : '');

  function edge(node) {
    const from = tree.nodes[node.parent];
    const [x, y, toX, toY] = [xOf(from) + BOX, yOf(from) + high() / 2, xOf(node), yOf(node) + high() / 2];
    const middle = (x + toX) / 2, kind = node.best ? 'best' : node.fate;
    return `<path class="edge ${kind}" d="M${x} ${y} C${middle} ${y} ${middle} ${toY} ${toX} ${toY}"/>`;
  }

  function box(node, i) {
    const x = xOf(node), y = yOf(node), kind = kindOf(node);
    const values = {piece: node.piece, step: node.step + 1, rank: node.row + 1, fate: fateOf(node),
                    total: fixed(node.total, 3), score: fixed(node.score, 4), log_prob: fixed(node.log_prob, 3)};
    const hint = escapeHtml(say('tree_hover', values)), number = fixed(node.score, 2);
    const written = `${kind === 'winner' ? '★ ' : ''}${cut(node.piece)}`;
    return `<g class="node ${kind}${node.best ? ' best' : ''}" data-node="${i}" role="button" ` +
      `tabindex="${i === chosen ? 0 : -1}" aria-pressed="${i === chosen}" ` +
      `aria-label="${escapeHtml(`${written} ${number}`)}; ${hint}"><title>${hint}</title>` +
      rect(x, y, BOX, high(), `rx="${node.fate === 'ended' ? high() / 2 : 4}"`) +
      label(written, x + 7, y + high() / 2 + 4, `lang="${tongue('target')}" class="piece"`) +
      label(number, x + BOX - 6, y + high() / 2 + 4, 'text-anchor="end" class="score"') + '</g>';
  }

  function draw() {
    const steps = 1 + Math.max(...tree.nodes.map(node => node.step));
    const rows = 1 + Math.max(...tree.nodes.map(node => node.row));
    apart = Math.max(NEAREST, Math.min(ROW, Math.floor(ROOM / rows)));
    const width = LEFT + steps * COLUMN, height = TOP + rows * apart + 4;
    const numbers = Array.from({length: steps}, (_, i) =>
      label(say('tree_step', {step: i + 1}), LEFT + i * COLUMN + 2, 14, 'class="number"'));
    // The winner's line is drawn last, above the others.
    const edges = tree.nodes.filter(node => node.parent !== null).toSorted((a, b) => a.best - b.best).map(edge);
    const legend = ['winner', 'ended', 'kept', 'dropped'].map(kind =>
      `<span class="key ${kind}"><i></i>${escapeHtml(say(`tree_${kind}`))}</span>`).join('');
    redraw(inside('.drawing'), `<p class="caption">${escapeHtml(tree.title)}</p><p class="keys">${legend}</p>` +
      `<div class="scroll"><svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="group" ` +
      `aria-label="${escapeHtml(say('tree_label'))}">` +
      `${numbers.join('')}${edges.join('')}${tree.nodes.map(box).join('')}</svg></div>`);
    inside('.drawing').dataset.pair = JSON.stringify(tree.pair);
    element.dataset.chosen = chosen;
  }

  function choose(node) {
    const group = inside(`[data-node="${node}"]`);
    if (!group) return;
    for (const other of element.querySelectorAll('.node[aria-pressed=true]')) {
      other.setAttribute('aria-pressed', false);
      other.setAttribute('tabindex', -1);
    }
    group.setAttribute('aria-pressed', true);
    group.setAttribute('tabindex', 0);
    group.focus();
    inSight(tree.nodes[node]);
    const isNew = node !== chosen;
    chosen = node;
    element.dataset.chosen = node;
    if (isNew) trigger('choose', {node});
  }

  // Scrolls the tree, and not the page, to a node.
  function inSight(node) {
    const pane = inside('.scroll'), x = xOf(node);
    if (x < pane.scrollLeft) pane.scrollLeft = x - COLUMN;
    else if (x + BOX > pane.scrollLeft + pane.clientWidth) pane.scrollLeft = x + 2 * COLUMN - pane.clientWidth;
  }

  // The node that an arrow key leads to.
  function neighbour(key) {
    const {nodes} = tree, {step, row} = nodes[chosen];
    if (key === 'ArrowLeft') return nodes[chosen].parent;
    if (key === 'ArrowRight') {
      const children = nodes.flatMap((node, i) => node.parent === chosen ? [i] : []);
      return children.find(i => nodes[i].best) ?? children[0];
    }
    const wanted = row + (key === 'ArrowDown' ? 1 : -1), found = nodes.findIndex(
      node => node.step === step && node.row === wanted);
    return found < 0 ? null : found;
  }

  element.addEventListener('click', event => {
    const node = event.target.closest('.node');
    if (tree && node) choose(Number(node.dataset.node));
  });
  element.addEventListener('keydown', event => {
    if (!tree || !event.target.closest('.node') || !event.key.startsWith('Arrow')) return;
    event.preventDefault();
    const to = neighbour(event.key);
    if (to !== null && to !== undefined) choose(to);
  });

  function table() {
    const columns = ['tree_column_step', 'tree_column_rank', 'tree_column_piece', 'tree_column_parent',
                     'tree_log_prob', 'tree_total', 'tree_score', 'tree_fate'].map(key => say(key));
    const rows = tree.nodes.map(node => [
      node.step + 1, node.row + 1, node.piece, node.parent === null ? '' : tree.nodes[node.parent].row + 1,
      node.log_prob, node.total, node.score, fateOf(node)]);
    return {columns, rows};
  }

  // The picture shows the whole tree, also where the page scrolls it.
  function picture(kind) {
    const whole = inside('.drawing'), {width} = whole.style;
    whole.style.width = `${Math.max(whole.offsetWidth, inside('svg').clientWidth + 8)}px`;
    const address = htmlPicture(kind, element, whole, 'beam-tree');
    whole.style.width = width;
    return address;
  }

  saveOnClick(element, {title: () => tree.title, table, picture});
  watch('value', receive);
  receive();
}
