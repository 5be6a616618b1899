/**
 * Doing something once, whichever pages of this browser try to at the same moment.
 *
 * Pages take turns by a lock. But what one page writes into `localStorage` reaches another one, in a
 * process of its own, only a moment later, and the lock may be there sooner. So whoever has written
 * says so by a second lock, which all pages see at once, and the next one waits for what was written.
 */

/** Milliseconds for which a page says that it has written; far longer than that takes to arrive. */
const SPREADING = 10_000;

/** Most milliseconds to wait for what another page has written. */
const PATIENCE = 2_000;

/** @type {Map<string, () => void>} Ends what this page says, by name. */
const saying = new Map();

/**
 * Run an action while no other page of this browser does, where the browser can tell.
 *
 * @param {string} name
 * @param {() => boolean} isDone Whether this page sees what the action leaves.
 * @param {() => void} action Leaves what is there already.
 */
export async function once(name, isDone, action) {
  let ran = false;
  const turn = async () => {
    ran = true;
    if (!isDone() && (await hasOtherWriter(name))) await until(isDone);
    const before = isDone();
    action();
    if (isDone() && !before) await say(name);
    else if (!isDone()) saying.get(name)?.();
  };
  const locks = globalThis.navigator?.locks;
  if (!locks) {
    action();
    return;
  }
  try {
    await locks.request(name, turn);
  } catch (error) {
    // Where a browser keeps nothing it has no locks either, and pages see nothing of one another.
    if (ran) throw error;
    action();
  }
}

/** @param {string} name */
function writerLock(name) {
  return `${name} is written`;
}

/**
 * True if another page says that it has written; this one holds the lock and sees what it wrote.
 *
 * @param {string} name
 */
async function hasOtherWriter(name) {
  const { held = [] } = await navigator.locks.query();
  const own = held.find((lock) => lock.name === name)?.clientId;
  return held.some((lock) => lock.name === writerLock(name) && lock.clientId !== own);
}

/**
 * Hold the second lock for a while, from before the first one is let go.
 *
 * @param {string} name
 */
function say(name) {
  return new Promise((resolve) => {
    void navigator.locks.request(writerLock(name), { mode: "shared" }, () => {
      resolve(undefined);
      return new Promise((end) => {
        const done = () => {
          saying.delete(name);
          end(undefined);
        };
        saying.set(name, done);
        setTimeout(done, SPREADING);
      });
    });
  });
}

/** @param {() => boolean} isDone */
async function until(isDone) {
  const last = performance.now() + PATIENCE;
  while (!isDone() && performance.now() < last) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
