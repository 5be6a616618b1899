/** Views: the groups of questions that are drawn, with their weights and symbols. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";

const MOST_CELLS = 2 ** 20;
const MOST_VIEWS = 2 ** 17;
const MOST_SYMBOLS = 2 ** 32 - 1;
const MOST_WEIGHT = 2 ** 32 - 1;
const MEMBERS = ["attributes", "choose", "weight", "pairs"];

/** Shared by all views without groups, since there can be many.
 * @type {readonly number[]} */
const NONE = [];

/**
 * @import { View } from "./base.js"
 * @import { SetOfOptions } from "./set.js"
 * @import { Subset } from "./subset.js"
 *
 * Views of equal weight: all choices of `sizes[k]` positions from the k-th group.
 *
 * The first option of a question that is perturbed as one set stands for it; with `pairs`, views of it are
 * of the pairs of its options.
 *
 * @typedef {{groups: number[][], sizes: number[], weight: number, pairs: boolean}} ViewClass
 */

/** Read the classes of views of a survey document.
 * @type {(written: unknown, schema: import("../schema.js").Schema, unperturbed: readonly number[]) => ViewClass[]} */
export function readClasses(written, schema, unperturbed) {
  if (!Array.isArray(written)) throw wrong("expected a list");
  const classes = written.map((document) => readClass(document, schema));
  const asked = classes.flatMap(({ groups }) => groups.flat());
  const viewed = new Set(asked.flatMap((j) => setOf(schema, j)?.positions ?? [j]));
  const wanting = schema.names.find((_, j) => viewed.has(j) === unperturbed.includes(j));
  if (wanting !== undefined) {
    throw wrong(`'${wanting}': expected every attribute that is not public, and no other`);
  }
  const count = classes.reduce(
    (sum, { groups, sizes }) =>
      sum + groups.reduce((ways, group, i) => ways * choices(group.length, sizes[i]), 1),
    0,
  );
  if (!(count >= 1 && count <= MOST_VIEWS)) throw wrong(`expected 1 to ${MOST_VIEWS} of them`);
  return classes;
}

/** @type {(written: unknown, schema: import("../schema.js").Schema) => ViewClass} */
function readClass(written, schema) {
  const { attributes, choose, weight, pairs = false } = membersOf(written, MEMBERS, "views");
  if (!Array.isArray(attributes) || !attributes.every(Array.isArray)) {
    throw wrong("attributes: expected lists of names");
  }
  const named = attributes.map((group) => group.map((/** @type {unknown} */ name) => firstOf(name, schema)));
  positionsOf(named.flat(), schema, "views");
  const groups = named.map((group) => positionsOf(group, schema, "views"));
  const isOfSet = groups.flat().some((j) => setOf(schema, j));
  if (typeof pairs !== "boolean" || (pairs && !isOfSet)) {
    throw wrong("pairs: expected true or false, and true with a question with at_most");
  }
  const sizes = choose ?? groups.map((group) => group.length);
  const fits =
    Array.isArray(sizes) &&
    sizes.length === groups.length &&
    groups.every((group, i) => isWithin(sizes[i], 1, group.length));
  if (!fits) {
    throw wrong("choose: expected a number from 1 to all for each group of attributes");
  }
  if (!isWithin(weight, 1, MOST_WEIGHT)) {
    throw wrong(`weight: expected an integer from 1 to ${MOST_WEIGHT}`);
  }
  return { groups, sizes, weight: Number(weight), pairs };
}

/** The set with an option; undefined for other attributes.
 * @type {(schema: import("../schema.js").Schema, j: number) => import("../schema.js").Schema["sets"][number] | undefined} */
function setOf({ sets }, j) {
  return sets.find(({ positions }) => positions.includes(j));
}

/** Name of the first option of a set that is named in a view; other names are returned themselves.
 * @type {(name: unknown, schema: import("../schema.js").Schema) => unknown} */
function firstOf(name, schema) {
  const named = schema.sets.find((set) => set.name === name);
  if (named !== undefined) return schema.names[named.positions[0]];
  return setOf(schema, schema.names.indexOf(String(name))) ? undefined : name;
}

