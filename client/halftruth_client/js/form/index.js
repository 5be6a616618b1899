/** The form for web pages: importing this module defines `<halftruth-form>`. */

import { HalftruthForm } from "./element.js";

export { attach } from "./attach.js";
export { promiseOf, readingOf, receiptOf } from "./statements.js";
export { HalftruthForm };

/** @typedef {import("./types.d.ts").FormAttributes} FormAttributes Attributes in HTML and templates.
 * @typedef {import("./types.d.ts").FormEvents} FormEvents
 * @typedef {import("./types.d.ts").FormListeners} FormListeners Event listeners in templates. */

// During server-side rendering there are no custom elements: the browser upgrades the markup.
if (globalThis.customElements?.get("halftruth-form") === undefined) {
  globalThis.customElements?.define("halftruth-form", HalftruthForm);
}
