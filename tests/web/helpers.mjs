// What tests share: small surveys, known randomness, a collector and a storage that note all.

import { readFileSync } from "node:fs";

/** Fill arrays from bytes in hexadecimal; fails where none are left. */
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

/** A survey as collectors publish it, with attributes a0, a1, … and categories c0, c1, … */
export function surveyOf(shape, mechanism, more = {}) {
  const attributes = shape.map((size, j) => ({
    name: `a${j}`,
    categories: Array.from({ length: size }, (_, code) => `c${code}`),
  }));
  return { id: "health", title: "Health", attributes, mechanism, ...more };
}

/** Each value under its attribute's name. */
export function byName(values) {
  return Object.fromEntries(values.map((value, j) => [`a${j}`, value]));
}

/** All records of a shape, the last column fastest. */
export function cells(shape) {
  return shape.reduce(
    (rows, size) => rows.flatMap((row) => Array.from({ length: size }, (_, v) => [...row, v])),
    [[]],
  );
}

/** An answer in JSON, as a collector gives it. */
export function json(content, status = 200) {
  const type = status < 400 ? "application/json" : "application/problem+json";
  return new Response(JSON.stringify(content), { status, headers: { "Content-Type": type } });
}

export function problem(status, detail = "no", field = undefined) {
  return json({ type: "about:blank", title: "", status, detail, field }, status);
}

/**
 * A collector that notes each request and counts each id once.
 *
 * Put functions into `trouble`: each answers one request for reports in the collector's place.
 */
export class Collector {
  constructor(document, digest, published = {}) {
    this.document = document;
    this.digest = digest;
    /** Terms and signature, where there are any. */
    this.published = published;
    this.requests = [];
    this.reports = new Map();
    this.trouble = [];
    this.fetch = this.fetch.bind(this);
  }

  async fetch(url, settings = {}) {
    this.requests.push({ url, ...settings, signal: undefined });
    if (settings.method !== "POST") {
      const { document: survey, digest, published } = this;
      return json({ survey, digest, status: "open", ...published });
    }
    const trouble = this.trouble.shift();
    if (trouble !== undefined) return trouble(url, settings);
    const [{ id, values, sealed }] = JSON.parse(settings.body).reports;
    const duplicate = this.reports.has(id);
    this.reports.set(id, values ?? sealed);
    return json({ accepted: duplicate ? 0 : 1, duplicates: duplicate ? 1 : 0 }, 202);
  }

  /** What was posted, in order. */
  get posted() {
    const posts = this.requests.filter(({ method }) => method === "POST");
    return posts.map(({ body }) => JSON.parse(body));
  }
}

/**
 * Let `crypto.subtle` fail where an algorithm is named, as browsers do that do not know it.
 *
 * The value restores it.
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

/** The vectors of a file of tests/vectors, and those that must be refused. */
export function readVectors(name) {
  const file = new URL(`../vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf-8"));
}

/** A browser's storage that notes what is written, and throws once it is told to. */
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
