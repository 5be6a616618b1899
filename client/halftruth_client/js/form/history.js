/** Navigation between the pages of a form, optionally with the browser's Back button. */

/** Member of the history state for the number of a page. */
const PLACE = "halftruth-page";

/** Largest number of milliseconds to wait for the browser to go back. */
const PATIENCE = 1_000;

/** The pages of a form, each with an entry in the browser's history if the form has the attribute
 * `history`. */
export class PageHistory {
  /** Functions that show the pages so far.
   * @type {(() => void)[]} */
  #pages = [];
  #form;

  /** @param {HTMLElement & {hasAnswers: () => boolean}} form */
  constructor(form) {
    this.#form = form;
  }

  /** True if each page has an entry in the browser's history. */
  #isKept() {
    return (this.#form.getAttribute("history") ?? "false") !== "false";
  }

  follow() {
    addEventListener("popstate", this.#travelled);
  }

  unfollow() {
    removeEventListener("popstate", this.#travelled);
    this.letLeave();
  }

  /** Ask for confirmation before a person leaves with answers. Only while needed, since the
   * listener can keep the page out of the back/forward cache. */
  holdBack() {
    addEventListener("beforeunload", this.#ask);
  }

  letLeave() {
    removeEventListener("beforeunload", this.#ask);
  }

  /** Forget all pages, and leave the browser's history unchanged. */
  reset() {
    this.#pages = [];
  }

  /**
   * Go back to the history entry of the first page, from which the Back button leaves the form.
   * Delete the invitation from the later entries; from now on it is stored with the report.
   */
  async finish() {
    let place = this.#isKept() ? this.#pages.length - 1 : 0;
    this.reset();
    for (; place > 0; place -= 1) {
      const { invitation, ...others } = history.state ?? {};
      history.replaceState(others, "");
      const arrived = new Promise((resolve) => {
        addEventListener("popstate", resolve, { once: true });
        setTimeout(resolve, PATIENCE);
      });
      history.back();
      await arrived;
    }
  }

  /** Show the next page.
   * @param {() => void} show */
  go(show) {
    const place = this.#pages.push(show) - 1;
    if (this.#isKept()) {
      // Keep the other members, such as those of a router of the page.
      const state = { ...history.state, [PLACE]: place };
      if (place === 0) history.replaceState(state, "");
      else history.pushState(state, "");
    }
    show();
  }

  back = () => {
    if (this.#isKept()) history.back();
    else this.#return(this.#pages.length - 2);
  };

  /** @param {number} place Number of a page that was shown before. */
  #return(place) {
    this.#pages.length = place + 1;
    this.#pages[place]();
  }

  #travelled = (/** @type {PopStateEvent} */ { state }) => {
    const place = state?.[PLACE];
    const last = this.#pages.length - 1;
    if (place === undefined || place === last || last < 0) return;
    // Undo the browser's Forward button: only the buttons of the form check the answers.
    if (place > last) history.go(last - place);
    else this.#return(place);
  };

  #ask = (/** @type {BeforeUnloadEvent} */ event) => {
    if (this.#form.hasAnswers()) event.preventDefault();
  };
}
