/**
 * The form as those see it who write a survey: importing this defines `<halftruth-preview>`.
 *
 * It asks the survey of its `document`, which need not have been published, has no collector to send
 * anything to, and ends where a report would be drawn.
 */

import { Client } from "../client.js";
import { Survey } from "../survey.js";
import { element } from "./dom.js";
import { HalftruthForm } from "./element.js";

/** Storage for as long as the preview is shown. */
function forgetful() {
  /** @type {Map<string, string>} */
  const kept = new Map();
  return {
    getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => void kept.set(key, value),
    removeItem: (/** @type {string} */ key) => void kept.delete(key),
    key: (/** @type {number} */ place) => [...kept.keys()][place] ?? null,
    get length() {
      return kept.size;
    },
  };
}

export class HalftruthPreview extends HalftruthForm {
  makeClient() {
    const written = this.getAttribute("document") ?? "";
    return new Client(location.origin, {
      maxGamma: this.getAttribute("max-gamma") ?? "",
      unprotected: (this.getAttribute("unprotected") ?? "").split(/\s+/).filter(Boolean),
      digests: this.getAttribute("digests")?.split(" "),
      storage: forgetful(),
      retries: 0,
      fetch: async () => published(written),
    });
  }

  /** The end of a preview: nothing is drawn. */
  async submit() {
    this.questionnaire?.clear();
    this.show(() =>
      element(
        "section",
        { "aria-labelledby": "heading" },
        element("h2", { tabindex: "-1", id: "heading" }, "The preview ends here"),
        element("p", {}, "Nothing was drawn, sent or kept."),
        element(
          "div",
          { class: "buttons" },
          element("button", { class: "main", click: () => void this.start() }, "Begin again"),
        ),
      ),
    );
  }
}

/**
 * Response of a collector that publishes this survey.
 *
 * @param {string} written Its document.
 */
async function published(written) {
  const survey = JSON.parse(written);
  const digest = await new Survey(survey).digest();
  const terms = { invitations: false, sealing_key: null };
  return Response.json({ survey, digest, status: "open", terms, signature: null });
}

if (!customElements.get("halftruth-preview")) {
  customElements.define("halftruth-preview", HalftruthPreview);
}
