/** Navigation between the pages of a form, optionally with the browser's Back button. */

/** Member of the history state for the number of a page. */
const PLACE = "halftruth-page";

/** Largest number of milliseconds to wait for the browser to go back. */
const PATIENCE = 1_000;

/** A page: the function that shows it, and whether it can be shown without a check of the one before.
 * @typedef {{show: () => void, isFree: boolean}} Page */

/** The pages of a form, each with an entry in the browser's history if the form has the attribute
 * `history`. */
export class PageHistory {
  /** The pages so far.
   * @type {Page[]} */
  #pages = [];
  /** The page that was left by the Back button, which Forward leads to.
   * @type {Page | undefined} */
  #left = undefined;
  /** True while an entry ahead is left again, whose page Forward asked for. */
  #isForward = false;
  #form;

  /** @param {HTMLElement & {hasAnswers: () => boolean, root: ShadowRoot}} form */
  constructor(form) {
    this.#form = form;
  }

  /** Show the page ahead, checked like by the button that leads there. */
  #forward() {
    const left = this.#left;
    if (left?.isFree) this.go(left.show, true);
    else if (left) /** @type {HTMLElement | null} */ (this.#form.root.querySelector("button.main"))?.click();
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
    this.#left = undefined;
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

  /** Show the next page; `isFree` if no answer has to be checked before.
   * @type {(show: () => void, isFree?: boolean) => void} */
  go(show, isFree = false) {
    this.#left = undefined;
    const place = this.#pages.push({ show, isFree }) - 1;
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
    this.#left = this.#pages[place + 1];
    this.#pages.length = place + 1;
    this.#pages[place].show();
  }

  #travelled = (/** @type {PopStateEvent} */ { state }) => {
    const place = state?.[PLACE];
    const last = this.#pages.length - 1;
    if (place === last && this.#isForward) {
      this.#isForward = false;
      this.#forward();
    }
    if (place === undefined || place === last || last < 0) return;
    // Answers are checked by the buttons of the form, so the browser's Forward button presses one.
    if (place > last) {
      this.#isForward = true;
      history.go(last - place);
    } else this.#return(place);
  };

  #ask = (/** @type {BeforeUnloadEvent} */ event) => {
    if (this.#form.hasAnswers()) event.preventDefault();
  };
}
