/**
 * Preview of the form for authors of a survey: importing this module defines `<halftruth-preview>`.
 *
 * The attribute `document` has the survey, which need not be published. The preview sends nothing,
 * and ends before a report would be drawn.
 */

import { ShortStorage } from "../memory.js";
import { Survey } from "../survey.js";
import { HalftruthForm } from "./element.js";
import { button, buttons, element, view } from "./views.js";

/** Id and code of a ticket that no collector has issued, since nothing is sent. */
const NO_TICKET = "00".repeat(48);

class HalftruthPreview extends HalftruthForm {
  settings() {
    const written = this.getAttribute("document") ?? "";
    const fetch = async (/** @type {RequestInfo | URL} */ url) =>
      String(url).endsWith("/tickets") ? Response.json({ tickets: [NO_TICKET] }) : published(written);
    return { ...super.settings(), pageAddress: null, storage: new ShortStorage(), retries: 0, fetch };
  }

  /** Answers in a preview can be discarded without confirmation. */
  hasAnswers() {
    return false;
  }

  /** Start, and with the attribute `begun` skip the introduction, unless it asks for consent. The
   * focus stays where it is, for example in the editor of the survey. */
  async start() {
    await super.start();
    /** @type {HTMLElement | null} */
    const begin = this.root.querySelector("button.main");
    if (!begin || !this.hasAttribute("begun") || this.root.querySelector("[name=consent]")) return;
    const held = /** @type {HTMLElement | null} */ (document.activeElement);
    this.removeAttribute("begun");
    begin.click();
    held?.focus({ preventScroll: true });
  }

  /** End the preview; no report is drawn. */
  async submit() {
    this.session?.leave();
    this.show(() =>
      view(
        "The preview ends here",
        element("p", {}, "Nothing was drawn, sent or kept."),
        buttons(button("Begin again", () => void this.start(), "main")),
      ),
    );
  }
}

/** @param {string} written Survey document. */
async function published(written) {
  const survey = JSON.parse(written);
  const digest = await new Survey(survey).digest();
  const terms = { invitations: false, sealing_key: null };
  return Response.json({ survey, digest, status: "open", terms, signature: null });
}

if (!customElements.get("halftruth-preview")) {
  customElements.define("halftruth-preview", HalftruthPreview);
}
