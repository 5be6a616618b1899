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
