/** The form for web pages: importing this defines `<halftruth-form>`. */

import { HalftruthForm } from "./element.js";

export { attach } from "./attach.js";
export { promiseOf, readingOf, receiptOf } from "./statements.js";
export { HalftruthForm };

/** @typedef {import("./types.d.ts").FormAttributes} FormAttributes As pages and templates write them.
 * @typedef {import("./types.d.ts").FormEvents} FormEvents
 * @typedef {import("./types.d.ts").FormListeners} FormListeners As attributes of a template. */

// A server that renders pages has no elements: the browser makes them of its markup.
if (globalThis.customElements?.get("halftruth-form") === undefined) {
  globalThis.customElements?.define("halftruth-form", HalftruthForm);
}
