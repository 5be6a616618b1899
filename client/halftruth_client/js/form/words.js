/**
 * Texts of the form: in English here, and in other languages in separate modules, which are loaded
 * on demand.
 *
 * Each text is in one line, so that it can be searched for, and compared between languages. Names
 * in braces are placeholders, filled in by `wording.js`. A text that depends on a number is an
 * object by the categories of `Intl.PluralRules`, selected by the value `count`.
 */

import { loaded } from "../transport.js";

/** A text, a list of texts, or a text for each category of `Intl.PluralRules`.
 * @typedef {string | readonly string[] | Readonly<Record<string, string>>} Words */

export const ENGLISH = {
  language: "Language",

  // Answers without labels in the survey, and reports.
  yes: "yes",
  no: "no",
  noAnswer: "No answer",
  wasNotAsked: "Not asked",
  fromTo: "{low} to {high}",
  fromUnder: "{low} to less than {high}",
  picked: {
    one: "Of {all} questions, your device reported on this one",
    other: "Of {all} questions, your device reported on these {some}",
  },
  reportedOn: "Your device reported on",
  decides: {
    one: "One of those that you answer is only there to decide what else is asked.",
    other: "{count} of those that you answer are only there to decide what else is asked.",
  },
  decided: "Asked only to decide what else is asked",
  sameOfOthers: "Chance makes the same of other answers, too.",
  code: "It sent this code",
  likelier: "likelier with {some} of the {all} possible combinations of answers",
  likelierGroups: "likelier with {some} of the {all} possible combinations of answers and groups of answers",
  inGroup: "{label} (only the group of your answer: {groups})",
  sendThis: "Of {base} people{same}, so many send just this",
  sendThisDrawn: "Of {base} people{same} who report on the same questions, so many send just this",
  withYours: "with your answers: {figure}",
  withOthers: "with any other answers: {figure}",
  withAny: "with any answers: {figure}",
  withOthersProtected: "with any other protected answers: {figure}",
  withAnyProtected: "with any protected answers: {figure}",
  alsoOthers: "also sent with another answer: {figure}",
  about: "about {count}",
  fewerThan: "fewer than {count}",
  moreThan: "more than {count}",
  noneOf: "not one",
  allOf: "all",
  range: "from {least} to {most}",
  ofBase: "{figure} of {base}",

  loading: "Loading the questions …",
  back: "Back",
  continue: "Continue",
  retry: "Try again",

  // Before the first question.
  opening: "Before you begin",
  askedBy: "Asked by",
  purpose: "What for",
  contact: "Contact",
  privacyNotice: "Privacy notice",
  protection: "How your answers are protected",
  chance: "Chance on this device makes a report of your answers. Only that is sent. Reports that fit your answers: {figure}.",
  chanceOthers: "Chance on this device makes a report of your other answers. Reports that fit these: {figure}.",
  collapsed: "In a report about several questions, your answer to {label} counts only by its group: {groups}.",
  certain: "Nobody who collects, steals or demands the data can tell from it for certain what you answered.",
  certainMostly: "But for what is named here, nobody who collects, steals or demands the data can tell from it for certain what you answered.",
  lasting: "What is sent cannot be taken back. That you take part is not hidden.",
  pace: "How long you take can show which questions you were asked.",
  relayClosing: "A relay, {host}, takes the report and cannot read it. It has to pass on just these reports, in random order, once the survey is closed and if there are at least {batch}, and not to work with the asker.",
  relayBatches: "A relay, {host}, takes the report and cannot read it. It has to pass on just these reports, in random order, at least {batch} at once, and not to work with the asker.",
  relayWaves: "The figure for the relay is of this wave alone; each further wave adds to it.",
  series: "You may be asked again: this is wave {wave} of a series. This browser counts its reports on this page address, and refuses a wave beyond this promise. On another page address, in another browser or a private window, or once this page’s data are deleted, the count begins anew.",
  ledger: "Counted in this browser on this page address so far",
  ledgerTells: "What others can learn at most, apart from unprotected answers",
  ledgerWhole: {
    one: "All protected answers to all surveys, in one report",
    other: "All protected answers to all surveys, in {count} reports",
  },
  ledgerSeries: {
    one: "All protected answers in this series, in one report",
    other: "All protected answers in this series, in {count} reports",
  },
  ledgerQuestion: {
    one: "{label} (in one report, to someone who already knows the other answers)",
    other: "{label} (in {count} reports, to someone who already knows the other answers)",
  },
  ledgerNote: "This deletes the count of all reports from this browser on this page address, to whichever survey and by whichever person. What was sent stays with the servers of the surveys. Please forget the count only if somebody else answered before.",
  forgetLedger: "Forget the count",
  forgetHeading: "Forget the count?",
  forgetCost: "From what was sent so far, others can learn: {spent}. Once the count is forgotten, this browser allows again on this page address all that was promised. Together, others could then learn: {total}.",
  forgetCostUnlimited: "From what was sent so far, others can learn: {spent}. Once the count is forgotten, this browser no longer knows of it, and refuses no survey on this page address because of it.",
  forgetYes: "Yes, forget it",
  learn: "What can others learn about you?",
  suppose: "Suppose that {count} of 100 people{same} have a secret. How many of 100 have it …",
  atMost: "at most {count}",
  before: "before anybody answers",
  after: "if they send the same as you, and it fits the secret",
  afterSingle: "the same about a single answer, if others already know all the rest",
  afterSeries: "if they send the same as you in all waves, and no wave protects less",
  relayApart: "if the relay does just what it has to, and the others’ reports are honest (but for a chance of 1 in {chance})",
  relayTogether: "in any other case",
  ordinary: "if they admit it in an ordinary survey",
  exactly: "The same in exact words",
  same: {
    one: " with the same answer to {labels}",
    other: " with the same answers to {labels}",
  },
  whereProved: {
    one: "{labels} (where a report proves it)",
    other: "{labels} (where a report proves them)",
  },
  andTo: "{sent}, and to {proved}",
  unperturbed: "Sent as answered, without protection: {labels}.",
  provable: "Of “{label}”, a report can prove the answer “{answer}”, which this survey takes not to be sensitive. It never proves “{other}”: to someone who already knows all other answers, {bound}.",
  unbounded: "There is no bound: a report can prove an answer (γ is infinite).",
  promise: "{whose}: whatever someone thought {prior} likely, a report can at most make {posterior} likely, whoever they are and whatever else they know (γ = {gamma}, ε = {epsilon}).",
  whole: "The whole record",
  others: "All other answers together, among people{same}",
  single: "A single answer, to someone who already knows all other answers: {bound}.",
  ofAnswer: "Each answer has a promise of its own. Somebody who knows all other answers: {bound}.",
  ignorant: "Somebody who does not know them can learn more where answers go together: at most {posterior} (γ = {gamma}).",
  ofAnswers: "Somebody who knows all your other answers: from {before} to at most {single} of 100. Somebody who does not know them can learn more where answers go together: at most {after} of 100.",
  bound: "from {prior} to at most {posterior} (γ = {gamma})",
  promiseSeries: "{whose}, from all waves of this series together, if no wave leaves other answers unprotected: {bound}. A browser counts its reports on the page address {address}, and refuses a wave that would exceed this.",
  boundless: "no bound, since a report can prove an answer (γ infinite)",
  relayed: "If the relay does not work together with the asker, passes on what it received and adds nothing, and the others’ reports are honest and can be opened: of 100 people at most {apart}, but for a chance of 1 in {chance}. In any other case: at most {together}.",
  relayTooSmall: "A relay passes reports on, but batches of {batch} are too small to promise more than a report by itself: of 100 people at most {together}.",
  relayedThrough: "Through the relay, in batches of at least {batch}, whatever someone thought true of 5 in 100 people can become likely only this far. {relayed} The first figure does not include what the others’ reports say about everybody.",
  timed: "Some questions are asked after certain answers only. How long somebody takes can show whether they were asked, to whoever sees when the form is loaded and when the report arrives; no bound covers that.",
  closesAt: "You can answer until {moment}.",
  maxReports: {
    one: "The survey ends with the first report.",
    other: "The survey ends once {count} people have answered.",
  },
  forgetful: "This browser keeps nothing for this page. If you open the page's address again, you are asked again, and a second report would tell more of you. Please answer only once.",
  consent: "Your consent",
  consentMissing: "Please tick this if you agree; nothing is asked before.",
  practise: "Try it first",
  begin: "Begin",

  // The practice round.
  practice: "A practice round",
  practiceLead: "This is just for trying: nothing of it is sent or kept, and it has nothing to do with your answers. Choose an answer and let chance work on it, as often as you like.",
  practiceQuestion: "Which colour do you like best?",
  practiceAnswers: ["red", "blue", "green", "yellow", "black", "white", "pink", "brown"],
  practiceYesNo: "Do you like rain?",
  practiceNumber: "Which number from 1 to {size} do you like best?",
  practiceCode: "code {code}",
  practiceDraw: "Let chance work",
  practiceFits: "This would be sent: {sent}. It fits what you chose.",
  practiceDiffers: "This would be sent: {sent}. It does not fit what you chose.",
  practiceTally: "Tries that fit what you chose: {fits}. Others: {others}. Whoever sees just one of them cannot be certain which kind it is.",
  practiceChance: "On average, tries that fit: {figure}, as in the survey itself.",
  practiceChanceOne: "On average, tries that fit: {figure}, as with a question of the survey. That all answers of a person fit is rarer.",
  practiceLesson: "Many tries with one answer would give it away, so everybody sends only one report. From the reports of many people it is worked out how many answered what.",

  // The questions.
  answers: "Your answers",
  place: "{title} ({number} of {count})",
  drawn: {
    one: "You answer one of the {all} questions, drawn on this device; nothing is sent about the others.",
    other: "You answer {some} of the {all} questions, drawn on this device; nothing is sent about the others.",
  },
  optional: "(you may leave this out)",
  takeBack: "Take my answer back",
  choose: "Choose …",
  severalHint: "Choose all that apply.",
  none: "None of these",
  wholeNumber: "A whole number from {minimum} to {maximum}.",
  number: "A number from {minimum} to {maximum}.",
  readAs: "Read as {number}.",
  missing: "Please choose an answer.",
  missingSeveral: "Please choose what applies, or that none does.",
  missingWhole: "Please enter a whole number from {minimum} to {maximum}.",
  missingNumber: "Please enter a number from {minimum} to {maximum}.",

  // Before sending.
  review: "Nothing has been sent yet",
  draw: "When you send, chance makes a report of your answers on this device. It may fit them or not, and nobody who sees it can be certain which. Only the report is sent, and you will see it.",
  drawProving: "When you send, chance makes a report of your answers on this device. Only the report is sent, and you will see it.",
  send: "Send",

  // After sending.
  thanks: "Thank you",
  counted: "Your report was counted.",
  withRelay: "The relay has your report, and passes it on with at least {count} others; with fewer, it passes on none.",
  answeredHere: "Answered in this browser already",
  answeredHereText: "A report from this browser on this page address has arrived. If it was yours, all is done: thank you. If it was somebody else's: this survey takes one report from each browser on this page address, so please use another device.",
  answeredHereShared: "A report from this browser on this page address has arrived. If it was yours, all is done: thank you. If it was somebody else's, you can answer here now.",
  keptForLater: "Kept for later",
  waiting: "The survey’s server has not confirmed your report yet. It is kept in this browser and sent as soon as it can be, at the latest when you open this page again.",
  open: "The survey’s server has not confirmed your report yet. It is sent as soon as it can be while this page is open. This browser keeps nothing for it: please leave the page open.",
  held: "So that less shows of how long you took, your report is not sent before {moment}.",
  nothingElse: "Of your answers, nothing but the report left this device.",
  sent: "This is what was sent",
  receipt: "Nobody who sees the report can be certain what you answered. This page shows it only now.",
  learnt: "What others can learn from it",
  learntProtected: "What others can learn from it about your protected answers",
  learntSame: "Of 100 people who send the same, at most {after} have a secret that {before} of 100 people{same} have.",
  learntRelay: "Take a secret that {before} of 100 people have. {relayed}",
  receiptProving: "This page shows it only now.",
  again: "Send the same report again",
  another: "Answer as another person",
  anotherHeading: "Are you somebody else?",
  anotherText: "Please go on only if you have not answered yet. A second report of the same person would tell more of them. Nothing of whoever answered before will be shown.",
  anotherYes: "I have not answered yet",
  goOn: "Go on to {host}",
  goesOn: {
    one: "This page goes there in {count} second.",
    other: "This page goes there in {count} seconds.",
  },
  stay: "Stay here",

  // Errors.
  unreachable: "The survey cannot be reached",
  unreachableText: "Please try again in a while.",
  notAsked: "This survey is not asked",
  nothingSent: "Nothing was sent: {message}.",
  mayHaveLeft: "A report may have been sent. What went wrong: {message}.",
  answeredBefore: "Answered before",
  answeredBeforeText: "Another version of this survey was answered in this browser on this page address. A second report about the same answers would tell more of you, so nothing more is asked or sent.",
  enough: "Enough was told already",
  seriesSpent: "Together with what was sent from this browser on this page address before, this wave would tell more of you than was promised for the whole series. So nothing was asked or sent.",
  totalSpent: "Together with what was sent from this browser on this page address before, this survey would tell more of you than this page allows for all surveys. So nothing was asked or sent.",
  waveAnswered: "This wave was answered in this browser on this page address, under another name. A second report about the same answers would tell more of you. So nothing was asked or sent.",
  notCounted: "What all your reports on this page address tell together has to be counted. This browser keeps nothing for this page, so it cannot be counted, and nothing was asked or sent. Allow the page to keep data, or use another browser.",
  otherAddress: "This survey is of a series that is asked on the page address {address} alone, where a browser counts all waves together. So nothing was asked or sent here.",
  unforeseen: "something unforeseen went wrong",
  refused: "Your report was not counted",
  refusedText: "The survey’s server refused it: {message}.",
  late: "You were too late",
  lateText: "Nothing was counted. Thank you all the same.",
  invitationMissing: "An invitation is needed",
  invitationMissingText: "This survey is by invitation only. Please open the link that you were sent.",
  invitationUnreadable: "This invitation cannot be read",
  invitationUnreadableText: "Part of it may be missing. Please open the whole link that you were sent.",
  invitationSpent: "This invitation cannot be used any more",
  invitationSpentText: "It was used already, or withdrawn, and nothing was asked or sent. If you have not answered yet, please ask whoever invited you for another one.",
  invitationRefusedText: "Your report was not let in: the invitation was used already, or withdrawn. Please ask whoever invited you for another one; the same report is sent with it.",
  closed: "This survey is over",
  closedOperator: "It takes no more answers. Thank you for your interest.",
  closedDeadline: "It could be answered until {moment}. Thank you for your interest.",
  closedQuota: "Enough people have answered already. Thank you for your interest.",
  closedRelay: "Its relay, {host}, takes no reports of it. Thank you for your interest.",

  // Descriptions of the named designs.
  quoted: "“{text}”",
  chanceOf: "{some} in {all}",
  designFor: "For {questions}, {said}",
  "design-warner": "with chance {p} the device reports the answer, and with chance {not_p} the other one.",
  "design-forced-response": "with chance {yes} the device reports “{Yes}” whatever the answer is, with chance {no} “{No}”, and else the answer.",
  "design-unrelated-question": "with chance {p} the device reports the answer. Else it reports the answer to a harmless question that nobody is asked: the device draws “{Yes}” with chance {prevalence}.",
  "design-kuk": "the device draws a card from one of two decks and reports its colour alone, “{Yes}” for red and “{No}” for black. Of the deck for “{Yes}” {theta1} are red, of that for “{No}” {theta2}.",
  "design-crosswise": "the device draws the answer to a harmless question that nobody is asked, “{Yes}” with chance {prevalence}. It reports “{Yes}” if both answers are the same, and else “{No}”.",
  "design-triangular": "the device draws the answer to a harmless question that nobody is asked, “{Yes}” with chance {prevalence}. It reports “{No}” if both answers are “{No}”, and else “{Yes}”.",
  "design-mangat": "the device reports “{Yes}” if that is the answer. If it is “{No}”, it reports “{No}” with chance {p}, and else “{Yes}”.",
};

/** @typedef {keyof typeof ENGLISH} Key
 * @typedef {Readonly<Record<Key, Words>>} Vocabulary */

/** @type {Readonly<Record<string, () => Promise<{default: Vocabulary}>>>} */
const FILES = {
  de: () => import("./words/de.js"),
  es: () => import("./words/es.js"),
  fr: () => import("./words/fr.js"),
};

/** Languages of the form's texts. */
export const LANGUAGES = ["en", ...Object.keys(FILES)];

/** Load the texts in a language, in English if there is no translation.
 * @type {(language: string) => Promise<Vocabulary>} */
export async function wordsIn(language) {
  return language in FILES ? (await loaded(FILES[language]())).default : ENGLISH;
}
