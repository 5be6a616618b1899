/**
 * Errors of the client:
 *
 *   HalftruthError
 *   ├── ParameterError         a setting of the caller
 *   ├── SurveyError            what was sent is not a survey
 *   ├── SurveyRefused          a survey that protects too little, is not itself or not signed as asked
 *   │   └── LedgerRefused      one that would tell too much together with what was sent before
 *   ├── RecordError            a record that does not fit; the message never holds an answer
 *   ├── AnsweredBefore         another version of the survey was answered here
 *   ├── RequestRefused         the collector will not take it
 *   └── CollectorUnavailable   the collector cannot be reached, now
 */
export class HalftruthError extends Error {
  /**
   * @param {string} message One line.
   * @param {string} [field] What it is about.
   */
  constructor(message, field) {
    super(message);
    this.name = new.target.name;
    this.field = field;
  }
}

export class ParameterError extends HalftruthError {}
export class SurveyError extends HalftruthError {}
export class SurveyRefused extends HalftruthError {}

export class LedgerRefused extends SurveyRefused {
  /**
   * @param {string} message
   * @param {string} field
   * @param {import("./survey.js").Survey} survey
   * @param {import("./ledger.js").Ledger} ledger What was counted before: of its series, or of all.
   */
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
  /**
   * @param {string} message
   * @param {number} status HTTP status of the refusal.
   * @param {string} [field]
   */
  constructor(message, status, field) {
    super(message, field);
    this.status = status;
  }
}
