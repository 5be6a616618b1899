/** Element that shows one view after the other, in the reader's language. */

import { CollectorUnavailable } from "../errors.js";
import { inLanguage } from "../texts.js";
import { loading } from "./closing.js";
import { element } from "./dom.js";
import { chooser, chosen, wantedBy, wordingIn } from "./languages.js";
import { Reflecting } from "./properties.js";
import { Wording } from "./wording.js";

/** An element whose `lang` is the language of its survey that it is read in. */
export class Localized extends Reflecting {
  constructor() {
    super();
    this.root = this.attachShadow({ mode: "open" });
    this.words = new Wording();
    /** Makes what is shown, in the words of the moment. */
    this.make = (/** @type {Wording} */ words) => loading(words);
    /** @type {import("../survey.js").Survey | undefined} */
    this.current = undefined;
  }

  /** Begin in the language that the page or its address names; those of the survey come later. */
  async greet() {
    try {
      this.words = await wordingIn(chosen([], wantedBy(this)));
    } catch (error) {
      if (!(error instanceof CollectorUnavailable)) throw error;
    }
  }

  /** Speak the language that is wanted now, where it was another one before. */
  follow() {
    const { current: survey } = this;
    if (survey && chosen(survey.languages, wantedBy(this)) !== this.words.language) {
      void this.speak(survey);
    }
  }

  /**
   * Say all that is shown in the language that is wanted now; answers stay.
   *
   * @param {import("../survey.js").Survey} survey
   */
  async speak({ languages, title, description }) {
    const language = chosen(languages, wantedBy(this));
    try {
      const words = await wordingIn(language);
      // Meanwhile another one may have been chosen.
      if (language !== chosen(languages, wantedBy(this))) return;
      this.words = words;
      this.render();
      this.tell("language", {
        language,
        direction: words.direction,
        title: inLanguage(title, language),
        description: inLanguage(description, language),
      });
    } catch (error) {
      // Its words did not come: what is shown stays as it is.
      if (!(error instanceof CollectorUnavailable)) throw error;
      this.render();
    }
  }

  /** @type {(name: string, detail: unknown) => void} */
  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** @param {(words: Wording) => HTMLElement} make Of the words that the view is to be made of. */
  show(make) {
    const first =
      this.root.childElementCount === 0 || this.root.querySelector("p[role=status]") !== null;
    this.make = make;
    const view = this.render();
    // A first view leaves the reader where they are; each further one is announced by its heading.
    if (!first) /** @type {HTMLElement | null} */ (view.querySelector("h2"))?.focus();
  }

  /** Make what is to be seen. */
  render() {
    const { current: survey, words, root } = this;
    const view = this.make(words);
    const choose = (/** @type {string} */ language) => {
      this.lang = language;
    };
    const languages = survey?.languages ?? [];
    const around = element(
      "div",
      { lang: words.locale, dir: words.direction, class: words.isForeign && "foreign" },
      languages.length > 1 ? chooser(languages, choose, words) : null,
      view,
    );
    const isChoosing = root.activeElement?.matches(".language select");
    root.replaceChildren(around);
    if (isChoosing) /** @type {HTMLElement | null} */ (root.querySelector("select"))?.focus();
    return view;
  }
}
