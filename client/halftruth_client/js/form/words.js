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
    one: "Your report is about this one of the {all} questions",
    other: "Your report is about these {some} of the {all} questions",
  },
  pickedOthers: {
    one: "Your report is also about this one of the {all} other questions",
    other: "Your report is also about these {some} of the {all} other questions",
  },
  reportedOn: "Your report is about",
  decides: {
    one: "One of these only decides which other questions you are asked.",
    other: "{count} of these only decide which other questions you are asked.",
  },
  decided: "Asked only to decide which other questions to ask",
  sameOfOthers: "Other answers can lead to the same report by chance.",
  says: "What your report says about them (whether that fits your answers was decided at random by this device)",
  saysOneOf: "one of these combinations:",
  namesOption: "{option} (perhaps with others)",
  namesNothing: "a placeholder instead of an answer, sent more often by people who chose few",
  code: "Sent as code {code}.",
  likelier: "This report is sent more often with {some} of the {all} possible combinations of answers than with the others.",
  likelierGroups: "This report is sent more often with {some} of the {all} possible combinations of answers and groups of answers than with the others.",
  likelierNone: "This report is sent equally often with all possible combinations of answers.",
  inGroup: "{label} (only the group of your answer: {groups})",
  sendThis: "How many of {base} people{same} send exactly this report",
  sendThisDrawn: "How many of {base} people{same} send exactly this report, if theirs is about the same questions",
  withYours: "with your answers: {figure}",
  withOthers: "with any other answers: {figure}",
  withAny: "with any answers: {figure}",
  withOthersProtected: "with any other protected answers: {figure}",
  withAnyProtected: "with any protected answers: {figure}",
  alsoOthers: "people with another answer who send this too: {figure}",
  asAnswered: "sent exactly as answered, without protection",
  about: "about {count}",
  fewerThan: "fewer than {count}",
  moreThan: "more than {count}",
  noneOf: "none",
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
  purpose: "Purpose",
  contact: "Contact",
  privacyNotice: "Privacy notice",
  protection: "How your answers are protected",
  chance: "This device changes your answers at random and sends only the result, your report. Reports that match the answers: {figure}. Others cannot see which.",
  chanceOthers: "This device changes your other answers at random before it sends your report. Reports that match these answers: {figure}. Others cannot see which.",
  collapsed: "In a report about several questions, your answer to {label} counts only by its group: {groups}.",
  certain: "No one who collects, steals or demands the data can be certain from your report what you answered.",
  certainMostly: "Apart from the answers named above: no one who collects, steals or demands the data can be certain from your report what you answered.",
  lasting: "A sent report cannot be withdrawn. That you take part is not hidden.",
  pace: "The time that you take can show which questions you were asked.",
  relayClosing: "Your report goes through a relay, {host}, which cannot read it. After the survey has closed, it must pass on exactly the reports that it received, in random order, if there are at least {batch}, and must not cooperate with the people who run the survey.",
  relayBatches: "Your report goes through a relay, {host}, which cannot read it. It must pass on exactly the reports that it received, in random order, at least {batch} at a time, and must not cooperate with the people who run the survey.",
  relayWaves: "The figure for the relay is for this wave only; each further wave adds to it.",
  series: "This is wave {wave} of a series: you may be asked again. This browser counts its reports at this web address, and refuses a wave that exceeds the promise. With another web address, another browser, a private window or deleted data, the count starts again.",
  ledger: "Reports from this browser so far, at this web address",
  ledgerTells: "The most that others can learn, apart from unprotected answers",
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
  ledgerNote: "This deletes nothing that was sent: all reports stay on the surveys’ servers. This browser only starts counting again from zero at this web address, for every survey and every person. Please do this only if someone else answered here before you.",
  forgetLedger: "Start counting again for someone else",
  forgetHeading: "Start counting again?",
  forgetCost: "From the reports so far, others can learn: {spent}. If this browser starts counting again, it allows the whole promised amount again at this web address. From all reports together, others could then learn: {total}.",
  forgetCostUnlimited: "From the reports so far, others can learn: {spent}. If this browser starts counting again, it no longer knows about them, and refuses no survey at this web address because of them.",
  forgetYes: "Yes, start again",
  learn: "What can others learn about you?",
  suppose: "Suppose {count} of 100 people{same} have a secret. Of 100 people, how many have it …",
  commoner: "For a more common secret the number is higher: if {before} of 100 have it, at most {after}.",
  atMost: "at most {count}",
  before: "before anyone answers",
  after: "if they send the same report as you",
  afterSingle: "if the secret is one answer, and someone already knows all the other answers",
  afterSeries: "if they send the same reports as you in all waves, and no wave protects less",
  relayApart: "if the relay and the other respondents are honest (except in 1 of {chance} cases)",
  relayTogether: "in any other case",
  ordinary: "if they admit it in an ordinary survey",
  exactly: "The same in exact terms",
  same: {
    one: " with the same answer to {labels}",
    other: " with the same answers to {labels}",
  },
  sameAsYours: {
    one: " with your answer to {labels}",
    other: " with your answers to {labels}",
  },
  whereProved: {
    one: "{labels} (where a report proves it)",
    other: "{labels} (where a report proves them)",
  },
  andTo: "{sent}, and to {proved}",
  unperturbed: "Sent as answered, without protection: {labels}.",
  provable: "For “{label}”, a report can prove the answer “{answer}”, which this survey considers not sensitive. It never proves “{other}”: to someone who already knows all other answers, {bound}.",
  unbounded: "There is no bound: a report can prove an answer (γ is infinite).",
  promise: "{whose}: what someone thinks {prior} likely before the report is at most {posterior} likely after it, whoever they are and whatever else they know (γ = {gamma}, ε = {epsilon}).",
  whole: "All answers together",
  others: "All other answers together, among people{same}",
  single: "A single answer, to someone who already knows all other answers: {bound}.",
  ofAnswer: "Each answer is protected separately. To someone who knows all other answers: {bound}.",
  ignorant: "Someone who does not know them can learn more if answers are related: at most {posterior} (γ = {gamma}).",
  ofAnswers: "If someone knows all your other answers, the number rises from {before} to at most {single} of 100. Someone who does not know them can learn more if answers are related: at most {after} of 100.",
  bound: "from {prior} to at most {posterior} (γ = {gamma})",
  promiseSeries: "{whose}, in all waves of this series, if no wave leaves other answers unprotected: {bound}. A browser counts its reports at the web address {address}, and refuses a wave that would exceed this bound.",
  boundless: "no bound, since a report can prove an answer (γ infinite)",
  relayed: "If the relay does not cooperate with the people who run the survey, passes on all reports and adds none, and the other reports are honest and can be decrypted: at most {apart} of 100 people, except with a probability of 1 in {chance}. In any other case: at most {together}.",
  relayTooSmall: "Reports go through a relay, but batches of {batch} are too small to protect more than a single report does: at most {together} of 100 people.",
  relayedThrough: "Reports go through a relay, in batches of at least {batch}. Suppose someone thinks something true of 5 of 100 people. {relayed} The first figure does not include what the other reports reveal about people in general.",
  timed: "Some questions are asked only after certain answers. Anyone who sees when the form is loaded and when the report arrives can conclude from the time between whether they were asked; no bound covers that.",
  closesAt: "You can answer until {moment}.",
  maxReports: {
    one: "The survey ends with the first report.",
    other: "The survey ends once {count} people have answered.",
  },
  forgetful: "This browser stores nothing for this page. If you open the page again, you are asked again, and a second report would reveal more about you. Please answer only once.",
  consent: "Your consent",
  consentMissing: "Please tick this box if you agree; no question is asked before.",
  practise: "Try it first",
  begin: "Begin",

  // The practice round.
  practice: "A practice round",
  practiceLead: "This is only for practice: nothing is sent or stored, and it has nothing to do with your answers. Choose an answer and let this device change it at random, as often as you like.",
  practiceQuestion: "Which colour do you like best?",
  practiceAnswers: ["red", "blue", "green", "yellow", "black", "white", "pink", "brown"],
  practiceYesNo: "Do you like rain?",
  practiceNumber: "Which number from 1 to {size} do you like best?",
  practiceCode: "code {code}",
  practiceDraw: "Change it at random",
  practiceFits: "This would be sent: {sent}. It matches your choice.",
  practiceDiffers: "This would be sent: {sent}. It does not match your choice.",
  practiceTally: "Tries that match your choice: {fits}. Other tries: {others}. Someone who sees only one of them cannot be certain which kind it is.",
  practiceChance: "On average, tries that match: {figure}, as in the survey itself.",
  practiceChanceOne: "On average, tries that match: {figure}, as for one question of the survey. It is rarer that all answers of a person match.",
  practiceLesson: "Many tries with the same answer would reveal it, so each person sends only one report. The reports of many people together show about how many gave each answer.",

  // The questions.
  answers: "Your answers",
  place: "{title} ({number} of {count})",
  drawn: {
    one: "You answer one of the {all} questions, picked at random; nothing is sent about the others.",
    other: "You answer {some} of the {all} questions, picked at random; nothing is sent about the others.",
  },
  drawnOthers: {
    one: "You also answer one of the {all} other questions, picked at random; nothing is sent about the rest.",
    other: "You also answer {some} of the {all} other questions, picked at random; nothing is sent about the rest.",
  },
  optional: "(you may leave this out)",
  takeBack: "Take my answer back",
  choose: "Choose …",
  severalHint: "Choose all that apply.",
  severalAtMost: "Choose all that apply, at most {most}.",
  severalFull: "{most} are chosen, which is the most. To choose another, first remove one.",
  none: "None of these",
  wholeNumber: "A whole number from {minimum} to {maximum}.",
  number: "A number from {minimum} to {maximum}.",
  readAs: "Read as {number}.",
  missing: "Please choose an answer.",
  missingSeveral: "Please choose what applies, or “None of these”.",
  missingWhole: "Please enter a whole number from {minimum} to {maximum}.",
  missingNumber: "Please enter a number from {minimum} to {maximum}.",

  // Before sending.
  review: "Nothing has been sent yet",
  draw: "When you send, this device changes your answers at random. The result, your report, may match your answers or not, and no one who sees it can be certain which. Only the report is sent, and you will see it.",
  drawProving: "When you send, this device changes your answers at random, apart from those that are sent as answered. Only the result, your report, is sent, and you will see it.",
  send: "Send",

  // After sending.
  thanks: "Thank you",
  counted: "Your report was counted.",
  withRelay: "The relay has your report. It passes it on together with at least {count} others; with fewer, it passes on none.",
  answeredHere: "Already answered in this browser",
  answeredHereText: "A report from this browser at this web address has arrived. If it was yours, you have finished: thank you. If it was someone else’s, please use another device: this survey accepts one report from each browser at this web address.",
  answeredHereShared: "A report from this browser at this web address has arrived. If it was yours, you have finished: thank you. If it was someone else’s, you can answer here now.",
  keptForLater: "Your report is waiting",
  waiting: "The survey’s server has not confirmed your report yet. This browser keeps it and sends it as soon as possible, at the latest when you open this page again.",
  open: "The survey’s server has not confirmed your report yet. It is sent as soon as possible while this page is open. This browser does not store it: please leave the page open.",
  held: "To show less of how long you took, this device sends your report no earlier than {moment}.",
  nothingElse: "Apart from the report, nothing about your answers leaves this device.",
  sent: "This is what was sent",
  receipt: "Your report does not prove what you answered. You can see it only now, on this page.",
  learnt: "What others can learn from it",
  learntProtected: "What others can learn from it about your protected answers",
  learntSame: "Suppose {before} of 100 people{same} have a secret. Of 100 people who send the same report, at most {after} have it.",
  learntRelay: "Suppose {before} of 100 people have a secret. {relayed}",
  howOften: "How often this report is sent",
  notCertainty: "These numbers do not say how sure others can be of your answers.",
  receiptProving: "You can see your report only now, on this page.",
  again: "Send the same report again",
  another: "Answer as another person",
  anotherHeading: "Are you another person?",
  anotherText: "Please continue only if you have not answered yet. A second report from the same person would reveal more about them. You will see nothing of the person who answered before.",
  anotherYes: "I have not answered yet",
  goOn: "Continue to {host}",
  goesOn: {
    one: "This page goes there in {count} second.",
    other: "This page goes there in {count} seconds.",
  },
  stay: "Stay here",

  // Errors.
  unreachable: "The survey cannot be reached",
  unreachableText: "Please try again in a while.",
  notAsked: "You cannot answer this survey here",
  nothingSent: "Nothing was sent: {message}.",
  mayHaveLeft: "Your report may have been sent. The problem: {message}.",
  answeredBefore: "Already answered",
  answeredBeforeText: "Another version of this survey was answered in this browser at this web address. A second report about the same answers would reveal more about you, so nothing more is asked or sent.",
  enough: "Your reports have reached the limit",
  seriesSpent: "This wave and the earlier reports from this browser at this web address would together reveal more about you than was promised for the whole series. So nothing was asked or sent.",
  totalSpent: "This survey and the earlier reports from this browser at this web address would together reveal more about you than this page allows for all surveys. So nothing was asked or sent.",
  waveAnswered: "This wave was already answered in this browser at this web address, under another name. A second report about the same answers would reveal more about you. So nothing was asked or sent.",
  notCounted: "This browser must count what all your reports at this web address reveal together. It stores nothing for this page, so it cannot, and nothing was asked or sent. Please allow this page to store data, or use another browser.",
  otherAddress: "This survey belongs to a series that is asked only at the web address {address}, where a browser counts all waves together. So nothing was asked or sent here.",
  unforeseen: "an unexpected error occurred",
  refused: "Your report was not counted",
  refusedText: "The survey’s server refused it: {message}.",
  late: "Your report came too late",
  lateText: "It was not counted. Thank you all the same.",
  invitationMissing: "You need an invitation",
  invitationMissingText: "This survey is by invitation only. Please open the link that was sent to you.",
  invitationUnreadable: "This invitation cannot be read",
  invitationUnreadableText: "Part of it may be missing. Please open the whole link that was sent to you.",
  invitationSpent: "This invitation is no longer valid",
  invitationSpentText: "It was already used or withdrawn, and nothing was asked or sent. If you have not answered yet, please ask the person who invited you for a new one.",
  invitationRefusedText: "Your report was not accepted: the invitation was already used or withdrawn. Please ask the person who invited you for a new one; the same report is then sent with it.",
  test: "This is a test of a survey, to try it before it opens. Test reports are counted separately, and deleted when it opens.",
  planned: "This survey is not open yet",
  plannedText: "You can answer from {moment} on. Nothing was asked or sent.",
  closed: "This survey has ended",
  closedOperator: "It accepts no more answers. Thank you for your interest.",
  closedDeadline: "You could answer until {moment}. Thank you for your interest.",
  closedQuota: "Enough people have answered already. Thank you for your interest.",
  closedRelay: "Its relay, {host}, accepts no reports for it. Thank you for your interest.",

  // Descriptions of the named designs.
  quoted: "“{text}”",
  chanceOf: "{some} of {all}",
  designFor: "For {questions}: {said}",
  "design-warner": "in {p} cases the device reports the answer, and in {not_p} cases the other one.",
  "design-forced-response": "in {yes} cases the device reports “{Yes}” and in {no} cases “{No}”, whatever the answer is, and otherwise the answer.",
  "design-unrelated-question": "in {p} cases the device reports the answer. Otherwise it reports the answer to a harmless question that nobody is asked: the device draws “{Yes}” in {prevalence} cases.",
  "design-kuk": "the device draws a card from one of two decks and reports only its colour, “{Yes}” for red and “{No}” for black. In the deck for “{Yes}”, {theta1} cards are red; in the deck for “{No}”, {theta2}.",
  "design-crosswise": "the device draws the answer to a harmless question that nobody is asked, “{Yes}” in {prevalence} cases. It reports “{Yes}” if both answers are the same, and otherwise “{No}”.",
  "design-triangular": "the device draws the answer to a harmless question that nobody is asked, “{Yes}” in {prevalence} cases. It reports “{No}” if both answers are “{No}”, and otherwise “{Yes}”.",
  "design-mangat": "the device reports “{Yes}” if that is the answer. If it is “{No}”, it reports “{No}” in {p} cases, and otherwise “{Yes}”.",
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
