// The split questionnaire: enumeration of all draws, refusals, promises, and the client's draw of
// a view.

import assert from "node:assert/strict";
import { test } from "node:test";

import { receipt } from "../../client/halftruth_client/js/form/receipt.js";
import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { Survey } from "../../client/halftruth_client/js/index.js";
import { pack } from "../../client/halftruth_client/js/sealing.js";
import { assertChannel, away, byName, cells, fraction, multiply, setUp, surveyOf } from "./helpers.mjs";

/** Return a survey with views [weight, groups, choose]; public attributes are not sensitive. */
function split(shape, views, { gamma = "19", prime = 2, direct = 2, as_it_is = [] } = {}) {
  const document = surveyOf(shape, {
    kind: "split-questionnaire",
    gamma,
    prime,
    direct,
    views: views.map(([weight, groups, choose]) => ({
      attributes: groups.map((group) => group.map((j) => `a${j}`)),
      ...(choose && { choose }),
      weight,
    })),
    ...(as_it_is.length > 0 && { public: as_it_is.map((j) => `a${j}`) }),
  });
  for (const j of as_it_is) document.attributes[j].sensitive = false;
  return document;
}

// Up to `channelOf`, everything is computed from docs/protocol.md alone, by counting.

/** Return all points of a length, ordered by the position of their first 1. */
function pointsOf(q, length) {
  const vectors = cells(Array(length).fill(q)).filter((v) => v.find((entry) => entry > 0) === 1);
  const place = (v) => v.findIndex((entry) => entry > 0);
  return vectors.sort((a, b) => place(a) - place(b) || (a.join() < b.join() ? -1 : 1));
}

/** Return the symbols that belong to each cell, and the number of all. */
function responseOf(n, q, direct) {
  if (n <= direct) return { own: Array.from({ length: n }, (_, u) => [u]), symbols: n };
  let length = 3;
  while ((q ** length - 1) / (q - 1) < n) length += 1;
  const points = pointsOf(q, length);
  const isPrime = (k) => Array.from({ length: k - 2 }, (_, i) => i + 2).every((d) => k % d > 0);
  let m = Math.max(5, points.length);
  while (!isPrime(m) || m % 3 !== 2) m += 1;
  const own = Array.from({ length: n }, (_, u) => {
    let x = u;
    do x = Number(BigInt(x + Math.floor(m / 3)) ** 3n % BigInt(m));
    while (x >= points.length);
    const product = (y) => y.reduce((sum, entry, j) => sum + entry * points[x][j], 0);
    return points.flatMap((y, number) => (product(y) % q === 0 ? [number] : []));
  });
  assert.equal(new Set(own.map(String)).size, n, "each cell has a point of its own");
  return { own, symbols: points.length };
}

/** Return P(report | record) for views given as [weight, positions], and all reports. */
function channelOf(shape, views, { gamma = "19", prime = 2, direct = 2, as_it_is = [] }) {
  const [a, b] = fraction(gamma);
  const weights = views.reduce((sum, [weight]) => sum + BigInt(weight), 0n);
  const rows = [];
  for (const [weight, positions] of views) {
    const sizes = positions.map((j) => shape[j]);
    const { own, symbols } = responseOf(cells(sizes).length, prime, direct);
    const k = BigInt(own[0].length);
    assert.ok(own.every((found) => found.length === own[0].length));
    const total = a * k + b * (BigInt(symbols) - k);
    const cellOf = (u) => positions.reduce((sum, j, i) => sum * sizes[i] + u[j], 0);
    for (let y = 0; y < symbols; y += 1) {
      rows.push((u) =>
        multiply([BigInt(weight), weights], [own[cellOf(u)].includes(y) ? a : b, total]),
      );
    }
  }
  const known = cells(as_it_is.map((j) => shape[j]));
  const reports = known.flatMap((codes) => rows.map((_, symbol) => [...codes, symbol]));
  const probability = (v, u) =>
    as_it_is.every((j, i) => v[i] === u[j]) ? rows[v[as_it_is.length]](u) : [0n, 1n];
  return { reports, probability };
}

