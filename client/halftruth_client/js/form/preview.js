/**
 * The form as those see it who write a survey: importing this defines `<halftruth-preview>`.
 *
 * It asks the survey of its `document`, which need not have been published, has no collector to send
 * anything to, and ends where a report would be drawn.
 */

import { ShortStorage } from "../memory.js";
import { Survey } from "../survey.js";
import { HalftruthForm } from "./element.js";
import { button, buttons, element, view } from "./views.js";

class HalftruthPreview extends HalftruthForm {
  settings() {
    const written = this.getAttribute("document") ?? "";
    const fetch = async () => published(written);
    return { ...super.settings(), storage: new ShortStorage(), retries: 0, fetch };
  }

  /** Nothing that was tried is missed. */
  hasAnswers() {
    return false;
  }

  /** One that takes the place of another that was begun is begun, too; whoever types goes on typing. */
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

  /** The end of a preview: nothing is drawn. */
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

/** @param {string} written Its document. */
async function published(written) {
  const survey = JSON.parse(written);
  const digest = await new Survey(survey).digest();
  const terms = { invitations: false, sealing_key: null };
  return Response.json({ survey, digest, status: "open", terms, signature: null });
}

if (!customElements.get("halftruth-preview")) {
  customElements.define("halftruth-preview", HalftruthPreview);
}
