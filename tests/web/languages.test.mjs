// The form's translations are complete, and all languages show the same figures.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { chooseLanguage, loadWording } from "../../client/halftruth_client/js/form/languages.js";
import { receipt } from "../../client/halftruth_client/js/form/receipt.js";
import { directionOf } from "../../client/halftruth_client/js/form/wording.js";
import { LANGUAGES, wordsIn } from "../../client/halftruth_client/js/form/words.js";
import { Survey } from "../../client/halftruth_client/js/index.js";
import { protection } from "../../client/halftruth_client/js/protection.js";
import { readVectors, surveyOf } from "./helpers.mjs";

const ENGLISH = await wordsIn("en");
const OTHERS = LANGUAGES.filter((language) => language !== "en");

/** Return the placeholders of a text. */
const places = (text) => [...new Set(text.match(/\{\w+\}/g))].sort();

/** Return all texts of an entry: each plural form, each item of a list. */
const texts = (words) => (typeof words === "string" ? [words] : Object.values(words));

for (const language of OTHERS) {
  test(`every text is translated with the same placeholders: ${language}`, async () => {
    const words = await wordsIn(language);
    assert.deepEqual(Object.keys(words).sort(), Object.keys(ENGLISH).sort());
    for (const [key, english] of Object.entries(ENGLISH)) {
      const found = words[key];
      if (Array.isArray(english)) {
        assert.equal(new Set(found).size, english.length, key);
        continue;
      }
      // A plural in English or this language has all forms that its rules need.
      const whole = places(texts(english).at(-1));
      assert.deepEqual(places(texts(found).at(-1)), whole, key);
      for (const text of texts(found)) {
        assert.ok(text.length > 0 && places(text).every((place) => whole.includes(place)), key);
      }
      if (typeof found !== "string") assert.ok("one" in found && "other" in found, key);
    }
  });

  test(`no text is left in English or in informal address: ${language}`, async () => {
    const words = await wordsIn(language);
    const same = Object.keys(ENGLISH).filter((key) => {
      const [ours, theirs] = [ENGLISH[key], words[key]].map((w) => texts(w).join());
      return ours === theirs;
    });
    // "no" is the same word in Spanish.
    assert.deepEqual(same, language === "es" ? ["no"] : []);
    const all = Object.values(words).flatMap(texts).join("\n");
    const familiar = {
      de: /\b(du|dich|dir|deine?[mnrs]?)\b/i,
      fr: /(^|[^\p{L}])(tu|toi|tes?|ton)([^\p{L}]|$)/iu,
      es: /(^|[^\p{L}])(tú|tus?|te|ti)([^\p{L}]|$)/iu,
    }[language];
    assert.doesNotMatch(all, familiar);
  });
}

test("French punctuation follows narrow no-break spaces", async () => {
  const words = Object.values(await wordsIn("fr")).flatMap(texts).join("\n");
  assert.doesNotMatch(words, /[^\u202f][?!:;»](?!\w)|«(?!\u202f)/u);
});

const figures = (sentence) =>
  sentence
    .replace(/(\d),(\d)/g, "$1.$2")
    .match(/\d[\d.\u202f]*\d|\d|γ|ε/g)
    ?.sort();

test("a survey promises the same figures in every language", async () => {
  const vectors = readVectors("protection").vectors;
  assert.ok(vectors.length > 10);
  for (const { survey: document, public: names, sentences } of vectors) {
    const survey = new Survey(document);
    for (const language of OTHERS) {
      const said = (await loadWording(language)).promises(protection(survey, new Set(names)), survey.schema);
      assert.deepEqual(said.map(figures), sentences.map(figures), `${survey.id} ${language}`);
      assert.doesNotMatch(said.join(" "), /[{}]|undefined/);
    }
  }
});

const NUMBERS = { en: "13.7\u202f%", de: "13,7\u202f%", fr: "13,7\u202f%", es: "13,7\u202f%", "de-CH": "13.7\u202f%" };

for (const [language, percent] of Object.entries(NUMBERS)) {
  test(`numbers use the decimal separator of their language: ${language}`, async () => {
    const words = await loadWording(language);
    assert.equal(words.percent(137), percent);
    assert.equal(words.point("7.5"), percent.slice(1, 4) === "3.7" ? "7.5" : "7,5");
    const many = words.say("maxReports", { count: 2 });
    assert.notEqual(words.say("maxReports", { count: 1 }), many);
    assert.match(many, /2/);
  });
}

test("an untranslated language falls back to English and keeps its direction", async () => {
  const words = await loadWording("ar-EG");
  assert.deepEqual([words.locale, words.direction, words.isForeign], ["en", "rtl", true]);
  const place = words.say("place", { title: "العادات", number: 1, count: 2 });
  assert.equal(place, "\u2068العادات\u2069 (1 of 2)");
  assert.equal((await loadWording("")).isForeign, false);
});

test("an invalid language tag still selects its language", async () => {
  assert.equal((await loadWording("de-ab-cd")).locale, "de");
});

test("predefined categories are translated by the form", async () => {
  const document = surveyOf([2, 2], { kind: "randomized-response", gamma: "19" });
  document.languages = ["de"];
  document.attributes = [
    { name: "a0", categories: ["no", "yes"], optional: true, answers: { yes: "ja, gern" } },
    { name: "a1", kind: "number", minimum: 0, maximum: 5, step: "2.5", ask_if: { a0: ["yes"] } },
    { name: "a2", kind: "number", minimum: 0, maximum: 4, step: 2 },
    { name: "a3", kind: "several", options: [{ name: "x" }], optional: true },
  ];
  document.mechanism = {
    kind: "randomized-response",
    keep: { a0: "1/2", a1: "1/2", a2: "1/2", "a3.x": "1/2" },
  };
  const survey = new Survey(document);
  const words = await loadWording("de");
  const answers = Object.fromEntries(survey.schema.attributes.map((a) => [a.name, words.answers(a)]));
  assert.deepEqual(answers, {
    // The survey's own categories stay what their author wrote.
    a0: ["no", "ja, gern", "Keine Antwort"],
    a1: ["0 bis unter 2,5", "2,5 bis 5", "Nicht gefragt"],
    a2: ["0 bis 1", "2 bis 3", "4"],
    "a3.x": ["nein", "ja", "Keine Antwort"],
  });
  const lines = receipt(survey, { values: [2, 0, 1, 1], sent: true }, words);
  const shown = lines.slice(1, -1).map(({ value }) => value.split("\n")[0]);
  assert.deepEqual(shown, ["Keine Antwort", "0 bis unter 2,5", "2 bis 3", "ja"]);
});

const CASES = JSON.parse(
  readFileSync(new URL("../support/languages.json", import.meta.url), "utf-8"),
);

for (const { offered, named, preferred, language } of CASES.chosen) {
  test(`of ${offered}, with preferences ${[...named, ...preferred]}: ${language}`, () => {
    assert.equal(chooseLanguage(offered, { named, preferred }), language);
  });
}

test("languages have their writing direction", () => {
  for (const tag of CASES.rtl) assert.equal(directionOf(tag), "rtl", tag);
  for (const tag of CASES.ltr) assert.equal(directionOf(tag), "ltr", tag);
});