const WALKS = [
  ["one question in one view", [3], [[1, [[0]]]], [[1, [0]]], { direct: 3 }],
  ["the seven points of the smallest plane", [7], [[1, [[0]]]], [[1, [0]]], { gamma: "3" }],
  ["a plane of 13 points for 6 cells", [2, 3], [[1, [[0, 1]]]], [[1, [0, 1]]], { prime: 3 }],
  ["a space of 15 points", [2, 2, 3], [[1, [[0, 1, 2]]]], [[1, [0, 1, 2]]], { gamma: "19/2" }],
  ["a space of 40 points", [5, 4], [[2, [[1, 0]]]], [[2, [0, 1]]], { gamma: "8/7", prime: 3 }],
  ["four dimensions more", [17], [[1, [[0]]]], [[1, [0]]], { gamma: "5/3" }],
  [
    "pairs of three, and each alone",
    [2, 2, 3],
    [[3, [[0, 1, 2]], [2]], [2, [[2, 0, 1]], [1]]],
    [[3, [0, 1]], [3, [0, 2]], [3, [1, 2]], [2, [0]], [2, [1]], [2, [2]]],
    { gamma: "7/2", direct: 4 },
  ],
  [
    "one of two and two of three",
    [2, 2, 2, 2, 2],
    [[1, [[4, 1], [0, 2, 3]], [1, 2]]],
    [
      [1, [0, 1, 2]],
      [1, [0, 1, 3]],
      [1, [1, 2, 3]],
      [1, [0, 2, 4]],
      [1, [0, 3, 4]],
      [1, [2, 3, 4]],
    ],
    { gamma: "2", direct: 4 },
  ],
  [
    "public answers beside it",
    [2, 3, 2],
    [[1, [[1]]]],
    [[1, [1]]],
    { as_it_is: [0, 2], direct: 2, gamma: "19/4" },
  ],
];

for (const [what, shape, classes, views, how] of WALKS) {
  test(`the enumerated outcomes match the channel: ${what}`, () => {
    const { reports, probability } = channelOf(shape, views, how);
    assertChannel(split(shape, classes, how), probability, { reports });
  });
}

test("a view is drawn by its weight, and a report about it needs no other answer", () => {
  const views = [[3, [0, 1]], [3, [0, 2]], [3, [1, 2]], [2, [0]], [2, [1]], [2, [2]]];
  const how = { gamma: "7/2", direct: 4 };
  const document = split([2, 2, 3], [[3, [[0, 1, 2]], [2]], [2, [[0, 1, 2]], [1]]], how);
  const survey = new Survey(document);
  const drawn = Array.from({ length: 15 }, (_, i) => survey.drawView(() => BigInt(i)));
  assert.deepEqual(drawn, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5]);
  const { reports, probability } = channelOf([2, 2, 3], views, how);
  views.forEach(([weight, positions], view) => {
    assert.deepEqual(survey.asked(view), positions.map((j) => `a${j}`));
    for (const u of cells([2, 2, 3])) {
      const asked = Object.fromEntries(positions.map((j) => [`a${j}`, `c${u[j]}`]));
      const found = new Map();
      let bound;
      for (let i = 0n; i < (bound ?? 1n); i += 1n) {
        const [symbol] = survey.perturb(asked, (k) => ((bound = k), i), view);
        found.set(symbol, (found.get(symbol) ?? 0n) + 1n);
      }
      for (const [symbol, ways] of found) {
        const [p, of] = probability([symbol], u);
        // This probability includes that of the view.
        assert.equal(ways * of * BigInt(weight), p * 15n * bound);
      }
      const sum = [...found.values()].reduce((all, ways) => all + ways);
      assert.equal(sum, bound);
    }
  });
  for (const view of [-1, 6, 0.5]) assert.throws(() => survey.asked(view), { field: "view" });
});

test("the last of ten thousand views and of many cells is found", () => {
  const many = split(Array(40).fill(4), [[7, [Array.from({ length: 40 }, (_, j) => j)], [3]]], {
    prime: 19,
    direct: 28,
  });
  const survey = new Survey(many);
  assert.equal(survey.mechanism.views.length, 9880);
  assert.deepEqual(survey.asked(survey.drawView((k) => k - 1n)), ["a37", "a38", "a39"]);
  const large = new Survey(split(Array(20).fill(2), [[1, [[...Array(20).keys()]]]], { prime: 65521 }));
  assert.equal(large.mechanism.reportSpace.shape[0], 65521n ** 2n + 65521n + 1n);
  const [symbol] = large.perturb(byName(Array(20).fill("c1")), (k) => k - 1n);
  assert.deepEqual([...pack([symbol], large.mechanism.reportSpace.shape)].length, 4);
});

const good = split([2, 3, 2], [[1, [[0, 1]]]], { as_it_is: [2] });

const REFUSED = [
  ["prime", { prime: 4 }],
  ["prime", { prime: 65537 }],
  ["direct", { direct: 2 ** 20 + 1 }],
  ["public", { public: ["a2", "a2"] }],
  ["public", { public: ["a0"] }],
  ["lengths", { lengths: { 1: 1 } }],
  ["views", { views: [{ attributes: [["a0", "a1", "a0"]], weight: 1 }] }],
  ["views", { views: [{ attributes: [["a0"], ["a1", "a0"]], weight: 1 }] }],
  ["views", { views: [{ attributes: [["a0", "a1", "a2"]], weight: 1 }] }],
  ["views", { views: [{ attributes: [["a0"]], weight: 1 }] }],
  ["views", { views: [{ attributes: [["a0", "a1"]], weight: 2 ** 32 }] }],
  ["views", { views: [{ attributes: [["a0", "a1"]], choose: [3], weight: 1 }] }],
  ["views", { views: [{ attributes: [["a0", "a1"]], choose: [1, 1], weight: 1 }] }],
];

