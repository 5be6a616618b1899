// Shared helpers: small surveys, known random bytes, and a recording collector and storage.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";

import { toHex } from "../../client/halftruth_client/js/bytes.js";
import { Client, Survey } from "../../client/halftruth_client/js/index.js";

export const ADDRESS = "https://collector.example";

/** Fill arrays from hexadecimal bytes; fails when they are used up. */
export function knownBytes(text) {
  const all = Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  let position = 0;
  const fill = (bytes) => {
    if (position + bytes.length > all.length) throw new RangeError("no bytes are left");
    bytes.set(all.subarray(position, position + bytes.length));
    position += bytes.length;
  };
  fill.consumed = () => position;
  return fill;
}

/** Return a survey as collectors publish it, with attributes a0, a1, … and categories c0, c1, … */
export function surveyOf(shape, mechanism, more = {}) {
  const attributes = shape.map((size, j) => ({
    name: `a${j}`,
    categories: Array.from({ length: size }, (_, code) => `c${code}`),
  }));
  return { id: "health", title: "Health", attributes, mechanism, ...more };
}

/** Return an object of values by attribute name. */
export function byName(values) {
  return Object.fromEntries(values.map((value, j) => [`a${j}`, value]));
}

/** Return all records of a shape, the last column fastest. */
export function cells(shape) {
  return shape.reduce(
    (rows, size) => rows.flatMap((row) => Array.from({ length: size }, (_, v) => [...row, v])),
    [[]],
  );
}

/** Return a collector's JSON response. */
export function json(content, status = 200) {
  const type = status < 400 ? "application/json" : "application/problem+json";
  return new Response(JSON.stringify(content), { status, headers: { "Content-Type": type } });
}

export function problem(status, detail = "no", field = undefined) {
  return json({ type: "about:blank", title: "", status, detail, field }, status);
}

/**
 * A collector that records each request and counts each id once.
 *
 * Each function in `trouble` answers one request for reports in the collector's place.
 */
export class Collector {
  constructor(document, digest, published = {}) {
    this.document = document;
    this.digest = digest;
    /** Terms and signature, if any. */
    this.published = published;
    /** Answer to every check of an invitation. */
    this.unspent = true;
    this.requests = [];
    this.reports = new Map();
    /** Tickets, as they were issued; or the answer in place of one. */
    this.issued = [];
    this.noTickets = undefined;
    this.trouble = [];
    this.fetch = this.fetch.bind(this);
  }

  async fetch(url, settings = {}) {
    this.requests.push({ url, ...settings, signal: undefined });
    if (settings.method !== "POST") {
      const { document: survey, digest, published } = this;
      return json({ survey, digest, status: "open", ...published });
    }
    if (url.endsWith("/invitations/check")) return json({ unspent: this.unspent });
    if (url.endsWith("/tickets")) {
      if (this.noTickets) return this.noTickets(url, settings);
      const issued = toHex(crypto.getRandomValues(new Uint8Array(48)));
      this.issued.push(issued);
      return json({ tickets: [issued] }, 201);
    }
    const trouble = this.trouble.shift();
    if (trouble !== undefined) return trouble(url, settings);
    const [{ id, values, sealed }] = JSON.parse(settings.body).reports;
    const duplicate = this.reports.has(id);
    this.reports.set(id, values ?? sealed);
    return json({ accepted: duplicate ? 0 : 1, duplicates: duplicate ? 1 : 0 }, 202);
  }

  /** Ask another survey from now on. */
  async publish(document) {
    this.document = document;
    this.digest = await new Survey(document).digest();
  }

  /** What was posted, in order. */
  get posted() {
    const posts = this.requests.filter(({ method }) => method === "POST");
    return posts.map(({ body }) => JSON.parse(body));
  }
}

/** Return an operator with a new key. */
export function newOperator() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
  return {
    key,
    /** What a collector publishes of these terms, signed. */
    publish: (digest, { invitations = false, sealing_key = null, ...more } = {}) => {
      const signed = JSON.stringify({ digest, invitations, sealing_key, ...more });
      const value = sign(null, Buffer.from(`halftruth survey 1\n${signed}`), privateKey);
      const signature = { key, value: value.toString("hex") };
      return { terms: { invitations, sealing_key, ...more }, signature };
    },
  };
}

/**
 * Let `crypto.subtle` fail for an algorithm, as in browsers that lack it.
 *
 * Returns a function that restores it.
 */
