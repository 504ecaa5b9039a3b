// Keeps an answer from being lost. Gradio's page gets all answers by one stream, which the server ends when nobody
// waits for one; the next request opens another. But the reply to a request that was made just then may come before the
// end of the stream: the page took that stream for open, and nobody would listen for the answer. So such a reply is
// held back until the page has read the ends that the server sent before it: X-Streams-Ended, their number and the
// process that counted them, by xformer/ui/server/middleware.py. docs/upstream/stream.md shows it, and has a patch.
const LONGEST = 1000, TURN = 5;  // milliseconds; a connection that broke brings no end
const TURNS = 20;  // at least: a page that draws for a second reads nothing in it
const ended = [];  // the streams whose end was read
const before = {};  // by a copy of the app, how many of them others had ended, or nobody
const request = globalThis.fetch;

globalThis.fetch = async (what, how) => {
  const {pathname} = new URL(what.url ?? what, document.baseURI);
  if (pathname.endsWith('/queue/data')) what.signal.addEventListener('abort', () => ended.push(what));
  const reply = await request(what, how), begun = performance.now();
  const [sent, copy] = (reply.headers.get('X-Streams-Ended') ?? '').split(' ');
  if (!copy) return reply;
  before[copy] ??= ended.length;
  const isBehind = () => ended.length - before[copy] < sent;
  for (let turn = 0; isBehind() && (turn < TURNS || performance.now() < begun + LONGEST); turn++)
    await new Promise(done => setTimeout(done, TURN));
  before[copy] = Math.min(before[copy], ended.length - sent);  // an end that never came is not waited for again
  return reply;
};
