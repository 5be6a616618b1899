// Entered numbers are parsed by the language of the form, and ambiguous ones are refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readNumber } from "../../client/halftruth_client/js/form/numbers.js";

/** By language: entered text and parsed number; null if ambiguous or invalid. */
const WRITTEN = {
  "ar-EG": { "٧٫٥": "7.5", "١٢": "12", "1.2": "1.2" },
  de: {
    "1,2": "1.2", "1.2": "1.2", "12": "12", " 7 ": "7", "-3,5": "-3.5", "−3,5": "-3.5", ",5": ".5", "+4": "+4",
    "1.234": null, "1.234,5": "1234.5", "1.234.567": "1234567", "1 234": "1234", "1\u202f234,5": "1234.5",
    "1,234": "1.234", "1,234.5": null, "12.34,5": null, "1 23": null, "0.123": null, "1,2,3": null,
    "": null, "zwölf": null, "1e3": null, "1,": "1.", "--1": null, "1 2": null, "٧": "7",
  },
  en: {
    "1.2": "1.2", "1,2": "1.2", "1,234": null, "1.234": "1.234", "1,234.5": "1234.5", "1,234,567": "1234567",
    "1.234,5": null, "12,345": null, "1234": "1234", ".5": ".5", "0x10": null, "Infinity": null, "12,34.5": null,
  },
  fr: { "1,2": "1.2", "1\u202f234,5": "1234.5", "1.2": "1.2", "1.234": null },
  es: { "1,2": "1.2", "1.234,5": "1234.5", "1.234": null },
  "de-CH": { "1.2": "1.2", "1’234.5": "1234.5", "1'234": "1234", "1,2": "1.2" },
};

for (const [language, written] of Object.entries(WRITTEN)) {
  test(`numbers are parsed as written in ${language}`, () => {
    for (const [text, number] of Object.entries(written)) {
      assert.equal(readNumber(text, language), number, JSON.stringify(text));
    }
  });
}
