// Pieces of any vocabulary as words, and maps joined by words or without attention sinks: what xformer/pieces.py,
// explain/maps.py and figures/attention.py do for the page, for one that has no server behind it.
// Pieces are written as in xformer/pieces.py once `marked` has read them: "▁" begins a word, <0xC3> is a byte.

const SPECIAL_PIECE = /^(<(?!0x)[^<>]+>|\[[A-Z]+\d*\])$/;  // </s>, <|endoftext|>, [SEP]
const UNSPACED = /^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/;
const LETTER = /[\p{L}\p{N}]/u;

// The character that byte-level BPE writes for each byte: itself where it is seen, else one from 256 on.
const BYTE_OF = new Map();
for (let byte = 0, next = 256; byte < 256; byte++) {
  const isSeen = (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
  BYTE_OF.set(String.fromCharCode(isSeen ? byte : next++), byte);
}

// A piece of byte-level BPE, such as "Ġthe", spelled; bytes that are no whole characters stay bytes.
function ofBytes(piece) {
  const codes = [...piece].map(character => BYTE_OF.get(character));
  if (codes.includes(undefined)) return piece;
  try {
    return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(Uint8Array.from(codes)).replaceAll(' ', '▁');
  } catch {
    return codes.map(code => code === 32 ? '▁' : code < 128 ? String.fromCharCode(code) :
      `<0x${code.toString(16).toUpperCase()}>`).join('');
  }
}

// Writes pieces as SentencePiece does: those of SentencePiece, "▁the", of byte-level BPE, "Ġthe", of BPE, "the</w>", of
// WordPiece, "##ing", and whole words.
export function marked(pieces) {
  const some = test => pieces.some(piece => !SPECIAL_PIECE.test(piece) && test(piece));
  if (some(piece => piece.startsWith('▁'))) return pieces;
  const begins = i => i === 0 || SPECIAL_PIECE.test(pieces[i - 1]);
  const begun = (text, isBegun) => isBegun && !text.startsWith('▁') ? `▁${text}` : text;
  const read = some(piece => /^[ĠĊ]/.test(piece)) ? (piece, i) => begun(ofBytes(piece), begins(i)) :
    some(piece => piece.endsWith('</w>')) ?
      (piece, i) => begun(piece.replace(/<\/w>$/, ''), begins(i) || pieces[i - 1].endsWith('</w>')) :
      piece => piece.startsWith('##') && piece.length > 2 ? piece.slice(2) : `▁${piece}`;
  return pieces.map((piece, i) => SPECIAL_PIECE.test(piece) ? piece : read(piece, i));
}

// Writes the characters that bytes among joined pieces stand for.
const spelled = text => text.replace(/(?:<0x..>)+/g, run => new TextDecoder().decode(
  Uint8Array.from(run.match(/..(?=>)/g), byte => parseInt(byte, 16))));

// A piece, or a word of joined ones, as a label: after an ellipsis where it continues a word.
export function shown(piece) {
  if (SPECIAL_PIECE.test(piece)) return piece;
  if (/^<0x..>$/.test(piece)) return `byte ${piece.slice(3, 5)}`;
  const text = spelled(piece).replaceAll('\n', '⏎');
  return text.startsWith('▁') ? text.slice(1) || '␣' : LETTER.test(text) ? `…${text}` : text;
}

export const sentence = pieces =>
  spelled(pieces.filter(piece => !SPECIAL_PIECE.test(piece)).join('')).replaceAll('▁', ' ').trim();

// Groups pieces into words: lists of positions that hold each position once.
export function wordsOf(pieces) {
  const groups = [];
  let joins = false;
  pieces.forEach((piece, i) => {
    const text = piece.replace(/^▁/, ''), next = pieces[i + 1] ?? '', isSpecial = SPECIAL_PIECE.test(piece);
    const isWord = !isSpecial && (text === '' || LETTER.test(text)), isBare = UNSPACED.test(text);
    const goesOn = !SPECIAL_PIECE.test(next) && LETTER.test([...next][0] ?? '');
    const isInside = joins && ["'", '’'].includes(piece) && goesOn;
    if (joins && !isBare && (isInside || (isWord && !piece.startsWith('▁')))) groups.at(-1).push(i);
    else groups.push([i]);
    joins = (isWord || isInside) && !isBare;
  });
  return groups;
}

export const isSink = piece => SPECIAL_PIECE.test(piece) || piece === '.' || piece === '▁.';

// Joins a map, row after row of `width` columns, by groups of rows and of columns: rows averaged, columns summed.
export function joinMap(values, width, rows, columns) {
  const joined = new Float32Array(rows.length * columns.length);
  rows.forEach((queries, r) => columns.forEach((keys, c) => {
    let sum = 0;
    for (const q of queries) for (const k of keys) sum += values[q * width + k];
    joined[r * columns.length + c] = sum / queries.length;
  }));
  return joined;
}

// Leaves some rows and columns of a map, with each row divided by its sum; one with nothing left is empty.
export function keepOf(values, width, rows, columns) {
  const left = new Float32Array(rows.length * columns.length);
  rows.forEach((q, r) => {
    const total = columns.reduce((sum, k) => sum + values[q * width + k], 0);
    columns.forEach((k, c) => { left[r * columns.length + c] = total > 1e-9 ? values[q * width + k] / total : 0; });
  });
  return left;
}