for (const [field, change] of REFUSED) {
  test(`refused: ${JSON.stringify(change)}`, () => {
    assert.ok(new Survey(good));
    const mechanism = { ...good.mechanism, ...change };
    assert.throws(() => new Survey({ ...good, mechanism }), { name: "SurveyError", field });
  });
}

test("too many views, cells or symbols are refused before enumeration", () => {
  const all = [...Array(60).keys()];
  const wide = (views, how) => () => new Survey(split(Array(60).fill(2), views, how));
  const error = (message) => ({ name: "SurveyError", field: "views", message });
  assert.throws(wide([[1, [all], [20]]]), error("views: expected 1 to 131072 of them"));
  assert.throws(wide([[1, [all]]]), error("views: expected at most 1048576 cells of each"));
  const symbols = error("views: expected at most 4294967295 symbols of all");
  assert.throws(wide([[1, [all], [2]]], { prime: 65521 }), symbols);
});

test("unperturbed questions have no bound unless excluded, and then γ is 1", () => {
  const { mechanism } = new Survey(good);
  assert.equal(mechanism.amplification(new Set(["a0", "a1"])), null);
  assert.equal(String(mechanism.amplification(new Set(["a0", "a1", "a2"]))), "1");
});

/** Lines of the receipt between the frequency and the posterior. */
const told = (survey, values) => receipt(survey, { values, sent: true }, new Wording()).slice(1, -1);

test("a receipt lists the view, and names the likelier answers if they are few", () => {
  const one = split([2, 3, 2], [[1, [[0, 1]], [1]]], { as_it_is: [2], direct: 3, gamma: "19/2" });
  one.attributes[1].label = "How often?";
  const survey = new Survey(one);
  assert.deepEqual(told(survey, [1, 4]), [
    { label: "a2", value: "c1\nsent exactly as answered, without protection" },
    { label: "Your report is also about this one of the 2 other questions", value: "How often?" },
    {
      label: "What your report says about them (whether that fits your answers was decided at random by this device)",
      value: "How often? – c2",
    },
    {
      label: "Sent as code 4.",
      value: "This report is sent more often with 1 of the 3 possible combinations of answers than with the others.",
      isDetail: true,
    },
  ]);
  const plane = new Survey(split([4, 5], [[1, [[0, 1]]]], { prime: 3 }));
  const { own, symbols } = responseOf(20, 3, 2);
  const counts = new Set();
  for (let y = 0; y < symbols; y += 1) {
    const likelier = own.flatMap((symbols, u) => (symbols.includes(y) ? [`• c${Math.floor(u / 5)}, c${u % 5}`] : []));
    const [about, says, code] = told(plane, [y]);
    assert.equal(about.value, "a0\na1");
    const count = `This report is sent more often with ${likelier.length} of the 20 possible combinations of answers than with the others.`;
    assert.equal(code.value, count);
    assert.equal(says.value, likelier.length <= 6 ? ["one of these combinations:", ...likelier].join("\n") : count);
    counts.add(likelier.length);
  }
  // Some are named, and some are too many.
  assert.ok(Math.min(...counts) <= 6 && Math.max(...counts) > 6, [...counts].join());
});

