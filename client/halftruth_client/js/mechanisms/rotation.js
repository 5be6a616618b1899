/**
 * Rotation of views over the waves of a series, so that a question comes back as late as possible,
 * and each wave alone has the published weights; *Rotation* in docs/protocol.md.
 */

/** Most turns of a cycle. */
const MOST_TURNS = 64;

/** Deviations of blocks are compared in this many parts, so that they stay integers. */
const PARTS = 2520;

/**
 * Views with so many attributes of each block, and the number of each by its positions.
 *
 * @typedef {{taken: number[], weight: number, numbers: Map<string, number>}} Kind
 *
 * What a device draws once for a series: start of the sample and first turn, and then the order of
 * each block. It is plain numbers, to be kept as JSON.
 *
 * @typedef {readonly (readonly number[])[]} Drawn
 */

export class Rotation {
  /** @type {number[][]} Positions of attributes that all classes of views treat alike. */
  #blocks;
  /** @type {Kind[]} */
  #kinds;
  /** @type {number[]} Weights of the kinds up to each, in lowest terms. */
  #until = [];

  /**
   * @param {readonly import("./views.js").ViewClass[]} classes
   * @param {readonly import("./views.js").View[]} views
   */
  constructor(classes, views) {
    /** @type {Map<string, number[]>} */
    const roles = new Map();
    for (const j of new Set(classes.flatMap(({ groups }) => groups.flat()).sort((a, b) => a - b))) {
      const role = classes.map(({ groups }) => groups.findIndex((group) => group.includes(j)));
      roles.set(`${role}`, [...(roles.get(`${role}`) ?? []), j]);
    }
    this.#blocks = [...roles.values()];
    this.#kinds = this.#kindsOf(views);
    const common = this.#kinds.map(({ weight }) => weight).reduce(divisor);
    let until = 0;
    for (const { weight } of this.#kinds) this.#until.push((until += weight / common));
    this.turns = Math.min(until, MOST_TURNS);
  }

  /**
   * Kinds in the order of their first views. Classes may have views of the same positions: the
   * first of each is of one kind, and so on.
   *
   * @param {readonly import("./views.js").View[]} views
   */
  #kindsOf(views) {
    /** @type {Map<string, number>} */
    const earlier = new Map();
    /** @type {Map<string, Kind>} */
    const kinds = new Map();
    const blockOf = new Map(this.#blocks.flatMap((block, b) => block.map((j) => [j, b])));
    views.forEach(({ positions, until }, number) => {
      const weight = until - (views[number - 1]?.until ?? 0);
      const taken = this.#blocks.map(() => 0);
      for (const j of positions) taken[/** @type {number} */ (blockOf.get(j))] += 1;
      const asked = `${positions}`;
      const again = earlier.get(asked) ?? 0;
      earlier.set(asked, again + 1);
      const name = `${taken};${again}`;
      const kind = kinds.get(name) ?? { taken, weight: 0, numbers: new Map() };
      kind.weight += weight;
      kind.numbers.set(asked, number);
      kinds.set(name, kind);
    });
    return [...kinds.values()];
  }

  /** What rotations of the same positions by the same weights have in common. */
  get text() {
    return JSON.stringify([this.#blocks, this.#kinds.map(({ taken }) => taken), this.#until]);
  }

  /**
   * Draw a cycle and the order of each block, before anything is answered.
   *
   * @param {import("../sampling.js").RandomBelow} below
   * @returns {Drawn}
   */
  draw(below) {
    const draw = (/** @type {number} */ k) => Number(below(BigInt(k)));
    const cycle = [draw(this.#until[this.#until.length - 1]), draw(this.turns)];
    const orders = this.#blocks.map((block) => {
      const order = [...block];
      for (let i = order.length - 1; i > 0; i -= 1) {
        const j = draw(i + 1);
        [order[i], order[j]] = [order[j], order[i]];
      }
      return order;
    });
    return [cycle, ...orders];
  }

  /**
   * Number of the view of a wave.
   *
   * @param {Drawn} drawn
   * @param {number} wave From 1.
   * @returns {number}
   */
  view([[sample, first], ...orders], wave) {
    const cycle = this.#cycle(sample);
    const turns = Array.from({ length: wave }, (_, i) => cycle[(first + i) % cycle.length]);
    const kind = turns[wave - 1];
    const dealt = orders.flatMap((order, b) => {
      const before = turns.slice(0, -1).reduce((sum, { taken }) => sum + taken[b], 0);
      return Array.from({ length: kind.taken[b] }, (_, i) => order[(before + i) % order.length]);
    });
    return /** @type {number} */ (kind.numbers.get(`${dealt.sort((a, b) => a - b)}`));
  }

  /**
   * Kinds of the sample that begins there, each next the one that leaves blocks most even.
   *
   * @param {number} sample
   * @returns {Kind[]}
   */
  #cycle(sample) {
    const { turns } = this;
    const total = BigInt(this.#until[this.#until.length - 1]);
    const left = this.#kinds.map(() => 0);
    for (let i = 0; i < turns; i += 1) {
      const place = (BigInt(sample) + BigInt(i) * total) / BigInt(turns);
      left[this.#until.findIndex((until) => place < until)] += 1;
    }
    const kinds = this.#kinds.flatMap((kind, k) => (left[k] > 0 ? [{ kind, left: left[k] }] : []));
    const steps = kinds.map(({ kind: { taken } }) =>
      taken.map((own, b) => kinds.reduce((sum, { kind, left }) => sum + left * (own - kind.taken[b]), 0)),
    );
    const parts = this.#blocks.map((block) => Math.floor(PARTS / block.length));
    let ahead = parts.map(() => 0);
    return Array.from({ length: turns }, () => {
      const uneven = steps.map((step, k) =>
        kinds[k].left === 0
          ? Infinity
          : parts.reduce((sum, part, b) => sum + part * (ahead[b] + step[b]) ** 2, 0),
      );
      const chosen = uneven.indexOf(Math.min(...uneven));
      kinds[chosen].left -= 1;
      ahead = ahead.map((value, b) => value + steps[chosen][b]);
      return kinds[chosen].kind;
    });
  }
}

/** @type {(a: number, b: number) => number} */
function divisor(a, b) {
  return b === 0 ? a : divisor(b, a % b);
}
