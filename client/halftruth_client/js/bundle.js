/** The client and the form in one: what is bundled for plain pages. */

export * from "./index.js";
export * from "./session.js";
export * from "./form/index.js";
