// Makes the picture of a whole pass as SVG text, for the page and for files. Nothing here listens to events or keeps
// anything; whole_pass.js does.
// pass: a payload of draw.py, read by `readPass`. place: where things stand, by `layOut`: along the way through the
// model, and across it, where the pieces stand. The way goes to the right; in an upright picture it goes down, and
// `place` swaps what it is told to draw.
// state: {step, from, amount, mark, block, paper}: the step shown and the one before it, from 1; how far the picture is
// on its way between them, 0 to 1; the source piece that is followed, or null; the layer that is open, or ''.
import {
  SIZES, brokenLines, bytes, colourTable, escapeHtml, fill, label, paintMap, percent, rect, tongue,
} from '../../../assets/shared.js';

export const LEAST = .03;  // attention below this is not drawn
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const NAMESPACE = 'http://www.w3.org/2000/svg';
const SIGNED = [[43, 122, 246, 1], [43, 122, 246, 0], [217, 119, 6, 0], [217, 119, 6, 1]];
const TOP = 46, BODY = 400, BELOW = 12, LETTER = 6.3, LONGEST = 14, NEXT = 178;
// Of a low picture; rows are lower where there are more of them.
const LEAST_BODY = 260, LEAST_ROW = 12, LEAST_LANE = 14, MOST_ROWS = 23;
const MARGIN = 66, RIVALS = 46;  // of an upright picture: what stands beside its rows, and below its last
const THINNEST = .5;  // pixels: nobody sees a flow that is thinner
const OWN = '#2b7af6', CROSS = '#0d9488', MARK = '#d97706';
// From -1 to 1, so that what is close to 0 is transparent.
const signed = colourTable(SIGNED, p => p < .5 ? p / 1.5 : (p + .5) / 1.5);

export const cut = text => text.length > LONGEST ? text.slice(0, LONGEST - 1) + '…' : text;

// A column of strips as an image, painted on a canvas; rows: how many vectors.
function image(canvas, {data, cells}, rows) {
  Object.assign(canvas, {width: cells, height: rows});
  paintMap(canvas, Uint8Array.from(new Int8Array(bytes(data).buffer), level => level + 128), signed);
  return canvas.toDataURL();
}

// A payload with its attention decoded, as attention(stack, layer, query, key), and its strips as images.
export function readPass(payload) {
  const {strips, source, given} = payload, keys = {encoder_self: source, decoder_self: given, cross: source};
  const queries = {encoder_self: source, decoder_self: given, cross: given};
  const levels = Object.fromEntries(Object.entries(payload.attention)
    .map(([stack, data]) => [stack, new Uint16Array(bytes(data).buffer)]));
  const attention = (stack, layer, q, k) =>
    levels[stack][((layer - 1) * queries[stack].length + q) * keys[stack].length + k] / 65535;
  const canvas = document.createElement('canvas');
  canvas.getContext('2d', {willReadFrequently: true});  // it is read at once, which is slow from a graphics card
  const of = (column, rows) => image(canvas, column, rows.length);
  return {...payload, attention, layers: {encoder: strips.encoder.length - 1, decoder: strips.decoder.length - 1},
          images: {embedding: of(strips.embedding, source), position: of(strips.position, source),
                   encoder: strips.encoder.map(one => of(one, source)), memory: of(strips.memory, source),
                   decoder: strips.decoder.map(one => of(one, given)), output: of(strips.output, given)}};
}

// Where everything stands in a picture that may be as wide as `room` and as high as `height`, or upright, where it is
// as high as the model is deep. A deep model takes more width, an upright picture more than 40 pieces do.
export const layOut = (pass, {room, height, isUpright}) =>
  isUpright ? upright(pass, room) : lying(pass, room, height);

const lengthOf = labels => 10 + LETTER * Math.max(...labels.map(text => cut(text).length));