export function withoutAlgorithm(missing) {
  const { subtle } = crypto;
  const names = (argument) => argument === missing || argument?.name === missing;
  const lacking = new Proxy(subtle, {
    get: (_, method) => async (...args) => {
      if (args.some(names)) throw new DOMException("Unrecognized name.", "NotSupportedError");
      return subtle[method](...args);
    },
  });
  Object.defineProperty(crypto, "subtle", { value: lacking, configurable: true });
  return () => delete crypto.subtle;
}

/** Return the vectors of a file of tests/vectors, and the invalid ones. */
export function readVectors(name) {
  const file = new URL(`../vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf-8"));
}

/** A browser storage that records writes, and can be made to fail. */
export class FakeStorage {
  constructor() {
    this.items = new Map();
    this.written = [];
    this.fails = () => false;
  }

  get length() {
    return this.items.size;
  }

  key(index) {
    return [...this.items.keys()][index] ?? null;
  }

  /** The reports that are remembered. */
  get reports() {
    const kept = [...this.items].filter(([key]) => key.startsWith("halftruth:"));
    return kept.map(([, text]) => JSON.parse(text));
  }

  getItem(key) {
    if (this.fails("getItem")) throw new DOMException("denied", "SecurityError");
    return this.items.get(key) ?? null;
  }

  setItem(key, text) {
    if (this.fails("setItem")) throw new DOMException("full", "QuotaExceededError");
    this.written.push([key, text]);
    this.items.set(key, String(text));
  }

  removeItem(key) {
    this.items.delete(key);
  }
}

/** Create a collector, a storage and a client; `open` creates further clients of both. */
export async function setUp(document, { published = {}, ...options } = {}) {
  const collector = new Collector(document, await new Survey(document).digest(), published);
  const storage = new FakeStorage();
  // Unperturbed answers need a pinned survey.
  const digests = options.unprotected?.length > 0 ? [collector.digest] : undefined;
  const given = { maxGamma: "19", digests, storage, fetch: collector.fetch, retries: 0, backoff: 0 };
  const open = (more = {}) => new Client(ADDRESS, { ...given, ...options, ...more });
  return { collector, storage, open, client: open() };
}

export const away = () => {
  throw new TypeError("fetch failed");
};

// Fractions, independent of the client: pairs of integers.

const add = ([a, b], [c, d]) => (b === d ? [a + c, b] : [a * d + c * b, b * d]);
export const multiply = ([a, b], [c, d]) => [a * c, b * d];
const equal = ([a, b], [c, d]) => a * d === c * b;
export const fraction = (text) => {
  const [a, b = "1"] = text.split("/");
  return [BigInt(a), BigInt(b)];
};

/** Return the probability of each report of a record, by enumerating all draws. */
export function distribution(survey, record, first) {
  const found = new Map();
  const path = [];
  for (;;) {
    let depth = 0;
    let ways = 1n;
    const values = survey.perturb(record, (k) => {
      const fixed = depth === 0 && first !== undefined;
      path[depth] ??= { k, value: fixed ? first : 0n, last: fixed ? first : k - 1n };
      assert.equal(path[depth].k, k, "the same draws before lead to the same bound");
      if (!fixed) ways *= k;
      return path[depth++].value;
    });
    assert.equal(depth, path.length);
    const key = values.join();
    found.set(key, add(found.get(key) ?? [0n, ways], [1n, ways]));
    while (path.length > 0 && path.at(-1).value === path.at(-1).last) path.pop();
    if (path.length === 0) return found;
    path.at(-1).value += 1n;
  }
}

/**
 * Assert that the enumerated probabilities of report v for the true record u are those of a matrix.
 *
 * Reports are records unless others are given; the first draw may be fixed.
 */
export function assertChannel(document, probability, { reports: all, first } = {}) {
  const survey = new Survey(document);
  const shape = document.attributes.map(({ categories }) => categories.length);
  for (const u of cells(shape)) {
    const found = distribution(survey, byName(u.map((code) => `c${code}`)), first);
    let reports = 0;
    for (const v of all ?? cells(shape)) {
      const expected = probability(v, u);
      const walked = found.get(v.join()) ?? [0n, 1n];
      assert.ok(equal(walked, expected), `report ${v} of ${u}: ${walked} for ${expected}`);
      if (expected[0] > 0n) reports += 1;
    }
    assert.equal(found.size, reports, "reports outside the shape");
  }
}
