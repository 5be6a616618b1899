/**
 * Checks a survey file while it is typed.
 *
 * The page also works without this script: each button posts the text and reloads the page. The script
 * posts the text after a pause (debounce), and replaces the results on the page. One check runs at a
 * time, since the collector does not cancel a check that has begun.
 */

const PAUSE = 500;

const form = document.getElementById("design");
const text = document.getElementById("survey");
const said = document.getElementById("said");
let timer = 0;
let isChecking = false;
let isWaiting = false;

/** Check the text after the previous check has ended. */
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
    // The response is another page: the text is too large, or the session has ended.
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

/** Show an error in place of the check. */
function report(problem) {
  const line = Object.assign(document.createElement("p"), { className: "notice alarm", textContent: problem });
  said.replaceChildren(line);
  setStale(true);
}

/** Mark the results as those of an earlier text, or not. */
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

// Browsers keep the typed text after reloading.
addEventListener("pageshow", () => {
  if (text.value !== text.defaultValue) check();
});