// Where columns begin along the way. left: where the sentence's labels end; given: how long those of the translation
// are; equals, bend, last: what lies before the encoder, between memory and decoder, and before the likeliest pieces.
function columnsOf({layers}, {left, given, strip, gap, equals, bend, last}) {
  const embedding = left, position = embedding + strip + 14, first = position + strip + equals;
  const encoder = Array.from({length: layers.encoder + 1}, (_, i) => first + i * (strip + gap));
  const memory = encoder.at(-1) + strip + 30, channel = memory + strip + bend, begun = channel + given;
  const decoder = Array.from({length: layers.decoder + 1}, (_, i) => begun + i * (strip + gap));
  const output = decoder.at(-1) + strip + 20, next = output + strip + last;
  return {left, embedding, position, encoder, memory, channel, begun, decoder, output, next, strip, gap};
}

function lying(pass, room, height) {
  const {encoder: deep, decoder: high} = pass.layers, sources = pass.source.length, targets = pass.given.length;
  const left = Math.max(72, lengthOf(pass.source)), given = lengthOf(pass.given);
  const sized = (strip, bend) => ({left, given, strip, bend, equals: 18, last: 30});
  const widthOf = (sizes, gap) => columnsOf(pass, {...sizes, gap: 0}).next + NEXT + gap * (deep + high);
  // Narrower where it would not fit, as beside a lesson.
  const fits = widthOf(sized(28, 92), 18) <= room, sizes = fits ? sized(28, 92) : sized(20, 70), {strip} = sizes;
  const gap = Math.max(fits ? 18 : 12, Math.min(46, (room - widthOf(sizes, 0)) / (deep + high)));
  const place = columnsOf(pass, {...sizes, gap});
  const rows = count => LEAST_ROW * Math.min(MOST_ROWS, count);
  const least = Math.max(LEAST_BODY, rows(sources), rows(targets) + high * LEAST_LANE + 14);
  const body = Math.min(BODY, Math.max(least, height - TOP - BELOW));
  // Cables of the cross-attention run below the translation, each in a lane, and need room to turn.
  const space = body - rows(targets), wide = Math.min((space - 14) / high, (space + 3) / (high + 1));
  const lane = Math.min(22 + 7, 84 / high + 7, Math.max(LEAST_LANE, wide)), turn = Math.max(14, lane - 3);
  const row = Math.min(24, body / sources), later = Math.min(18, (body - high * lane - turn) / targets);
  const bar = body < 340 ? 24 : 27, bars = TOP + 12;
  return {
    ...place, row, later, cable: lane - 7, letters: 12, width: Math.ceil(place.next + NEXT), height: TOP + body + BELOW,
    sourceY: i => TOP + (body - sources * row) / 2 + i * row, targetY: i => TOP + i * later,
    busY: layer => TOP + body - (high - layer + 1) * lane, barY: i => bars + bar * i,
    area: x => [x - 5, 22, strip + 10, TOP + body - 22],
    titles: {sentence: [0, 14], embedding: [place.embedding, 14], decoder: [place.decoder[0], 14],
             encoder: [Math.max(place.encoder[1] + 14, place.embedding + 158), 14], next: [place.next, 14],
             written: [place.begun - 6, 36, `text-anchor="end" font-size="${SIZES.small}"`]},
    named: (text, x, more = '') =>
      label(text, x + strip / 2, 36, `text-anchor="middle" font-size="${SIZES.small}" ${more}`),
    piece: (text, x, y, broad, more) => label(cut(text), x - 6, (y + broad / 2 + 4).toFixed(1),
      `text-anchor="end" font-size="${SIZES.small}" ${more}`),
    sign: (text, x) => label(text, x, TOP + body / 2 + 4, `text-anchor="middle" font-size="${SIZES.body}"`),
  };
}