/** @type {(names: unknown, schema: import("../schema.js").Schema, field: string) => number[]} */
export function positionsOf(names, schema, field) {
  const positions = Array.isArray(names) ? names.map((name) => schema.names.indexOf(name)) : [];
  const isEmpty = positions.length === 0;
  if (isEmpty || positions.includes(-1) || new Set(positions).size < positions.length) {
    throw new SurveyError(`${field}: expected different names of attributes`, field);
  }
  return positions.sort((a, b) => a - b);
}

/** All views, class by class. Within a class, the subset of the last group changes fastest; subsets of a
 * group are in lexicographic order of their positions.
 * @typedef {{set: import("../schema.js").Schema["sets"][number], pairs: boolean}} AsSet
 * @type {(schema: import("../schema.js").Schema, classes: readonly ViewClass[],
 *   respond: (cells: number, asSet: AsSet | undefined) => Subset | SetOfOptions) => View[]} */
export function expand(schema, classes, respond) {
  const sizes = schema.shape.map(Number);
  const grouped = schema.attributes.map(({ groups }) => groups?.names.length ?? 0);
  const hasGroups = grouped.some(Boolean);
  /** @type {Map<string, Subset | SetOfOptions>} */
  const responses = new Map();
  /** @type {View[]} */
  const views = [];
  let until = 0;
  let first = 0;
  for (const { groups, sizes: chosen, weight, pairs } of classes) {
    /** Unions of one subset of each group; that of the last changes fastest.
     * @type {number[][]} */
    const unions = groups.reduce(
      (all, group, i) => {
        const choices = subsets(group, chosen[i]);
        return all.flatMap((before) => choices.map((positions) => [...before, ...positions]));
      },
      /** @type {number[][]} */ ([[]]),
    );
    for (const union of unions) {
      const [set, ...more] = union.flatMap((j) => setOf(schema, j) ?? []);
      if (more.length > 0) throw wrong("expected one question with at_most in each, or none");
      const options = set?.positions ?? NONE;
      const positions = union.flatMap((j) => setOf(schema, j)?.positions ?? [j]).sort((a, b) => a - b);
      const collapsed = hasGroups && positions.length > 1 ? positions.filter((j) => grouped[j]) : NONE;
      const shape = positions.map((j) => (collapsed.includes(j) ? grouped[j] : sizes[j]));
      const cells = shape.reduce((product, size, i) => (options.includes(positions[i]) ? product : product * size), 1);
      if (cells > MOST_CELLS) throw wrong(`expected at most ${MOST_CELLS} cells of each`);
      const key = JSON.stringify([cells, set?.name, pairs]);
      let response = responses.get(key);
      if (response === undefined) {
        response = respond(cells, set && { set, pairs });
        responses.set(key, response);
      }
      until += weight;
      views.push({ positions, shape, until, first, response: /** @type {any} */ (response), collapsed, options });
      first += response.symbols;
    }
  }
  if (first > MOST_SYMBOLS) throw wrong(`expected at most ${MOST_SYMBOLS} symbols of all`);
  return views;
}

/** All subsets of a size, in lexicographic order.
 * @type {(group: readonly number[], size: number) => number[][]} */
function subsets(group, size) {
  if (size === 0) return [[]];
  // The first member leaves enough others behind it.
  return group.slice(0, group.length - size + 1).flatMap((first, i) =>
    subsets(group.slice(i + 1), size - 1).map((others) => [first, ...others]),
  );
}

/** Number of subsets of a size; infinite if it is too large for a number.
 * @type {(all: number, size: number) => number} */
function choices(all, size) {
  let count = 1;
  for (let i = 1; i <= size; i += 1) count = (count * (all - size + i)) / i;
  return count;
}

/** @type {(value: unknown, least: number, most: number) => value is number} */
export function isWithin(value, least, most) {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
}

/** @param {string} what */
function wrong(what) {
  return new SurveyError(`views: ${what}`, "views");
}
