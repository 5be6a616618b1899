// What tests share: small surveys, known randomness, a collector and a storage that note all.

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

export function problem(status, detail = "no") {
  return json({ type: "about:blank", title: "", status, detail }, status);
}

/**
 * A collector that notes each request and counts each id once.
 *
 * Put functions into `trouble`: each answers one request for reports in the collector's place.
 */
export class Collector {
  constructor(document, digest) {
    this.document = document;
    this.digest = digest;
    this.requests = [];
    this.reports = new Map();
    this.trouble = [];
    this.fetch = this.fetch.bind(this);
  }

  async fetch(url, settings = {}) {
    this.requests.push({ url, ...settings, signal: undefined });
    if (settings.method !== "POST") {
      return json({ survey: this.document, digest: this.digest, status: "open" });
    }
    const trouble = this.trouble.shift();
    if (trouble !== undefined) return trouble(url, settings);
    const [{ id, values }] = JSON.parse(settings.body).reports;
    const duplicate = this.reports.has(id);
    this.reports.set(id, values);
    return json({ accepted: duplicate ? 0 : 1, duplicates: duplicate ? 1 : 0 }, 202);
  }

  /** What was posted, in order. */
  get posted() {
    const posts = this.requests.filter(({ method }) => method === "POST");
    return posts.map(({ body }) => JSON.parse(body));
  }
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
