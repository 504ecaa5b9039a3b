// Makes the picture of a whole pass as SVG text, for the page and for files. Nothing here listens to events or keeps
// anything; whole_pass.js does.
// pass: a payload of draw.py, read by `readPass`. place: where things stand, by `layOut`.
// state: {step, from, amount, mark, block, paper}: the step shown and the one before it, from 1; how far the picture is
// on its way between them, 0 to 1; the source piece that is followed, or null; the layer that is open, or ''.
import {
  brokenLines, bytes, colourTable, escapeHtml, fill, label, paintMap, percent, rect, tongue,
} from '../../../assets/shared.js';

export const LEAST = .03;  // attention below this is not drawn
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const NAMESPACE = 'http://www.w3.org/2000/svg';
const SIGNED = [[43, 122, 246, 1], [43, 122, 246, 0], [217, 119, 6, 0], [217, 119, 6, 1]];
const STRIP = 28, TOP = 46, BODY = 400, HEIGHT = TOP + BODY + 12, LETTER = 6.3, LONGEST = 14, NEXT = 178;
const OWN = '#2b7af6', CROSS = '#0d9488', MARK = '#d97706';
// From -1 to 1, so that what is close to 0 is transparent.
const signed = colourTable(SIGNED, p => p < .5 ? p / 1.5 : (p + .5) / 1.5);

export const cut = text => text.length > LONGEST ? text.slice(0, LONGEST - 1) + '…' : text;

// A column of strips as an image; rows: how many vectors.
function image({data, cells}, rows) {
  const canvas = Object.assign(document.createElement('canvas'), {width: cells, height: rows});
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
  const of = (column, rows) => image(column, rows.length);
  return {...payload, attention, layers: {encoder: strips.encoder.length - 1, decoder: strips.decoder.length - 1},
          images: {embedding: of(strips.embedding, source), position: of(strips.position, source),
                   encoder: strips.encoder.map(one => of(one, source)), memory: of(strips.memory, source),
                   decoder: strips.decoder.map(one => of(one, given)), output: of(strips.output, given)}};
}

// Where everything stands in a picture that may be as wide as `room`; a deep model takes more.
export function layOut(pass, room) {
  const {encoder: deep, decoder: high} = pass.layers, sources = pass.source.length, targets = pass.given.length;
  const width = labels => 10 + LETTER * Math.max(...labels.map(text => cut(text).length));
  const left = Math.max(72, width(pass.source)), given = width(pass.given);
  const fixed = left + given + STRIP * (deep + high + 6) + 14 + 18 + 30 + 92 + 20 + 30 + NEXT;
  const gap = Math.max(18, Math.min(46, (room - fixed) / (deep + high)));
  const embedding = left, position = embedding + STRIP + 14, first = position + STRIP + 18;
  const encoder = Array.from({length: deep + 1}, (_, i) => first + i * (STRIP + gap));
  const memory = encoder[deep] + STRIP + 30, channel = memory + STRIP + 92, begun = channel + given;
  const decoder = Array.from({length: high + 1}, (_, i) => begun + i * (STRIP + gap));
  const output = decoder[high] + STRIP + 20, next = output + STRIP + 30;
  const cable = Math.min(22, 84 / high), row = Math.min(24, BODY / sources);
  const later = Math.min(18, (BODY - high * (cable + 7) - 26) / targets);
  return {left, embedding, position, encoder, memory, channel, begun, decoder, output, next, cable, row, later, gap,
          width: Math.ceil(next + NEXT), height: HEIGHT,
          sourceY: i => TOP + (BODY - sources * row) / 2 + i * row, targetY: i => TOP + i * later,
          busY: layer => TOP + BODY - (high - layer + 1) * (cable + 7)};
}

const picture = (href, x, y, height) => `<image href="${href}" x="${x}" y="${y.toFixed(1)}" width="${STRIP}" ` +
  `height="${height.toFixed(1)}" preserveAspectRatio="none" style="image-rendering: pixelated"/>`;
const frame = (x, y, height) => rect(x - 1, y.toFixed(1), STRIP + 2, Math.max(2, height).toFixed(1),
  `fill="none" stroke="${MARK}" stroke-width="1.5"`);
const title = (text, x, more = '') => label(text, x, 14, `font-weight="650" font-size="12" ${more}`);

