/**
 * Checks a survey file while it is typed.
 *
 * The page works without this: each button posts the text and gets the page again. Here the text is
 * posted after a pause, and the results take the place of those that are shown. One check runs at a
 * time, since the collector finishes each that it began.
 */

const PAUSE = 500;

const form = document.getElementById("design");
const text = document.getElementById("survey");
const said = document.getElementById("said");
let timer = 0;
let isChecking = false;
let isWaiting = false;

/** Check the text once the check before has ended. */
async function check() {
  clearTimeout(timer);
  isWaiting = isChecking;
  if (isChecking) return;
  isChecking = true;
  try {
    const body = new FormData(form);
    body.delete("file");
    body.append("do", "check");
    const answer = await fetch(form.action, { method: "POST", body });
    show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    report("The text was not checked: the collector did not answer.");
  }
  isChecking = false;
  if (isWaiting) await check();
}

function show(page) {
  const found = page.getElementById("said");
  if (!found) {
    // Another page: of a text that is too large, or of somebody who is signed out.
    report(page.querySelector("main [role=alert], main p")?.textContent ?? "The text was not checked.");
    return;
  }
  const isInvalid = page.getElementById("survey").hasAttribute("aria-invalid");
  if (isInvalid) text.setAttribute("aria-invalid", "true");
  else text.removeAttribute("aria-invalid");
  setStale(isInvalid);
  if (said.textContent !== found.textContent) said.replaceChildren(...found.childNodes);
  if (isInvalid) return;
  for (const id of ["promise", "precision"]) {
    const [shown, fresh] = [document, page].map((of) => of.getElementById(id));
    if (shown.innerHTML !== fresh.innerHTML) shown.replaceWith(fresh);
  }
  const [shown, fresh] = [document, page].map((of) => of.querySelector("#preview > :last-child"));
  if (shown.getAttribute("document") === fresh.getAttribute("document")) return;
  // Another preview is in the same language, and begun if the one before was.
  if (shown.lang) fresh.lang = shown.lang;
  fresh.toggleAttribute("begun", Boolean(shown.shadowRoot?.querySelector("legend, .label")));
  document.getElementById("preview").replaceWith(page.getElementById("preview"));
}

/** Say what is wrong, in the place of the check. */
function report(problem) {
  const line = Object.assign(document.createElement("p"), { className: "notice alarm", textContent: problem });
  said.replaceChildren(line);
  setStale(true);
}

/** Say whether the results that are shown are of an earlier text. */
function setStale(isStale) {
  const hasResults = document.querySelector("halftruth-preview") !== null;
  document.getElementById("stale").hidden = !(isStale && hasResults);
}

const asked = ["respondents", "half_width", "groups", "questions", "outcome", "predictors"];
for (const control of [text, ...asked.map((id) => document.getElementById(id))]) {
  control.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  });
}

form.addEventListener("submit", (event) => {
  if (event.submitter?.value !== "check") return;
  event.preventDefault();
  check();
});

// Browsers keep what was typed when the page is loaded again.
addEventListener("pageshow", () => {
  if (text.value !== text.defaultValue) check();
});
