/** Pages of a form behind each other, which the browser's own Back key leaves one by one. */

/** Member of the state of an entry of the history; what is remembered has another one. */
const PLACE = "halftruth-page";

/** Milliseconds that a browser may take to go back. */
const PATIENCE = 1_000;

/** Pages of a form, each with a place in the browser's history where the form is asked to keep one. */
export class PageHistory {
  /** Pages so far, each as it is shown once more.
   * @type {(() => void)[]} */
  #pages = [];
  #form;

  /** @param {HTMLElement & {hasAnswers: () => boolean}} form */
  constructor(form) {
    this.#form = form;
  }

  /** True if the browser's history has a place for each page. */
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

  /** Ask whoever leaves with answers; browsers keep copies of pages only where nobody may have to. */
  holdBack() {
    addEventListener("beforeunload", this.#ask);
  }

  letLeave() {
    removeEventListener("beforeunload", this.#ask);
  }

  /** Begin anew, from wherever the browser is. */
  reset() {
    this.#pages = [];
  }

  /**
   * Go back to the place of the first page, from where the Back key leaves the form. An invitation that
   * the places behind it have goes with them: from here on it is kept with the report.
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

  /** @param {() => void} show Shows a further page. */
  go(show) {
    const place = this.#pages.push(show) - 1;
    if (this.#isKept()) {
      // Beside what a router of the page has written there.
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

  /** @param {number} place Of a page that was shown before. */
  #return(place) {
    this.#pages.length = place + 1;
    this.#pages[place]();
  }

  #travelled = (/** @type {PopStateEvent} */ { state }) => {
    const place = state?.[PLACE];
    const last = this.#pages.length - 1;
    if (place === undefined || place === last || last < 0) return;
    // Forward goes by the form's own buttons, which look at the answers.
    if (place > last) history.go(last - place);
    else this.#return(place);
  };

  #ask = (/** @type {BeforeUnloadEvent} */ event) => {
    if (this.#form.hasAnswers()) event.preventDefault();
  };
}