function upright(pass, room) {
  const high = pass.layers.decoder, sources = pass.source.length, targets = pass.given.length, strip = 20;
  const place = columnsOf(pass, {left: 16 + lengthOf(pass.source), given: lengthOf(pass.given), strip, gap: 26,
                                 equals: 28, bend: 44, last: 40});
  const lane = Math.min(10, 40 / high), lanes = high * lane + 6, wide = room - MARGIN;
  const row = Math.max(7, Math.min(24, wide / sources)), later = Math.max(6, Math.min(24, (wide - lanes) / targets));
  const width = Math.ceil(MARGIN + Math.max(wide, sources * row, targets * later + lanes));
  const within = (x, y, more, text) => label(text, x, y.toFixed(1), `font-size="${SIZES.small}" ${more}`);
  return {
    ...place, row, later, cable: .7 * lane, letters: 11.5, isUpright: true, width,
    height: Math.ceil(place.next + RIVALS),
    sourceY: i => MARGIN + i * row, targetY: i => MARGIN + i * later,
    busY: layer => MARGIN + targets * later + 6 + (layer - 1) * lane, barY: (i, count) => (i + .5) * room / count,
    area: y => [y - 3, 0, strip + 6, width],
    titles: {sentence: [0, 12], embedding: [0, place.embedding + strip / 2 + 4], encoder: [0, place.encoder[0] - 9],
             decoder: [0, place.channel - 4], next: [0, place.output + strip + 20],
             written: [0, place.begun - 7, `font-size="${SIZES.small}"`]},
    named: (text, y, more = '') => within(0, y + strip / 2 + 4, more, text),
    piece: (text, y, x, broad, more) => within(0, 0, `transform="translate(${(x + broad / 2 + 4).toFixed(1)} ` +
      `${(y - 6).toFixed(1)}) rotate(-90)" ${more}`, cut(text)),
    sign: (text, y) => label(text === '→' ? '↓' : text, MARGIN + sources * row / 2, y + 4,
      `text-anchor="middle" font-size="${SIZES.body}"`),
  };
}

// What lies along the way and across it, to the right and down: the other way round where the picture is upright.
const turn = ({isUpright}, along, across) => isUpright ? [across, along] : [along, across];

