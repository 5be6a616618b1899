/** Client, session and form in one module, for the bundle. */

export * from "./index.js";
export * from "./session.js";
export * from "./form/index.js";
