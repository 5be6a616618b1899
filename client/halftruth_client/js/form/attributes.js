/** Attributes of `<halftruth-form>`: properties that reflect them, and the settings of a session.
 * */

/**
 * @import { Settings } from "../session.js"
 * @import { FormEvents, Properties, TypedEvents } from "./types.d.ts"
 */

/** Property of each attribute. */
export const ATTRIBUTES = Object.freeze({
  survey: "survey",
  collector: "collector",
  "max-gamma": "maxGamma",
  "max-answer-gamma": "maxAnswerGamma",
  unprotected: "unprotected",
  digests: "digests",
  "operator-keys": "operatorKeys",
  "max-total-gamma": "maxTotalGamma",
  invitation: "invitation",
  "send-every": "sendEvery",
  ask: "ask",
  history: "history",
});

/** Base class of elements; an empty class on a server, so that the module can be imported there. */
const Plain = globalThis.HTMLElement ?? class {};

class ReflectingElement extends Plain {
  constructor() {
    super();
    // Frameworks may set properties before the element is defined, which would hide the accessors
    // below.
    for (const property of Object.values(ATTRIBUTES)) {
      if (!Object.hasOwn(this, property)) continue;
      const value = Reflect.get(this, property);
      Reflect.deleteProperty(this, property);
      Reflect.set(this, property, value);
    }
  }
}

for (const [attribute, property] of Object.entries(ATTRIBUTES)) {
  Object.defineProperty(ReflectingElement.prototype, property, {
    configurable: true,
    enumerable: true,
    /** @this {HTMLElement} */
    get() {
      return this.getAttribute(attribute) ?? "";
    },
    /** @this {HTMLElement} @param {unknown} value */
    set(value) {
      if (value === null || value === undefined) this.removeAttribute(attribute);
      else this.setAttribute(attribute, Array.isArray(value) ? value.join(" ") : String(value));
    },
  });
}

/** Base class of elements whose properties reflect attributes, with typed events. */
export const Reflecting = /** @type {{ new (): TypedEvents<FormEvents> & HTMLElement & Properties, prototype: HTMLElement }} */ (
  /** @type {unknown} */ (ReflectingElement)
);

/** Attributes whose value is a list separated by blanks. */
const LISTS = ["unprotected", "digests", "operator-keys"];

/** Settings of a session, from the attributes of an element.
 * @type {(form: Element) => Settings} */
export function settingsOf(form) {
  const written = Object.entries(ATTRIBUTES).flatMap(([attribute, property]) => {
    const value = form.getAttribute(attribute);
    if (value === null) return [];
    return [[property, LISTS.includes(attribute) ? value.split(/\s+/).filter(Boolean) : value]];
  });
  const { history: _, collector, ...settings } = Object.fromEntries(written);
  return { ...settings, collector: collector || location.origin };
}

/**
 * `fetch` that takes the first answer about the survey from the page, if a script element of the type
 * application/json in the form has it, as the collector would send it. It is checked like any other.
 *
 * Undefined if the page does not have it. When a person goes back to the page, browsers show what they
 * had, without asking whether it is current: then the survey is fetched.
 *
 * @type {(form: Element, settings: Settings) => typeof globalThis.fetch | undefined}
 */
export function fetchFirst(form, { collector, survey }) {
  const text = form.querySelector(":scope > script[type='application/json']")?.textContent ?? "";
  const [visit] = performance.getEntriesByType("navigation");
  const isOld = /** @type {Partial<PerformanceNavigationTiming>} */ (visit)?.type === "back_forward";
  if (isOld || idIn(text) !== survey || !URL.canParse(collector)) return undefined;
  const address = `${new URL(collector).href.replace(/\/+$/, "")}/v1/surveys/${encodeURIComponent(survey)}`;
  let isFirst = true;
  return async (url, options) => {
    if (!isFirst || url !== address) return fetch(url, options);
    isFirst = false;
    return new Response(text);
  };
}

/** Id of a published survey; undefined if the text is none.
 * @param {string} text */
function idIn(text) {
  try {
    return JSON.parse(text).survey.id;
  } catch {
    return undefined;
  }
}
