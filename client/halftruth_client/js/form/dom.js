/** Building documents from text alone: nothing that a survey says becomes markup. */

/** What pages style as `::part()`s of the form, by what it is. */
export const PARTS = Object.entries({
  heading: "h2, h3",
  button: "button",
  "main-button": "button.main",
  question: "fieldset",
  label: "legend, .label",
  help: ".help",
  problem: ".problem",
  option: ".option",
  control: "input, select",
  card: ".card",
  link: "a",
  progress: "progress",
});

/**
 * @typedef {Node | string | false | null | undefined} Child False and none are left out.
 */

/**
 * An element with its attributes and children.
 *
 * @param {string} tag
 * @param {Record<string, string | boolean | ((event: Event) => void)>} [attributes]
 *   Functions listen to the event of their name; true is an attribute without a value, false none.
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  const parts = PARTS.filter(([, selector]) => made.matches(selector)).map(([part]) => part);
  if (parts.length > 0) made.part.add(...parts);
  made.append(...children.filter((child) => child != null && child !== false));
  return made;
}
