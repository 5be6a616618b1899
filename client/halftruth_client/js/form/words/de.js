/** All that the form says, in German. */

/** @type {import("../words.js").Vocabulary} */
export default {
  language: "Sprache",
  yes: "ja",
  no: "nein",
  noAnswer: "Keine Antwort",
  wasNotAsked: "Nicht gefragt",
  fromTo: "{low} bis {high}",
  fromUnder: "{low} bis unter {high}",
  picked: "Ihr Gerät hat {some} der {all} Fragen zufällig ausgewählt",
  reportedOn: "Ihr Gerät hat hierzu etwas gemeldet",
  code: "Es hat diesen Code gesendet",
  likelier: {
    one: "Der Code ist hierbei {gamma}-mal so wahrscheinlich wie bei jeder anderen Antwort",
    other: "Der Code ist hierbei {gamma}-mal so wahrscheinlich wie bei anderen Antworten",
  },
  likelierSome:
    "Der Code ist hierbei und bei einigen mehr {gamma}-mal so wahrscheinlich wie bei anderen Antworten",

  loading: "Die Fragen werden geladen …",
  back: "Zurück",
  continue: "Weiter",
  retry: "Noch einmal versuchen",

  // Before the first question.
  opening: "Bevor Sie beginnen",
  askedBy: "Wer fragt",
  purpose: "Wozu",
  protection: "So werden Ihre Antworten geschützt",
  stays:
    "Was Sie antworten, bleibt auf diesem Gerät. Niemand sonst bekommt es zu sehen, auch nicht die," +
    " die Sie fragen.",
  staysMostly:
    "Was Sie antworten, bleibt auf diesem Gerät, außer dem, was unten genannt ist. Niemand sonst" +
    " bekommt es zu sehen, auch nicht die, die Sie fragen.",
  chance:
    "Wenn Sie absenden, lässt dieses Gerät den Zufall Ihre Antworten verändern, als ob es würfelt." +
    " Nur was dabei herauskommt, wird gesendet. Das kann sein, was Sie geantwortet haben, oder" +
    " etwas anderes.",
  togetherProving:
    "Meistens kann niemand wissen, was von beidem es ist; was sich beweisen lässt, ist unten" +
    " genannt. Aber aus dem, was viele Menschen senden, lässt sich ausrechnen, wie viele was" +
    " geantwortet haben.",
  together:
    "Wer es sieht, kann nicht wissen, was von beidem es ist. Aber aus dem, was viele Menschen" +
    " senden, lässt sich ausrechnen, wie viele was geantwortet haben.",
  learn: "Wie viel kann jemand über Sie erfahren?",
  suppose:
    "Angenommen, jemand vermutet etwas über Sie und hält es zu {prior} für wahrscheinlich. Wer dann" +
    " sieht, was Sie senden, kann es höchstens für so wahrscheinlich halten:",
  before: "was vorher vermutet wurde",
  afterWhole: "über alle Ihre Antworten zusammen",
  afterSingle: "über eine einzelne Antwort",
  afterKnown: "über eine einzelne Antwort, wenn alle anderen bekannt sind",
  afterUnknown: "über eine einzelne Antwort, wenn keine der anderen bekannt ist",
  exactly: "Dasselbe genau gesagt",
  bare: "Wird ohne Schutz so gesendet, wie Sie antworten: {labels}.",
  provable:
    "Bei „{label}“ kann ein Bericht die Antwort „{answer}“ beweisen, die nach Angabe dieser Umfrage" +
    " nicht heikel ist. „{other}“ beweist er nie: {bound}.",
  unbounded: "Es gibt keine Grenze: Ein Bericht kann eine Antwort beweisen (γ ist unendlich).",
  promise:
    "{whose}: Was jemand zu {prior} für wahrscheinlich hielt, kann ein Bericht höchstens zu {posterior}" +
    " wahrscheinlich machen, egal wer das ist und was sonst noch bekannt ist (γ = {gamma}," +
    " ε = {epsilon}).",
  whole: "Alle Antworten zusammen",
  others: "Alle übrigen Antworten zusammen",
  single: "Eine einzelne Antwort: {bound}, ob die anderen Antworten bekannt sind oder nicht.",
  singleOfBoth:
    "Eine einzelne Antwort: {known} für jemanden, der alle anderen Antworten kennt, und {unknown}" +
    " für jemanden, der keine davon kennt.",
  bound: "von {prior} auf höchstens {posterior} (γ = {gamma})",
  boundless: "keine Grenze, weil ein Bericht eine Antwort beweisen kann (γ unendlich)",
  timed:
    "Manche Fragen werden nur nach bestimmten Antworten gestellt. Ob sie gestellt wurden, kann die Dauer" +
    " zeigen, wenn jemand sieht, wann das Formular geladen wird und wann der Bericht ankommt; dafür gilt" +
    " keine Grenze.",
  closesAt: "Sie können bis {moment} antworten.",
  maxReports: {
    one: "Die Umfrage endet mit dem ersten Bericht.",
    other: "Die Umfrage endet, sobald {count} Menschen geantwortet haben.",
  },
  forgetful:
    "Dieser Browser merkt sich nichts für diese Seite. Ihr Bericht ist bekannt, solange die Seite" +
    " offen ist. Bitte antworten Sie nicht noch einmal, nachdem Sie sie geschlossen haben, denn ein" +
    " zweiter Bericht würde mehr über Sie verraten.",
  consent: "Ihre Einwilligung",
  consentMissing:
    "Bitte kreuzen Sie das an, wenn Sie einverstanden sind; vorher wird nichts gefragt.",
  practise: "An einer harmlosen Frage ausprobieren",
  begin: "Beginnen",

  // The practice round.
  practice: "Eine Übungsrunde",
  practiceLead:
    "Das ist nur zum Ausprobieren: Nichts davon wird gesendet oder behalten, und mit Ihren Antworten" +
    " hat es nichts zu tun. Wählen Sie eine Antwort und lassen Sie den Zufall wirken, so oft Sie" +
    " möchten.",
  practiceQuestion: "Welche Farbe mögen Sie am liebsten?",
  practiceAnswers: ["Rot", "Blau", "Grün", "Gelb", "Schwarz", "Weiß", "Rosa", "Braun"],
  practiceYesNo: "Mögen Sie Regen?",
  practiceYesNoAnswers: ["nein", "ja"],
  practiceDraw: "Den Zufall wirken lassen",
  practiceFits: "Das würde gesendet: {sent}. Es ist das, was Sie gewählt haben.",
  practiceDiffers: "Das würde gesendet: {sent}. Es ist nicht das, was Sie gewählt haben.",
  practiceTally: "Bisher kam {fits} von {tries} Mal heraus, was Sie gewählt hatten.",
  practiceLesson:
    "Wer eines davon sieht, kann nicht wissen, ob es das ist, was Sie gewählt haben. Viele zusammen" +
    " würden Sie verraten: Deshalb gibt es in der Umfrage nur eines, nach denselben Regeln und" +
    " genauso sehr dem Zufall überlassen, und Sie sehen es, sobald es gesendet ist.",

  // The questions.
  answers: "Ihre Antworten",
  place: "{title} ({number} von {count})",
  drawn:
    "Diese Umfrage hat {all} Fragen, und Ihnen werden {some} davon gestellt. Welche, hat dieses" +
    " Gerät ausgelost, bevor Sie irgendetwas geantwortet haben; über die anderen wird nichts gesendet.",
  optional: "(Sie können das auslassen)",
  takeBack: "Meine Antwort zurücknehmen",
  choose: "Bitte wählen …",
  severalHint: "Wählen Sie alles, was zutrifft.",
  none: "Nichts davon",
  wholeNumber: "Eine ganze Zahl von {minimum} bis {maximum}.",
  number: "Eine Zahl von {minimum} bis {maximum}.",
  missing: "Bitte wählen Sie eine Antwort.",
  missingSeveral: "Bitte wählen Sie, was zutrifft, oder dass nichts davon zutrifft.",
  missingWhole: "Bitte geben Sie eine ganze Zahl von {minimum} bis {maximum} ein.",
  missingNumber: "Bitte geben Sie eine Zahl von {minimum} bis {maximum} ein.",

  // Before sending.
  review: "Noch ist nichts gesendet",
  stayHere: "Ihre Antworten bleiben hier",
  draw:
    "Wenn Sie absenden, macht dieses Gerät mit Hilfe des Zufalls aus Ihren Antworten einen Bericht." +
    " Er kann zu ihnen passen oder nicht, und niemand, der ihn sieht, kann das erkennen. Nur der" +
    " Bericht wird gesendet, und Sie werden ihn sehen.",
  drawProving:
    "Wenn Sie absenden, macht dieses Gerät mit Hilfe des Zufalls aus Ihren Antworten einen Bericht." +
    " Er kann zu ihnen passen oder nicht. Nur der Bericht wird gesendet, und Sie werden ihn sehen.",
  send: "Einen Bericht senden",

  // After sending.
  thanks: "Vielen Dank",
  counted: "Ihr Bericht wurde gezählt.",
  answeredHere: "In diesem Browser wurde schon geantwortet",
  answeredHereText:
    "Ein Bericht aus diesem Browser wurde gezählt. Wenn es Ihrer war, ist alles erledigt: vielen" +
    " Dank. Wenn es der von jemand anderem war: Diese Umfrage nimmt einen Bericht aus jedem Browser" +
    " an, benutzen Sie also bitte ein anderes Gerät.",
  answeredHereShared:
    "Ein Bericht aus diesem Browser wurde gezählt. Wenn es Ihrer war, ist alles erledigt: vielen" +
    " Dank. Wenn es der von jemand anderem war, können Sie jetzt hier antworten.",
  keptForLater: "Für später aufgehoben",
  waiting:
    "Der Server der Umfrage hat Ihren Bericht noch nicht bestätigt. Er wird in diesem Browser" +
    " aufgehoben und gesendet, sobald es geht, spätestens wenn Sie diese Seite wieder öffnen.",
  open:
    "Der Server der Umfrage hat Ihren Bericht noch nicht bestätigt. Er wird gesendet, sobald es" +
    " geht, solange diese Seite offen ist. Dieser Browser merkt sich nichts dafür: Bitte lassen Sie" +
    " die Seite offen.",
  held:
    "Damit weniger davon zu sehen ist, wie lange Sie brauchten, wird Ihr Bericht frühestens am {moment} gesendet.",
  neverLeft: "Was Sie wirklich geantwortet haben, hat dieses Gerät nie verlassen.",
  nothingElse: "Nichts außer dem Bericht hat dieses Gerät verlassen.",
  othersNeverLeft: "Ihre anderen Antworten haben dieses Gerät nie verlassen.",
  stayed: "Das ist hier geblieben",
  sent: "Das wurde gesendet",
  receipt:
    "Der Zufall hat es aus Ihren Antworten gemacht, und es muss nicht zu ihnen passen. Es wird nur" +
    " dieses eine Mal gezeigt, und nur Ihnen.",
  again: "Denselben Bericht noch einmal senden",
  another: "Als andere Person antworten",
  anotherHeading: "Sind Sie jemand anderes?",
  anotherText:
    "Bitte machen Sie nur weiter, wenn Sie noch nicht geantwortet haben. Ein zweiter Bericht" +
    " derselben Person würde mehr über sie verraten. Von der Person, die vorher geantwortet hat," +
    " wird nichts gezeigt.",
  anotherYes: "Ich habe noch nicht geantwortet",
  goOn: "Weiter zu {host}",
  goesOn: {
    one: "Diese Seite geht in {count} Sekunde dorthin.",
    other: "Diese Seite geht in {count} Sekunden dorthin.",
  },
  stay: "Hier bleiben",

  // What went wrong.
  unreachable: "Die Umfrage ist nicht zu erreichen",
  unreachableText: "Bitte versuchen Sie es in einer Weile noch einmal.",
  notAsked: "Diese Umfrage kann hier nicht beantwortet werden",
  nothingSent: "Es wurde nichts gesendet. Der Grund, auf Englisch: {message}.",
  mayHaveLeft: "Vielleicht wurde ein Bericht gesendet. Was nicht ging, auf Englisch: {message}.",
  answeredBefore: "Schon beantwortet",
  answeredBeforeText:
    "In diesem Browser wurde eine andere Fassung dieser Umfrage beantwortet. Ein zweiter Bericht" +
    " über dieselben Antworten würde mehr über Sie verraten, deshalb wird nichts weiter gefragt" +
    " oder gesendet.",
  unforeseen: "etwas Unvorhergesehenes ist schiefgegangen",
  refused: "Ihr Bericht zählt nicht",
  refusedText: "Der Server der Umfrage hat ihn abgelehnt. Der Grund, auf Englisch: {message}.",
  refusedLate: "Er kam zu spät und wurde nicht gezählt. Trotzdem vielen Dank.",
  invitationMissing: "Sie brauchen eine Einladung",
  invitationMissingText:
    "An dieser Umfrage kann man nur mit einer Einladung teilnehmen. Bitte öffnen Sie den Link, der" +
    " Ihnen geschickt wurde.",
  invitationUnreadable: "Diese Einladung ist nicht lesbar",
  invitationUnreadableText:
    "Vielleicht fehlt ein Teil davon. Bitte öffnen Sie den ganzen Link, der Ihnen geschickt wurde.",
  invitationSpent: "Diese Einladung gilt nicht mehr",
  invitationSpentText:
    "Sie wurde schon benutzt oder zurückgezogen; es wurde nichts gefragt und nichts gesendet. Wenn" +
    " Sie noch nicht geantwortet haben, bitten Sie die Person, die Sie eingeladen hat, um eine neue.",
  invitationRefusedText:
    "Ihr Bericht wurde nicht angenommen: Die Einladung wurde schon benutzt oder zurückgezogen. Bitten" +
    " Sie die Person, die Sie eingeladen hat, um eine neue; mit ihr wird derselbe Bericht gesendet.",
  closed: "Diese Umfrage ist beendet",
  closedOperator: "Sie nimmt keine Antworten mehr an. Vielen Dank für Ihr Interesse.",
  closedDeadline: "Sie konnte bis {moment} beantwortet werden. Vielen Dank für Ihr Interesse.",
  closedQuota: "Es haben schon genug Menschen geantwortet. Vielen Dank für Ihr Interesse.",

  // What the device does under a named design.
  quoted: "„{text}“",
  chanceOf: "{some} von {all}",
  designFor: "Für {questions} gilt: {said}",
  "design-warner": "In {p} Fällen meldet das Gerät die Antwort, in {not_p} Fällen die andere.",
  "design-forced-response":
    "In {yes} Fällen meldet das Gerät „{Yes}“, egal wie die Antwort lautet, in {no} Fällen „{No}“," +
    " und sonst die Antwort.",
  "design-unrelated-question":
    "In {p} Fällen meldet das Gerät die Antwort. Sonst meldet es die Antwort auf eine harmlose Frage," +
    " die niemandem gestellt wird: Das Gerät zieht „{Yes}“ in {prevalence} Fällen.",
  "design-kuk":
    "Das Gerät zieht eine Karte aus einem von zwei Stapeln und meldet nur ihre Farbe, „{Yes}“ für Rot" +
    " und „{No}“ für Schwarz. Rot ist die Karte aus dem Stapel für „{Yes}“ in {theta1} Fällen, die" +
    " aus dem für „{No}“ in {theta2} Fällen.",
  "design-crosswise":
    "Das Gerät zieht die Antwort auf eine harmlose Frage, die niemandem gestellt wird, „{Yes}“ in" +
    " {prevalence} Fällen. Es meldet „{Yes}“, wenn beide Antworten gleich sind, und sonst „{No}“.",
  "design-triangular":
    "Das Gerät zieht die Antwort auf eine harmlose Frage, die niemandem gestellt wird, „{Yes}“ in" +
    " {prevalence} Fällen. Es meldet „{No}“, wenn beide Antworten „{No}“ lauten, und sonst „{Yes}“.",
  "design-mangat":
    "Das Gerät meldet „{Yes}“, wenn das die Antwort ist. Lautet sie „{No}“, so meldet es in {p} Fällen" +
    " „{No}“, und sonst „{Yes}“.",
};
