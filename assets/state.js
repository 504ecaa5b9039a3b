// The state that the scripts of one page share. Each value stands here once. Where its comment names an event of the
// window, a script that changes the value triggers that event by `tell`.
export const state = {
  // The locked words as text, in the form that lock.js describes; '' for none. Event 'lockchange'.
  lockedWords: '',
  // Those that the page's lock was set to last.
  toldLock: '',
  // The pair of sentences to which the locked words belong; null: they belong to the next pair that is shown.
  lockedPair: null,
  // Whether the page shows what its address says; until then, changes are not written into it. Event 'settled'.
  settled: false,
  // How often the page has moved to another address by an answer of the server.
  moves: 0,
  // Whether Back or Forward has opened a tab, and the page has not written the address of that tab yet.
  returning: false,
  // The ids of the sheets with a field of their own, to which the sentence in the bar gives way.
  ownFields: [],
  // By the id of a tab, the sheet that was open in it last; and the keys by which sheets are chosen.
  sheets: {},
  choices: [],
  // The query of the address, as the page itself wrote it last. Event 'addresschange'.
  writtenAddress: '',
  // What the picture of the whole pass shows: [step, layer that is open or ''].
  shownPass: [1, ''],
  // The frame of a film that is shown, from 1.
  shownFrame: 1,
  // The two pieces between which a path is drawn, from 1, the one that was chosen first before the other.
  chosenPath: [0, 0],
  // What the map of meanings shows: [stack and layer, the word that is chosen, from 1, sentences].
  shownMap: ['', 0, 0],
  // The points of the kernel regression as they were moved last, "x,y x,y", until that is drawn.
  movedPoints: '',
  // The maps of all heads of the stack that is shown (heads.js); and the head of them that was chosen last,
  // {layer, head}, null where the server says which are shown. Event 'headchosen'.
  heads: null,
  chosenHead: null,
  // What the maps are of that the grid of heads has.
  shownMaps: '',
  // The number of the newest pass of which a grid of attention maps was shown.
  newestPass: 0,
  // What the page waits for: the requests that have not been answered, by their number the names of the listeners that
  // asked; and how many components load their scripts.
  waiting: {requests: new Map(), scripts: 0},
};

// Counts a script as loading until it has begun.
export function loading(begun) {
  state.waiting.scripts++;
  begun.finally(() => { state.waiting.scripts--; });
}

// Calls a function when the page shows what its address says, at once where it does.
export function whenSettled(call) {
  if (state.settled) call();
  else window.addEventListener('settled', call, {once: true});
}

export const tell = event => window.dispatchEvent(new Event(event));
