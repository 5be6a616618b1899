/**
 * Split questionnaire: each report is about a few questions, drawn before they are answered. It is one
 * symbol, γ times as likely for some combinations of answers as for the others.
 */

import { ParameterError, SurveyError } from "../errors.js";
import { ONE, Rational } from "../rational.js";
import { least, most, twoLikelihoods } from "./base.js";
import { otherValue } from "./columns.js";
import {
  coordinates, digits, isPrime, pointOf, pointOfCell, scalar, solveCoordinate,
} from "./projective.js";
import { expand, isWithin, positionsOf, readClasses } from "./views.js";

const MOST_PRIME = 65_521;
const MOST_DIRECT = 2 ** 20;

/**
 * @import { Mechanism } from "./base.js"
 * @import { Response, View } from "./views.js"
 */

export class SplitQuestionnaire {
  static kind = "split-questionnaire";
  static members = ["gamma", "prime", "direct", "views", "public", "tables"];

  /** @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema */
  constructor({ gamma, prime, direct, views, public: unperturbed = [] }, schema) {
    this.schema = schema;
    this.gamma = Rational.parse(gamma, "gamma");
    if (this.gamma.compare(ONE) <= 0) {
      throw new SurveyError("gamma: expected an amplification above 1", "gamma");
    }
    this.prime = Number(prime);
    if (!isWithin(prime, 2, MOST_PRIME) || !isPrime(this.prime)) {
      throw new SurveyError(`prime: expected a prime up to ${MOST_PRIME}`, "prime");
    }
    this.direct = Number(direct);
    if (!isWithin(direct, 2, MOST_DIRECT)) {
      throw new SurveyError(`direct: expected an integer from 2 to ${MOST_DIRECT}`, "direct");
    }
    const none = Array.isArray(unperturbed) && unperturbed.length === 0;
    /** Positions of the attributes that are sent unperturbed. */
    this.public = none ? [] : positionsOf(unperturbed, schema, "public");
    const sensitive = this.public.find((j) => schema.attributes[j].sensitive !== false);
    if (sensitive !== undefined) {
      throw new SurveyError(
        `public: '${schema.names[sensitive]}' would be sent unperturbed; expected attributes with` +
          " sensitive = false",
        "public",
      );
    }
    const classes = readClasses(views, schema, this.public);
    this.views = expand(schema, classes, this.prime, this.direct);
    const { first, response } = this.views[this.views.length - 1];
    /** @type {import("./base.js").ReportSpace} */
    this.reportSpace = {
      names: [...this.public.map((j) => schema.names[j]), "(symbol)"],
      shape: [...this.public.map((j) => schema.shape[j]), BigInt(first + response.symbols)],
    };
  }

  /** @param {ReadonlySet<string>} known */
  amplification(known) {
    const { names } = this.schema;
    if (this.public.some((j) => !known.has(names[j]))) return null;
    return names.every((name) => known.has(name)) ? ONE : this.gamma;
  }

  /** @type {NonNullable<Mechanism["drawView"]>} */
  drawView(below) {
    const last = this.views[this.views.length - 1];
    const drawn = Number(below(BigInt(last.until)));
    return this.views.findIndex(({ until }) => drawn < until);
  }

  /** @type {NonNullable<Mechanism["asked"]>} */
  asked(view) {
    const { positions } = this.#viewOf(view);
    return this.schema.names.filter((_, j) => positions.includes(j) || this.public.includes(j));
  }

