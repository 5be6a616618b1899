/**
 * Sorts, searches and turns the pages of a table without loading the rest of its page again.
 *
 * Each of these is an address of the same page, which works without this script, too: here it is
 * fetched, and its table takes the place of the one that is shown.
 */

const table = () => document.getElementById("table");

/** Only the last of several requests counts. */
let asking = new AbortController();

async function show(address) {
  asking.abort();
  asking = new AbortController();
  table().setAttribute("aria-busy", "true");
  const answer = await fetch(address, { signal: asking.signal });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.getElementById("table");
  if (!answer.ok || !found) throw new Error(`no table at ${address}`);
  const key = document.activeElement?.dataset.key;
  table().replaceWith(found);
  // Whoever uses a keyboard stays where they were, as far as that is still there.
  const again = key && found.querySelector(`[data-key="${key}"]`);
  (again || (key && found.querySelector(".scroll")))?.focus();
}

async function go(address, event) {
  event.preventDefault();
  try {
    await show(address);
    history.pushState(null, "", address);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(address);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("#table a");
  const changed = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (link && !changed && event.button === 0) go(link.href, event);
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("#table form")) return;
  const address = new URL(event.target.action);
  address.search = new URLSearchParams(new FormData(event.target)).toString();
  go(address.href, event);
});

addEventListener("popstate", () => {
  show(location.href).catch((error) => {
    if (error.name !== "AbortError") location.reload();
  });
});