// Flows from the vectors of one layer to those of the next, those of a width as one path. ends: {from, to,
// width, isMarked} of each.
function flows(ends, x, gap, marked) {
  const paths = new Map();
  for (const {from, to, width, isMarked} of ends) {
    const key = `${isMarked ? 1 : 0} ${Math.max(.3, Math.round(width * 4) / 4)}`, middle = (x + gap / 2).toFixed(1);
    const line = `M${x.toFixed(1)} ${from.toFixed(1)}C${middle} ${from.toFixed(1)} ${middle} ${to.toFixed(1)} ` +
      `${(x + gap).toFixed(1)} ${to.toFixed(1)}`;
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
  const ends = [], most = Math.max(height, 9);
  for (const q of rows) {
    let used = (height - most) / 2;
    for (let k = 0; k < count; k++) {
      const p = pass.attention(stack, layer, q, k);
      if (p >= LEAST) ends.push({from: y(k) + height / 2, to: y(q) + used + p * most / 2, width: p * most,
                                 isMarked: isMarked(q, k)});
      used += p * most;
    }
  }
  return ends;
}

// Which labels are written where rows are low: those of every nth row, and that of `kept`.
const written = (i, every, kept) => i === kept || (i % every === 0 && (kept === null || Math.abs(i - kept) >= every));

// A layer that opens: its name, and an area over its strips.
function layerButton(pass, side, layer, x, isOpen) {
  const name = fill(pass.texts.whole_layer, {layer}), block = `${side}.${layer}`;
  const named = fill(pass.texts.whole_layer_name,
    {side: pass.texts[`whole_${side}`].split(':')[0].toLowerCase(), layer});
  return `<g role="button" tabindex="0" data-block="${block}" data-key="${block}" aria-expanded="${isOpen}" ` +
    `aria-label="${escapeHtml(named)}">` +
    rect(x - 5, 22, STRIP + 10, TOP + BODY - 22, 'class="area" rx="4" fill="transparent"') +
    label(name, x + STRIP / 2, 36, 'text-anchor="middle" font-size="11" text-decoration="underline"') + '</g>';
}

// What flows from layer to layer of the encoder: thousands of lines, which change with what is followed alone.
export function encoderFlows(pass, {row, sourceY, encoder, gap}, {mark}) {
  const {source, layers} = pass, isMarked = (q, k) => q === mark || k === mark;
  const ofLayer = layer => attended(pass, 'encoder_self', layer, source.keys(), source.length,
    {y: sourceY, height: row, isMarked});
  return Array.from({length: layers.encoder}, (_, i) =>
    flows(ofLayer(i + 1), encoder[i] + STRIP, gap, mark !== null)).join('');
}

// The sentence, its vectors in the encoder, and the memory.
export function encoderPart(pass, place, {mark, block}) {
  const {texts, images, source, layers} = pass, {row, sourceY, encoder} = place, every = Math.ceil(13 / row);
  const all = source.length * row, first = sourceY(0), parts = [];
  parts.push(title(texts.whole_sentence, 0), title(texts.whole_embedding, place.embedding),
    title(texts.whole_encoder, Math.max(encoder[1] + 14, place.embedding + 158)),
    label(texts.whole_memory, place.memory + STRIP / 2, 36, 'text-anchor="middle" font-size="11"'));
  const columns = [[place.embedding, images.embedding], [place.position, images.position],
                   ...encoder.map((x, i) => [x, images.encoder[i]]), [place.memory, images.memory]];
  parts.push(...columns.map(([x, href]) => picture(href, x, first, all)));
  for (const [text, x] of [['+', place.position - 7], ['=', encoder[0] - 9], ['→', place.memory - 15]])
    parts.push(label(text, x, first + all / 2 + 4, 'text-anchor="middle" font-size="14"'));
  if (mark !== null) parts.push(...columns.map(([x]) => frame(x, sourceY(mark), row)));
  for (let layer = 1; layer <= layers.encoder; layer++)
    parts.push(layerButton(pass, 'encoder', layer, encoder[layer], block === `encoder.${layer}`));
  source.forEach((piece, i) => {
    const isMark = i === mark, bold = isMark ? 'font-weight="700"' : '';
    parts.push(`<g role="button" data-piece="${i}" data-key="piece${i}" tabindex="${i === (mark ?? 0) ? 0 : -1}" ` +
      `aria-pressed="${isMark}" aria-label="${escapeHtml(piece)}" lang="${tongue('source')}">` +
      `<title>${escapeHtml(piece)}</title>` +
      rect(0, sourceY(i).toFixed(1), place.left - 3, row.toFixed(1), 'class="area" fill="transparent"') +
      (written(i, every, mark) ? label(cut(piece), place.left - 6, (sourceY(i) + row / 2 + 4).toFixed(1),
        `text-anchor="end" font-size="12" ${bold}`) : '') + '</g>');
  });
  return parts.join('');
}

// The Spanish so far, its vectors in the decoder, and the likeliest pieces.
export function decoderPart(pass, place, {step, mark, block}) {
  const {texts, images, given, layers} = pass, {later, targetY, decoder} = place, now = step - 1, parts = [];
  const every = Math.ceil(13 / later), shown = step * later;
  parts.push(title(texts.whole_decoder, decoder[0]), title(texts.whole_next, place.next),
    label(texts.whole_written, place.begun - 6, 36, 'text-anchor="end" font-size="11"'),
    label(texts.whole_output, place.output + STRIP / 2, 36, 'text-anchor="middle" font-size="11"'));
  for (let layer = 1; layer <= layers.decoder; layer++) {
    const rows = [now], isMarked = () => false;
    parts.push(flows(attended(pass, 'decoder_self', layer, rows, step, {y: targetY, height: later, isMarked}),
      decoder[layer - 1] + STRIP, place.gap, mark !== null));
  }
  const columns = [...decoder.map((x, i) => [x, images.decoder[i]]), [place.output, images.output]];
  for (const [x, href] of columns) {
    const from = x === place.output ? now * later : 0;
    parts.push(rect(x, TOP, STRIP, (given.length * later).toFixed(1), 'fill="currentColor" fill-opacity=".05"'),
      `<svg x="${x}" y="${(TOP + from).toFixed(1)}" width="${STRIP}" height="${(shown - from).toFixed(1)}">` +
      `${picture(href, 0, -from, given.length * later)}</svg>`, frame(x, targetY(now), later));
  }
  for (let layer = 1; layer <= layers.decoder; layer++)
    parts.push(layerButton(pass, 'decoder', layer, decoder[layer], block === `decoder.${layer}`));
  given.slice(0, step).forEach((piece, i) => written(i, every, now) && parts.push(label(cut(piece), place.begun - 6,
    (targetY(i) + later / 2 + 4).toFixed(1), `text-anchor="end" font-size="12" lang="${tongue('target')}" ${i === now ?
      'font-weight="700"' : ''}`)));
  return parts.join('') + nextPart(pass, place, pass.steps[now]);
}

const barY = i => TOP + 12 + 27 * i;
const listed = one => one.rank ? one.likeliest : [...one.likeliest, [one.wanted, one.p]];

// The likeliest pieces, the one that is written, and the translation so far.
function nextPart({texts}, {next}, one) {
  const rows = listed(one).map(([piece, p], i) =>
    label(cut(piece), next + 8, barY(i) + 4, `font-size="13" lang="${tongue('target')}" ` +
      (piece === one.wanted ? 'font-weight="700"' : '')) +
    label(percent(p), next + NEXT - 2, barY(i) + 4, 'text-anchor="end" font-size="12.5"'));
  const y = barY(rows.length) + 26;
  const lines = brokenLines(one.so_far || '…', NEXT - 8, `13px ${FONT}`).slice(-10);
  return rows.join('') + rect(next, y - 22, NEXT - 2, 31, `rx="5" fill="${MARK}" fill-opacity=".22"`) +
    label(`→ ${cut(one.wanted)}`, next + 8, y, `font-size="20" font-weight="700" lang="${tongue('target')}"`) +
    label(texts.whole_so_far, next, y + 28, 'font-size="11" fill-opacity=".75"') +
    lines.map((text, i) => label(text, next, y + 46 + 17 * i, `font-size="13" lang="${tongue('target')}"`)).join('');
}

// The lines that flow to the piece that is written: from the memory in each layer, and from the output to the likeliest
// pieces. They stand between two steps while they move, as many all the way: {d, width, stroke, opacity} of each.
export function movingLines(pass, place, {step, from, amount, mark}) {
  const {cable, later, memory, channel, decoder} = place, mix = (a, b) => a + (b - a) * amount, lines = [];
  const now = mix(place.targetY(from - 1), place.targetY(step - 1)), radius = cable + 4;
  for (let layer = 1; layer <= pass.layers.decoder; layer++) {
    const bus = place.busY(layer), riser = decoder[layer] + (STRIP - cable) / 2;
    let used = 0;
    pass.source.forEach((_, k) => {
      const ends = [from, step].map(at => pass.attention('cross', layer, at - 1, k)), p = mix(...ends);
      const at = used + p * cable / 2, y = place.sourceY(k) + place.row / 2, isMark = k === mark;
      used += p * cable;
      if (Math.max(...ends) < LEAST) return;
      const middle = (memory + STRIP + channel) / 2;
      lines.push({d: `M${memory + STRIP} ${y.toFixed(1)}C${middle} ${y.toFixed(1)} ${middle} ` +
        `${(bus + at).toFixed(1)} ${channel} ${(bus + at).toFixed(1)}H${(riser - radius).toFixed(1)}` +
        `Q${(riser + at).toFixed(1)} ${(bus + at).toFixed(1)} ${(riser + at).toFixed(1)} ${(bus - radius).toFixed(1)}` +
        `V${(now + later).toFixed(1)}`, width: p < LEAST ? 0 : p * cable, stroke: isMark ? MARK : CROSS,
                  opacity: isMark ? .85 : mark === null ? .55 : .25});
    });
  }
  let used = 0;
  listed(pass.steps[step - 1]).forEach(([piece, p], i) => {
    const x = place.output + STRIP, y = now + later / 2 - 9 + used + p * 9, middle = x + 15;
    used += p * 18;
    lines.push({d: `M${x} ${y.toFixed(1)}C${middle} ${y.toFixed(1)} ${middle} ${barY(i)} ${place.next} ${barY(i)}`,
                width: Math.max(.5, p * 18 * amount), stroke: piece === pass.steps[step - 1].wanted ? MARK : OWN,
                opacity: .7});
  });
  return lines;
}

// Those lines, and the names of the layers to which they go.
export function movingPart(pass, place, state) {
  const lines = movingLines(pass, place, state).map(({d, width, stroke, opacity}) => `<path d="${d}" fill="none" ` +
    `stroke="${stroke}" stroke-opacity="${opacity}" stroke-width="${width.toFixed(2)}"/>`);
  const names = Array.from({length: pass.layers.decoder}, (_, i) => label(fill(pass.texts.whole_cross, {layer: i + 1}),
    place.channel + 2, place.busY(i + 1) + place.cable / 2 + 4,
    `font-size="11" paint-order="stroke" stroke="${state.paper}" stroke-width="3" stroke-linejoin="round"`));
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

// The numbers of what is drawn at a step, as {columns, rows}.
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
export function filePicture(pass, room, state, {ink, checkpoint}) {
  const place = layOut(pass, room), width = place.width + 32;
  const above = [[pass.title, 600], [pass.pair[1], 400]].flatMap(([text, weight]) =>
    brokenLines(text, place.width, `600 16px ${FONT}`).map(line => [line, weight]));
  const below = [said(pass, state.step), pass.how, pass.rule, checkpoint]
    .flatMap(text => brokenLines(text, place.width, `12px ${FONT}`));
  const first = 22 * above.length + 24, height = first + place.height + 18 * below.length + 16;
  const svg = `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `color="${ink}" fill="${ink}" font-family='${FONT}'><rect width="${width}" height="${height}" ` +
    `fill="${state.paper}"/>` + above.map(([text, weight], i) => label(text, 16, 28 + 22 * i,
    `font-size="16" font-weight="${weight}"`)).join('') +
    `<svg x="16" y="${first}" width="${place.width}" height="${place.height}">${encoderFlows(pass, place, state)}` +
    `${movingPart(pass, place, state)}${encoderPart(pass, place, state)}${decoderPart(pass, place, state)}</svg>` +
    below.map((text, i) => label(text, 16, first + place.height + 18 * (i + 1), 'font-size="12" fill-opacity=".8"'))
      .join('') + '</svg>';
  return {svg, width, height};
}