  /** @param {number} number */
  #viewOf(number) {
    const view = this.views[number];
    if (view === undefined) {
      throw new ParameterError(
        `view: expected an integer from 0 to ${this.views.length - 1}`,
        "view",
      );
    }
    return view;
  }

  /** @type {Mechanism["perturb"]} */
  perturb(codes, below, view = this.drawView(below)) {
    const drawn = this.#viewOf(view);
    const { first, response } = drawn;
    const symbol = this.#symbolFor(cellOf(codes, drawn), response, below);
    return [...this.public.map((j) => codes[j]), first + symbol];
  }

  /** @type {(cell: number, response: Response, below: import("../sampling.js").RandomBelow) => number} */
  #symbolFor(cell, { symbols, subsetSize, dimension }, below) {
    const { numerator, denominator } = this.gamma;
    const own = numerator * BigInt(subsetSize);
    const draw = below(own + denominator * BigInt(symbols - subsetSize));
    const isOwn = draw < own;
    const place = Number(isOwn ? draw / numerator : (draw - own) / denominator);
    if (dimension === 0) return isOwn ? cell : otherValue(place, cell);
    // An orthogonal point is given by all coordinates but the pivot, which follows from ⟨u,y⟩ = 0.
    // Every other point has one vector with ⟨u,y⟩ = 1, found in the same way.
    const others = (isOwn ? coordinates : digits)(place, this.prime, dimension - 1);
    const point = coordinates(pointOfCell(cell, symbols), this.prime, dimension);
    return pointOf(solveCoordinate(point, others, isOwn ? 0 : 1, this.prime), this.prime);
  }

  /** @type {Mechanism["likelihoods"]} */
  likelihoods(values, codes) {
    const code = values[values.length - 1];
    const view = this.#viewWith(code);
    const { first, response } = view;
    const own = cellOf(codes, view);
    /** @type {Set<boolean>} */
    const kinds = new Set();
    for (let cell = 0; cell < response.cells && kinds.size < 2; cell += 1) {
      if (cell !== own) kinds.add(this.#isOwn(code - first, cell, response));
    }
    const fits = this.#isOwn(code - first, own, response);
    return twoLikelihoods(fits, [...kinds], this.gamma, this.#chance(response));
  }

  /** Probability of each symbol outside the subset of a cell.
   * @type {(response: Response) => Rational} */
  #chance({ symbols, subsetSize }) {
    const own = this.gamma.times(new Rational(BigInt(subsetSize)));
    return ONE.over(own.plus(new Rational(BigInt(symbols - subsetSize))));
  }

  /** @type {Mechanism["fit"]} */
  fit(view) {
    const views = view === undefined ? this.views : [this.#viewOf(view)];
    const responses = [...new Set(views.map(({ response }) => response))];
    const chances = responses.map((response) =>
      this.gamma.times(new Rational(BigInt(response.subsetSize))).times(this.#chance(response)),
    );
    return { least: least(chances), most: most(chances) };
  }

  /** @type {Mechanism["practice"]} */
  practice(view) {
    const { response } = this.#viewOf(view ?? 0);
    // Before the view is drawn, the probability is unknown if views have different sizes.
    if (view === undefined && this.views.some((other) => other.response !== response)) return null;
    return {
      size: response.cells,
      draw: (code, below) => this.#symbolFor(code, response, below),
      fits: (code, sent) => this.#isOwn(sent, code, response),
      chance: () => this.fit(view).least,
      isCode: response.dimension > 0,
    };
  }

  /** @param {number} code Code of a symbol. */
  #viewWith(code) {
    const view = this.views.find(({ first, response }) => code < first + response.symbols);
    if (view === undefined) throw new ParameterError("values: expected a report", "values");
    return view;
  }

  /** @type {Mechanism["contents"]} */
  contents(values) {
    const code = values[values.length - 1];
    const { positions, first, response } = this.#viewWith(code);
    const cells = Array.from({ length: response.cells }, (_, cell) => cell);
    const likelier = cells.filter((cell) => this.#isOwn(code - first, cell, response)).length;
    return {
      codes: this.public.map((j, i) => [j, values[i], null]),
      symbol: { code, positions, likelier, combinations: response.cells },
    };
  }

  /** @type {(symbol: number, cell: number, response: Response) => boolean} */
  #isOwn(symbol, cell, { symbols, dimension }) {
    if (dimension === 0) return symbol === cell;
    const point = coordinates(pointOfCell(cell, symbols), this.prime, dimension);
    return scalar(point, coordinates(symbol, this.prime, dimension)) % this.prime === 0;
  }
}

/** @type {(codes: readonly number[], view: View) => number} */
function cellOf(codes, { positions, shape }) {
  return positions.reduce((sum, j, i) => sum * shape[i] + codes[j], 0);
}
