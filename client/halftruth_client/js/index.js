/** Perturb a record in the browser of the person it is about, and send only the report. */

export { Client } from "./client.js";
export {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  LedgerRefused,
  ParameterError,
  RecordError,
  RequestRefused,
  SurveyError,
  SurveyRefused,
} from "./errors.js";
export { Survey } from "./survey.js";