// A point for a path.
function at(place, along, across) {
  const [x, y] = turn(place, along, across);
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

// The place of a box, as attributes. long, broad: its size along the way and across it.
function spot(place, along, across, long, broad) {
  const [x, y] = turn(place, along, across), [width, height] = turn(place, long, broad);
  return `x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"`;
}

const box = (place, along, across, long, broad, attributes) =>
  `<rect ${spot(place, along, across, long, broad)} ${attributes}/>`;

// A column of strips, of which each row is `cells` of a vector; turned where the picture is upright.
const picture = ({isUpright, strip}, href, x, y, broad) => `<image href="${href}" x="${x.toFixed(1)}" ` +
  `y="${y.toFixed(1)}" width="${strip}" height="${broad.toFixed(1)}" preserveAspectRatio="none" ` +
  `${isUpright ? 'transform="matrix(0 1 1 0 0 0)" ' : ''}style="image-rendering: pixelated"/>`;
const frame = (place, x, y, broad) => box(place, x - 1, y, place.strip + 2, Math.max(2, broad),
  `fill="none" stroke="${MARK}" stroke-width="1.5"`);
const title = ({titles}, name, text, more = '') =>
  label(text, ...titles[name], `font-weight="600" font-size="${SIZES.small}" ${more}`);
const UNDERLINED = 'text-decoration="underline"';

// What keeps a text legible over flows.
const halo = paper => `paint-order="stroke" stroke="${paper}" stroke-width="3" stroke-linejoin="round"`;

// What opens elsewhere on the page: bar.js reads the address. inner: SVG; name: text.
const opens = (address, key, name, inner) => `<g role="button" tabindex="0" data-address="${escapeHtml(address)}" ` +
  `data-key="${key}" aria-label="${escapeHtml(name)}">${inner}</g>`;
const TARGET = 'class="area" rx="4" fill="transparent"';

// Flows from the vectors of one layer to those of the next, those of a width as one path. ends: {from, to,
// width, isMarked} of each; x: where they begin along the way.
function flows(ends, place, x, marked) {
  const paths = new Map();
  for (const {from, to, width, isMarked} of ends) {
    const key = `${isMarked ? 1 : 0} ${Math.max(.3, Math.round(width * 4) / 4)}`, middle = x + place.gap / 2;
    const line = `M${at(place, x, from)}C${at(place, middle, from)} ${at(place, middle, to)} ` +
      at(place, x + place.gap, to);
    paths.set(key, (paths.get(key) ?? '') + line);
  }
  return [...paths].sort().map(([key, line]) => {
    const [isMarked, width] = key.split(' ');
    const opacity = isMarked === '1' ? .75 : marked ? .12 : .32;
    return `<path d="${line}" fill="none" stroke="${isMarked === '1' ? MARK : OWN}" stroke-opacity="${opacity}" ` +
      `stroke-width="${width}"/>`;
  }).join('');
}

// What flows in a layer from all rows to some, each a part of the height of the row where it arrives.
function attended(pass, stack, layer, rows, count, {y, height, isMarked}) {
  const ends = [], most = Math.max(height, 9), least = Math.max(LEAST, THINNEST / most);
  for (const q of rows) {
    let used = (height - most) / 2;
    for (let k = 0; k < count; k++) {
      const p = pass.attention(stack, layer, q, k);
      if (p >= least) ends.push({from: y(k) + height / 2, to: y(q) + used + p * most / 2, width: p * most,
                                 isMarked: isMarked(q, k)});
      used += p * most;
    }
  }
  return ends;
}

// Which labels are written where rows are low: those of every nth row, and that of `kept`.
const written = (i, every, kept) => i === kept || (i % every === 0 && (kept === null || Math.abs(i - kept) >= every));

const nameOf = ({texts}, side) => texts[`whole_${side}`].split(':')[0].toLowerCase();

// A layer that opens: its name, and an area over its strips.
function layerButton(pass, place, side, layer, isOpen) {
  const x = place[side][layer], block = `${side}.${layer}`;
  const named = fill(pass.texts.whole_layer_name, {side: nameOf(pass, side), layer});
  return `<g role="button" tabindex="0" data-block="${block}" data-key="${block}" aria-expanded="${isOpen}" ` +
    `aria-label="${escapeHtml(named)}">` + box(place, ...place.area(x), TARGET) +
    place.named(fill(pass.texts.whole_layer, {layer}), x, UNDERLINED) + '</g>';
}

// The strip of a piece after a layer, which opens the layer at its numbers. y, broad: its row.
function stripButton(pass, place, side, layer, isOpen, {piece, y, broad}) {
  const block = `${side}.${layer}`, x = place[side][layer];
  const named = fill(pass.texts.whole_strip_name, {piece, side: nameOf(pass, side), layer});
  return `<g role="button" tabindex="0" data-block="${block}" data-numbers="" data-key="strip.${block}" ` +
    `aria-expanded="${isOpen}" aria-label="${escapeHtml(named)}">` +
    box(place, x - 1, y, place.strip + 2, broad, TARGET) + frame(place, x, y, broad) + '</g>';
}

// The layers of a side, and in each the strip of the piece that is followed, if any.
function layerButtons(pass, place, side, block, followed) {
  const each = Array.from({length: pass.layers[side]}, (_, i) => i + 1), isOpen = layer => block === `${side}.${layer}`;
  return each.map(layer => layerButton(pass, place, side, layer, isOpen(layer))).join('') +
    (followed ? each.map(layer => stripButton(pass, place, side, layer, isOpen(layer), followed)).join('') : '');
}

// What flows from layer to layer of the encoder: thousands of lines, which change with what is followed alone.
export function encoderFlows(pass, place, {mark}) {
  const {source, layers} = pass, {row, sourceY, encoder, strip} = place, isMarked = (q, k) => q === mark || k === mark;
  const ofLayer = layer => attended(pass, 'encoder_self', layer, source.keys(), source.length,
    {y: sourceY, height: row, isMarked});
  return Array.from({length: layers.encoder}, (_, i) =>
    flows(ofLayer(i + 1), place, encoder[i] + strip, mark !== null)).join('');
}

// The embeddings and positions, the latter of which open where the page explains them. The names of both are one text,
// "Embedding + position", which is two where each has a line.
function inputs({texts, images, opens: {positions}}, place, first, all) {
  const {embedding, position, strip, titles} = place, [one, other] = texts.whole_embedding.split(' + ');
  const bold = `font-weight="600" font-size="${SIZES.small}"`, [x, y] = titles.embedding;
  const under = `<tspan ${UNDERLINED}>${escapeHtml(other)}</tspan></text>`;
  const [own, named] = place.isUpright ? [place.named(one, embedding), place.named(other, position, UNDERLINED)] :
    ['', `<text x="${x}" y="${y}" ${bold}>${escapeHtml(one)} + ${under}`];
  const name = `${place.isUpright ? other : texts.whole_embedding} · ${texts.whole_open_positions}`;
  return picture(place, images.embedding, embedding, first, all) + own +
    opens(positions, 'positions', name, box(place, position - 3, first, strip + 6, all, TARGET) +
      picture(place, images.position, position, first, all) + named);
}

// The sentence, its vectors in the encoder, and the memory.
export function encoderPart(pass, place, {mark, block}) {
  const {texts, images, source} = pass, {row, sourceY, encoder} = place, every = Math.ceil(place.letters / row);
  const all = source.length * row, first = sourceY(0), parts = [];
  parts.push(title(place, 'sentence', texts.whole_sentence), title(place, 'encoder', texts.whole_encoder),
    place.named(texts.whole_memory, place.memory), inputs(pass, place, first, all));
  const columns = [...encoder.map((x, i) => [x, images.encoder[i]]), [place.memory, images.memory]];
  parts.push(...columns.map(([x, href]) => picture(place, href, x, first, all)));
  for (const [text, x] of [['+', place.position - 7], ['=', encoder[0] - 9], ['→', place.memory - 15]])
    parts.push(place.sign(text, x));
  const followed = mark === null ? null : {piece: source[mark], y: sourceY(mark), broad: row};
  if (followed) parts.push(...[place.embedding, place.position, encoder[0], place.memory].map(
    x => frame(place, x, sourceY(mark), row)));
  parts.push(layerButtons(pass, place, 'encoder', block, followed));
  const [from, until] = place.isUpright ? [18, place.left] : [0, place.left - 3];
  source.forEach((piece, i) => {
    const isMark = i === mark, bold = isMark ? 'font-weight="600"' : '';
    parts.push(`<g role="button" data-piece="${i}" data-key="piece${i}" tabindex="${i === (mark ?? 0) ? 0 : -1}" ` +
      `aria-pressed="${isMark}" aria-label="${escapeHtml(piece)}" lang="${tongue('source')}">` +
      `<title>${escapeHtml(piece)}</title>` +
      box(place, from, sourceY(i), until - from, row, 'class="area" fill="transparent"') +
      (written(i, every, mark) ? place.piece(piece, place.left, sourceY(i), row, bold) : '') + '</g>');
  });
  return parts.join('');
}

// The Spanish so far, its vectors in the decoder, and the likeliest pieces.
export function decoderPart(pass, place, {step, mark, block, paper}) {
  const {texts, images, given, layers} = pass, {later, targetY, decoder, strip} = place, now = step - 1, parts = [];
  const every = Math.ceil(place.letters / later), first = targetY(0), all = given.length * later;
  parts.push(title(place, 'decoder', texts.whole_decoder), label(texts.whole_written, ...place.titles.written),
    place.named(texts.whole_output, place.output));
  for (let layer = 1; layer <= layers.decoder; layer++) {
    const rows = [now], isMarked = () => false;
    parts.push(flows(attended(pass, 'decoder_self', layer, rows, step, {y: targetY, height: later, isMarked}), place,
      decoder[layer - 1] + strip, mark !== null));
  }
  const columns = [...decoder.map((x, i) => [x, images.decoder[i]]), [place.output, images.output]];
  for (const [x, href] of columns) {
    const from = x === place.output ? targetY(now) : first, size = targetY(step) - from;
    parts.push(box(place, x, first, strip, all, 'fill="currentColor" fill-opacity=".05"'),
      `<svg ${spot(place, x, from, strip, size)}>${picture(place, href, 0, first - from, all)}</svg>`);
  }
  parts.push(...[decoder[0], place.output].map(x => frame(place, x, targetY(now), later)),
    layerButtons(pass, place, 'decoder', block, {piece: given[now], y: targetY(now), broad: later}));
  given.slice(0, step).forEach((piece, i) => written(i, every, now) && parts.push(place.piece(piece, place.begun,
    targetY(i), later, `lang="${tongue('target')}" ${i === now ? 'font-weight="600"' : ''}`)));
  return parts.join('') + nextPart(pass, place, step, paper);
}

const listed = one => one.rank ? one.likeliest : [...one.likeliest, [one.wanted, one.p]];

// The likeliest pieces, which open the step at which they were; the one that is written, and the translation so far.
// Upright, the page tells these beside its buttons.
function nextPart(pass, place, step, paper) {
  const {texts, opens: {step: address}} = pass, one = pass.steps[step - 1], rivals = listed(one);
  const read = rivals.map(([piece, p]) => `${cut(piece)} ${percent(p)}`).join(' ');
  const name = `${read} ${texts.whole_next} · ${fill(texts.whole_open_step, {piece: one.wanted, step})}`;
  const head = title(place, 'next', texts.whole_next, `${UNDERLINED} ${halo(paper)}`);
  const each = (place.isUpright ? rivalsBelow : rivalsBeside)(place, rivals, one.wanted);
  return opens(fill(address, {step}), 'rivals', name, each + head) +
    (place.isUpright ? '' : resultBeside(texts, place, one, rivals.length));
}

const boldIf = isBold => isBold ? 'font-weight="600"' : '';

function rivalsBeside({next, barY}, rivals, wanted) {
  return rect(next, 0, NEXT, barY(rivals.length) - 12, TARGET) + rivals.map(([piece, p], i) =>
    label(cut(piece), next + 8, barY(i) + 4,
      `font-size="${SIZES.small}" lang="${tongue('target')}" ${boldIf(piece === wanted)}`) +
    label(percent(p), next + NEXT - 2, barY(i) + 4, `text-anchor="end" font-size="${SIZES.small}"`)).join('');
}

function rivalsBelow({next, barY, output, strip}, rivals, wanted) {
  const count = rivals.length, wide = 2 * barY(0, count), letters = Math.floor(wide / 7.2), from = output + strip + 4;
  const short = text => text.length > letters ? text.slice(0, letters - 1) + '…' : text;
  return rect(0, from, wide * count, next + RIVALS - from, TARGET) + rivals.map(([piece, p], i) => {
    const middle = `text-anchor="middle" font-size="${SIZES.small}" ${boldIf(piece === wanted)}`;
    const x = barY(i, count).toFixed(1);
    return label(short(piece), x, next + 16, `${middle} lang="${tongue('target')}"`) +
      label(percent(p), x, next + 33, middle);
  }).join('');
}

function resultBeside(texts, {next, barY, height}, one, count) {
  const y = barY(count) + 26, room = Math.max(1, Math.min(10, Math.floor((height - y - 46) / 17) + 1));
  const lines = brokenLines(one.so_far || '…', NEXT - 8, `${SIZES.small}px ${FONT}`).slice(-room);
  return rect(next, y - 22, NEXT - 2, 31, `rx="5" fill="${MARK}" fill-opacity=".22"`) +
    label(`→ ${cut(one.wanted)}`, next + 8, y, `font-size="${SIZES.large}" lang="${tongue('target')}"`) +
    label(texts.whole_so_far, next, y + 28, `font-size="${SIZES.small}" fill-opacity=".75"`) +
    lines.map((text, i) => label(text, next, y + 46 + 17 * i,
      `font-size="${SIZES.small}" lang="${tongue('target')}"`)).join('');
}

// The lines that flow to the piece that is written: from the memory in each layer, and from the output to the likeliest
// pieces. They stand between two steps while they move, as many all the way: {d, width, stroke, opacity} of each.
export function movingLines(pass, place, {step, from, amount, mark}) {
  const {cable, later, memory, channel, decoder, strip} = place, mix = (a, b) => a + (b - a) * amount, lines = [];
  const now = mix(place.targetY(from - 1), place.targetY(step - 1)), radius = cable + 4;
  const path = (command, ...points) => command + points.map(point => at(place, ...point)).join(' ');
  for (let layer = 1; layer <= pass.layers.decoder; layer++) {
    const bus = place.busY(layer), riser = decoder[layer] + (strip - cable) / 2;
    let used = 0;
    pass.source.forEach((_, k) => {
      const ends = [from, step].map(one => pass.attention('cross', layer, one - 1, k)), p = mix(...ends);
      const inside = used + p * cable / 2, y = place.sourceY(k) + place.row / 2, isMark = k === mark;
      used += p * cable;
      if (Math.max(...ends) < LEAST) return;
      const start = memory + strip, middle = (start + channel) / 2, low = bus + inside, up = riser + inside;
      const d = path('M', [start, y]) + path('C', [middle, y], [middle, low], [channel, low]) +
        path('L', [riser - radius, low]) + path('Q', [up, low], [up, bus - radius]) + path('L', [up, now + later]);
      lines.push({d, width: p < LEAST ? 0 : p * cable, stroke: isMark ? MARK : CROSS,
                  opacity: isMark ? .85 : mark === null ? .55 : .25});
    });
  }
  let used = 0;
  const rivals = listed(pass.steps[step - 1]);
  rivals.forEach(([piece, p], i) => {
    const x = place.output + strip, y = now + later / 2 - 9 + used + p * 9, to = place.barY(i, rivals.length);
    const middle = (x + place.next) / 2;
    used += p * 18;
    lines.push({d: path('M', [x, y]) + path('C', [middle, y], [middle, to], [place.next, to]),
                width: Math.max(.5, p * 18 * amount), stroke: piece === pass.steps[step - 1].wanted ? MARK : OWN,
                opacity: .7});
  });
  return lines;
}

// Those lines, and the names of the layers to which they go.
export function movingPart(pass, place, state) {
  const lines = movingLines(pass, place, state).map(({d, width, stroke, opacity}) => `<path d="${d}" fill="none" ` +
    `stroke="${stroke}" stroke-opacity="${opacity}" stroke-width="${width.toFixed(2)}"/>`);
  const how = `font-size="${SIZES.small}" ${halo(state.paper)}`;
  const names = Array.from({length: pass.layers.decoder}, (_, i) => {
    const text = fill(pass.texts.whole_cross, {layer: i + 1});
    return place.isUpright ? label(text, place.busY(1) - 3, place.decoder[i + 1] - 5, `text-anchor="end" ${how}`) :
      label(text, place.channel + 2, place.busY(i + 1) + place.cable / 2 + 4, how);
  });
  return lines.join('') + names.join('');
}

// At what the decoder looks most among the words, </s> left out: {layer, k, p}.
export function mostSeen(pass, step) {
  let best = {layer: 1, k: 0, p: 0};
  for (let layer = 1; layer <= pass.layers.decoder; layer++) {
    for (let k = 0; k < pass.source.length - 1; k++) {
      const p = pass.attention('cross', layer, step - 1, k);
      if (p > best.p) best = {layer, k, p};
    }
  }
  return best;
}

// What is seen at a step, as a sentence.
export function said(pass, step) {
  const {texts} = pass, one = pass.steps[step - 1], {layer, k, p} = mostSeen(pass, step);
  const [[best, share]] = one.likeliest;
  const guess = fill(one.rank === 1 ? texts.whole_said_words : texts.whole_said_other,
    {best, percent: percent(share), piece: one.wanted, own: percent(one.p)});
  const head = pass.heads.cross?.[layer - 1][step - 1];
  const how = head ? fill(texts.whole_said_head, {head}) : texts.whole_said_mean;
  return fill(texts.whole_said, {piece: one.wanted, seen: pass.source[k], weight: p.toFixed(2), layer, how, guess});
}

// The numbers of what flows at a step, as {columns, rows}.
export function tableOf(pass, step) {
  const {texts, source, given} = pass, rows = [], named = (labels, i) => `${i + 1} ${labels[i]}`;
  const add = (stack, layers, asks, seen, chosen, count) => {
    for (let layer = 1; layer <= layers; layer++)
      for (const q of chosen)
        for (let k = 0; k < count; k++) {
          const p = pass.attention(stack, layer, q, k);
          if (p >= LEAST) rows.push([`${stack}.${layer}`, named(seen, k), named(asks, q), Number(p.toFixed(4))]);
        }
  };
  add('encoder_self', pass.layers.encoder, source, source, source.keys(), source.length);
  add('decoder_self', pass.layers.decoder, given, given, [step - 1], step);
  add('cross', pass.layers.decoder, given, source, [step - 1], source.length);
  for (const [piece, p] of listed(pass.steps[step - 1]))
    rows.push([texts.whole_next, named(given, step - 1), piece, p]);
  return {columns: ['whole_part', 'whole_from', 'whole_to', 'whole_weight'].map(key => texts[key]), rows};
}

// The picture for a file as {svg, width, height}: both sentences above it, what is seen and the model below.
export function filePicture(pass, place, state, {ink, checkpoint}) {
  const width = place.width + 32, {wanted, p, so_far: soFar} = pass.steps[state.step - 1];
  const above = [[pass.title, 600], [pass.pair[1], 400]].flatMap(([text, weight]) =>
    brokenLines(text, place.width, `600 ${SIZES.reading}px ${FONT}`).map(line => [line, weight]));
  const result = place.isUpright ? [`→ ${wanted} ${percent(p)}`, `${pass.texts.whole_so_far}: ${soFar}`] : [];
  const below = [...result, said(pass, state.step), pass.how, pass.rule, checkpoint]
    .flatMap(text => brokenLines(text, place.width, `${SIZES.small}px ${FONT}`));
  const first = 22 * above.length + 24, height = first + place.height + 18 * below.length + 16;
  const svg = `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `color="${ink}" fill="${ink}" font-family='${FONT}'><rect width="${width}" height="${height}" ` +
    `fill="${state.paper}"/>` + above.map(([text, weight], i) => label(text, 16, 28 + 22 * i,
    `font-size="${SIZES.reading}" font-weight="${weight}"`)).join('') +
    `<svg x="16" y="${first}" width="${place.width}" height="${place.height}">${encoderFlows(pass, place, state)}` +
    `${movingPart(pass, place, state)}${encoderPart(pass, place, state)}${decoderPart(pass, place, state)}</svg>` +
    below.map((text, i) => label(text, 16, first + place.height + 18 * (i + 1),
      `font-size="${SIZES.small}" fill-opacity=".8"`)).join('') + '</svg>';
  return {svg, width, height};
}
