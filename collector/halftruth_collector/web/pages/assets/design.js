/**
 * Shows what a draft comes to while it is being written.
 *
 * The page works without this: each button posts the draft and gets the page again. Here, what is
 * typed is posted after a pause, and the parts of the page that follow from it take the place of
 * those that are shown. Whoever goes on typing is not disturbed.
 */

const PAUSE = 500;
const FOLLOWING = ["controls", "ready"];
/** Buttons whose answer is another page or a file. */
const LEADING = ["save", "publish", "load"];
/** Buttons after which another question is open, and those that made it. */
const OPENING = /^(add|duplicate|open):/;
const MAKING = /^(add|duplicate):/;
/** Controls that nothing follows from until a button is pressed, by their names. */
const WAITING = ["step", "unlisted", "invitations", "shared_devices", "closes_at", "max_reports"];

const form = document.getElementById("design");
/** What is asked of the collector, one after the other. */
let turn = Promise.resolve();
let asking = new AbortController();
let pause = 0;
/** What was typed since the draft was posted last, by the ids of controls. */
const typed = new Map();

/** Post the draft, and check it. */
async function post(action, signal) {
  typed.clear();
  const body = new FormData(form);
  body.append("do", action);
  const answer = await fetch(form.action, { method: "POST", body, signal });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!page.getElementById("design")) throw new Error("no draft in the answer");
  take(page, action);
}

function take(page, action) {
  const { activeElement: active } = document;
  const written = document.getElementById("survey");
  const details = [...document.querySelectorAll("details[id]")];
  const at = selection(active);
  // What is being typed stays as it is, blanks at the end of it, too.
  if (at && active.form === form && active.id) note(active);
  if (!typed.has(written.id)) written.value = page.getElementById(written.id).value;
  for (const id of FOLLOWING) {
    document.getElementById(id).replaceWith(page.getElementById(id));
  }
  // Other questions have other conditions.
  const kept = OPENING.test(action) ? details.filter(({ id }) => !["conditions", "more"].includes(id)) : details;
  for (const { id, open } of kept) {
    const shown = document.getElementById(id);
    if (shown) shown.open = open;
  }
  for (const [id, value] of typed) {
    const control = document.getElementById(id);
    if (control && control !== written) Object.assign(control, value);
  }
  preview(page);
  if (active.isConnected && active !== document.body) return;
  const label = document.querySelector('#question [name="question.label"]:not([hidden])');
  const again = MAKING.test(action) ? label : document.getElementById(active.id);
  (again ?? document.getElementById("questions"))?.focus();
  if (at && again) again.setSelectionRange(...at);
}

/** Keep what a control says until the draft is posted next, whatever the collector answers meanwhile. */
function note({ id, type, checked, value }) {
  typed.set(id, type === "checkbox" ? { checked } : { value });
}

/** Where somebody is typing, or null. */
function selection(control) {
  const { selectionStart: start, selectionEnd: end } = control;
  return Number.isInteger(start) ? [start, end] : null;
}

/** Another form is shown where another one is asked, or in another language. */
function preview(page) {
  const [old, fresh] = [document, page].map((of) => of.getElementById("preview"));
  const asked = (of, what) => of.querySelector("halftruth-preview")?.getAttribute(what);
  const same = ["document", "lang"].every((what) => asked(old, what) === asked(fresh, what));
  if (same && asked(fresh, "document")) return;
  const { shadowRoot: shown } = old.querySelector("halftruth-preview") ?? {};
  const begun = Boolean(shown?.querySelector("legend, .label"));
  fresh.querySelector("halftruth-preview")?.toggleAttribute("begun", begun);
  old.replaceWith(fresh);
}

/** Post in a while, unless there is more. */
function soon() {
  asking.abort();
  clearTimeout(pause);
  pause = setTimeout(() => {
    asking = new AbortController();
    const { signal } = asking;
    document.getElementById("controls").setAttribute("aria-busy", "true");
    turn = turn
      .then(() => post("check", signal))
      .catch(() => document.getElementById("controls").removeAttribute("aria-busy"));
  }, PAUSE);
}

/** Do what a button says, after whatever is being done. */
function act(action) {
  asking.abort();
  clearTimeout(pause);
  turn = turn
    .then(() => post(action))
    .catch(() => {
      const asked = { type: "hidden", name: "do", value: action };
      form.append(Object.assign(document.createElement("input"), asked));
      form.submit();
    });
}

document.addEventListener("input", ({ target }) => {
  if (target.form !== form || target.type === "file") return;
  note(target);
  if (WAITING.includes(target.name)) return;
  if (target.type === "range") {
    document.getElementById("chance").value = `${target.value} %`;
    target.setAttribute("aria-valuetext", `${target.value} % likely at most`);
  } else {
    soon();
  }
});

document.addEventListener("change", ({ target }) => {
  if (target.form === form && target.type === "range") soon();
});

form.addEventListener("submit", (event) => {
  const action = event.submitter?.value ?? "check";
  if (LEADING.includes(action)) return;
  event.preventDefault();
  act(action);
});
