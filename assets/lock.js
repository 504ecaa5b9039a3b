// The words that are locked, one or two, the same for all that the page shows: "es4-en3" is the Spanish word 4 that
// looks at the English word 3, "es4" and "-en3" are one of them. A position counts pieces; 0 is <s> in the Spanish.
// The text stands in window.lockedWords, where the page's own listeners (page.js) read and write it too.
const PATTERN = /^(?:(en|es)(\d+))?(?:-(en|es)(\d+))?$/;

export const lockText = () => window.lockedWords ?? '';

export function setLock(text) {
  if (text === lockText()) return;
  window.lockedWords = text;
  window.dispatchEvent(new Event('lockchange'));
}

export const onLock = listener => window.addEventListener('lockchange', listener);

// The text of a lock of two places {side, position}, each of which may be missing.
export function writeLock(asks, seen) {
  const name = word => word ? word.side + word.position : '';
  return name(asks) + (seen ? '-' + name(seen) : '');
}

// The positions {asks, seen} of the locked words in a stack whose rows and columns are of these sides; null for a word
// that does not stand there. A word that asks in one stack may only be looked at in another, and the other way round.
export function placeLock([rows, columns], text = lockText()) {
  const [, first, at, second, by] = PATTERN.exec(text) ?? [];
  const asks = first && {side: first, position: Number(at)}, seen = second && {side: second, position: Number(by)};
  const position = (side, own, other) => own?.side === side ? own.position :
    rows !== columns && other?.side === side ? other.position : null;
  return {asks: position(rows, asks, seen), seen: position(columns, seen, asks)};
}
