// The locked words, which every picture of the page marks: "es4-en3" is the Spanish word 4 that looks at the English
// word 3; "es4" and "-en3" are one word each. A position counts pieces; 0 is <s> in the Spanish.
import {state, tell} from './state.js';

const PATTERN = /^(?:(en|es)(\d+))?(?:-(en|es)(\d+))?$/;

export const lockText = () => state.lockedWords;

export function setLock(text) {
  if (text === lockText()) return;
  state.lockedWords = text;
  tell('lockchange');
}

export const onLock = listener => window.addEventListener('lockchange', listener);

// The text of a lock of two places {side, position}, each of which may be missing.
export function writeLock(asks, seen) {
  const name = word => word ? word.side + word.position : '';
  return name(asks) + (seen ? '-' + name(seen) : '');
}

// The positions {asks, seen} of the locked words in a stack whose rows and columns are of these sides; null for a word
// that does not stand there. A word that asks in one stack may only be looked at in another, and vice versa.
export function placeLock([rows, columns], text = lockText()) {
  const [, first, at, second, by] = PATTERN.exec(text) ?? [];
  const asks = first && {side: first, position: Number(at)}, seen = second && {side: second, position: Number(by)};
  const position = (side, own, other) => own?.side === side ? own.position :
    rows !== columns && other?.side === side ? other.position : null;
  return {asks: position(rows, asks, seen), seen: position(columns, seen, asks)};
}
