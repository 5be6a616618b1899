/** Client for respondents: perturbs a record in the browser, and sends only the report. */

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
