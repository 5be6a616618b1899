/**
 * Errors of the client:
 *
 *   HalftruthError
 *   ├── ParameterError         an invalid parameter of the caller
 *   ├── SurveyError            an invalid survey document
 *   ├── SurveyRefused          wrong digest, missing signature, or too little protection
 *   │   └── LedgerRefused      the total amplification of all reports would be too large
 *   ├── RecordError            an invalid record; the message never contains an answer
 *   ├── AnsweredBefore         another version of the survey was answered here
 *   ├── RequestRefused         the collector refused the request
 *   └── CollectorUnavailable   the collector cannot be reached now
 */
export class HalftruthError extends Error {
  /** @param {string} message One line.
   * @param {string} [field] The parameter or attribute concerned. */
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

export class ParameterError extends HalftruthError {}
export class SurveyError extends HalftruthError {}

export class SurveyRefused extends HalftruthError {
  /** @param {string} message
   * @param {string} field
   * @param {import("./survey.js").Survey} [survey] The survey, if it could be read. */
  constructor(message, field, survey) {
    super(message, field);
    this.survey = survey;
  }
}

export class LedgerRefused extends SurveyRefused {
  /** @param {string} message
   * @param {string} field
   * @param {import("./survey.js").Survey} survey
   * @param {import("./ledger.js").Ledger} ledger All earlier entries. */
  constructor(message, field, survey, ledger) {
    super(message, field);
    this.survey = survey;
    this.ledger = ledger;
  }
}

export class RecordError extends HalftruthError {}
export class AnsweredBefore extends HalftruthError {}
export class CollectorUnavailable extends HalftruthError {}

export class RequestRefused extends HalftruthError {
  /** @param {string} message
   * @param {number} status HTTP status of the refusal.
   * @param {string} [field] */
  constructor(message, status, field) {
    super(message, field);
    this.status = status;
  }
}

// Written out, since minified classes have other names.
const NAMED = {
  HalftruthError,
  ParameterError,
  SurveyError,
  SurveyRefused,
  LedgerRefused,
  RecordError,
  AnsweredBefore,
  RequestRefused,
  CollectorUnavailable,
};
for (const [name, { prototype }] of Object.entries(NAMED)) prototype.name = name;