for (const pairs of [false, true]) {
  test(`a receipt about options names those that the likelier answers have: ${pairs ? "pairs" : "options"}`, () => {
    const document = split([2], [[1, [[0]]]]);
    const options = ["x", "y", "z"].map((name) => ({ name, label: `Option ${name}` }));
    document.attributes.push({ name: "s", label: "Which?", kind: "several", options, at_most: 2, optional: true });
    document.mechanism.views = [false, ...(pairs ? [true] : [])].map((each) => ({ attributes: [["a0", "s"]], weight: 1, ...(each && { pairs: each }) }));
    const survey = new Survey(document);
    const view = survey.mechanism.views.at(-1);
    const answers = [[], ["x"], ["y"], ["z"], ["x", "y"], ["x", "z"], ["y", "z"], null];
    const kinds = new Set();
    for (let y = view.first; y < survey.mechanism.reportSpace.shape[0]; y += 1) {
      const likelier = answers.flatMap((s) =>
        ["c0", "c1"].flatMap((a0) => {
          const { own, others } = survey.mechanism.likelihoods([y], survey.schema.encode({ a0, ...(s && { s }) }));
          return own.compare(others.least) > 0 ? [{ a0, s }] : [];
        }),
      );
      const [, says] = told(survey, [y]);
      const [first, ...named] = says.value.split("\n");
      assert.deepEqual([...new Set(likelier.map(({ a0 }) => `a0 – ${a0}`))], [first]);
      const chosen = likelier.map(({ s }) => s);
      kinds.add(named.join());
      if (named[0] === "Which? – No answer") assert.deepEqual(chosen, [null]);
      else if (named[0].startsWith("a placeholder")) {
        // Whoever chose fewer sends it more often, too.
        const size = (s) => s?.length ?? (pairs ? 0 : 1);
        const most = Math.max(...chosen.map(size));
        const few = answers.filter((s) => (pairs ? size(s) < 2 : size(s) <= most));
        assert.deepEqual(chosen.map(String).sort(), few.map(String).sort());
        assert.ok(few.length < answers.length);
      } else {
        const owned = answers.filter((s) => s && named.every((each) => s.includes(each.match(/^Which\? – Option (.) \(perhaps/)[1])));
        assert.deepEqual(chosen, owned);
      }
    }
    assert.equal(kinds.size, pairs ? 4 : 5);
  });
}

test("options of a question count as one question in receipts", () => {
  const document = split([2, 2], [[1, [[0]]], [1, [[1]]]]);
  document.attributes.push({ name: "s", kind: "several", options: [{ name: "x" }, { name: "y" }] });
  document.mechanism.views[1].attributes = [["a1", "s.x", "s.y"]];
  // After the two symbols of the first view.
  const [about] = told(new Survey(document), [2]);
  assert.equal(about.label, "Your report is about these 2 of the 3 questions");
  assert.equal(about.value.split("\n").length, 3);
});

const ten = split(Array(10).fill(2), [[1, [[...Array(10).keys()]], [2]]], { prime: 19, direct: 28 });
const answers = byName(Array(10).fill("c1"));

test("a view is drawn and stored once, and the report is about it", async () => {
  const { collector, storage, open } = await setUp(ten);
  const survey = await open().survey("health");
  const asked = await open().asked(survey);
  assert.equal(asked.length, 2);
  assert.deepEqual(storage.written.map(([key]) => key), [`halftruth-view:${await survey.digest()}`]);
  const again = await Promise.all(Array.from({ length: 20 }, () => open().asked(survey)));
  for (const names of again) assert.deepEqual(names, asked);
  assert.equal(storage.written.length, 1);
  collector.trouble = Array(9).fill(away);
  const some = Object.fromEntries(asked.map((name) => [name, "c1"]));
  assert.equal((await open().submit(survey, some)).status, "waiting");
  collector.trouble = [];
  assert.equal((await open().submit(survey, answers)).status, "accepted");
  assert.deepEqual(await open().asked(survey), asked);
  const [[symbol]] = collector.reports.values();
  const view = survey.mechanism.views[Math.floor(symbol / 4)];
  assert.deepEqual(view.positions.map((j) => `a${j}`), asked);
  for (const { reports } of collector.posted) assert.deepEqual(reports[0].values, [symbol]);
});

test("whole records are accepted after a draw; missing answers are not", async () => {
  const { collector, open } = await setUp(ten);
  const survey = await open().survey("health");
  const asked = await open().asked(survey);
  for (const name of asked) {
    const { [name]: _, ...others } = answers;
    await assert.rejects(open().submit(survey, others), { name: "RecordError", field: name });
  }
  await open().submit(survey, answers);
  const other = await setUp(ten);
  const { a3: _, ...nine } = answers;
  await assert.rejects(other.client.submit(survey, nine), { name: "RecordError", field: "a3" });
  await other.client.submit(survey, answers);
  assert.equal(collector.reports.size + other.collector.reports.size, 2);
});

test("another version of a survey draws its own view; a damaged one is drawn again", async () => {
  const { storage, open } = await setUp(ten);
  const survey = new Survey(ten);
  await open().asked(survey);
  await open().asked(new Survey({ ...ten, title: "Other" }));
  assert.equal(storage.items.size, 2);
  const key = `halftruth-view:${await survey.digest()}`;
  for (const text of ["", "no", "-1", "1e3", "99999999999999999999"]) {
    storage.items.set(key, text);
    assert.equal((await open().asked(survey)).length, 2);
    assert.match(storage.items.get(key), /^\d+$/);
  }
});

test("a mechanism without views draws and stores nothing and asks everything", async () => {
  const { storage, open } = await setUp(surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "19" }));
  const survey = await open().survey("health");
  assert.deepEqual(await open().asked(survey), ["a0", "a1"]);
  assert.equal(storage.written.length, 0);
  assert.equal(survey.drawView(), null);
});
