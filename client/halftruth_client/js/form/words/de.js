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
  picked: {
    one: "Von {all} Fragen betrifft der Bericht diese eine",
    other: "Von {all} Fragen betrifft der Bericht diese {some}",
  },
  reportedOn: "Der Bericht betrifft",
  decides: {
    one: "Eine der gestellten Fragen entscheidet nur, was sonst gefragt wird.",
    other: "{count} der gestellten Fragen entscheiden nur, was sonst gefragt wird.",
  },
  decided: "Nur gefragt, um zu entscheiden, was sonst gefragt wird",
  sameOfOthers: "Der Zufall macht dasselbe auch aus anderen Antworten.",
  code: "Gesendeter Code",
  likelier: "wahrscheinlicher bei {some} der {all} möglichen Kombinationen von Antworten",
  sendThis: "Von {base} Menschen senden so viele genau das",
  sendThisDrawn:
    "Von {base} Menschen, deren Bericht dieselben Fragen betrifft, senden so viele genau das",
  withYours: "mit Ihren Antworten: {figure}",
  withOthers: "mit anderen Antworten: {figure}",
  withAny: "mit beliebigen Antworten: {figure}",
  withOthersProtected: "mit anderen geschützten Antworten: {figure}",
  withAnyProtected: "mit beliebigen geschützten Antworten: {figure}",
  alsoOthers: "auch bei anderer Antwort gesendet: {figure}",
  about: "etwa {count}",
  fewerThan: "weniger als {count}",
  moreThan: "mehr als {count}",
  noneOf: "niemand",
  allOf: "alle",
  range: "von {least} bis {most}",
  ofBase: "{figure} von {base}",

  loading: "Die Fragen werden geladen …",
  back: "Zurück",
  continue: "Weiter",
  retry: "Noch einmal versuchen",

  // Before the first question.
  opening: "Bevor Sie beginnen",
  askedBy: "Wer fragt",
  purpose: "Wozu",
  contact: "Kontakt",
  privacyNotice: "Datenschutzhinweise",
  protection: "So werden Ihre Antworten geschützt",
  chance:
    "Der Zufall macht auf diesem Gerät aus Ihren Antworten einen Bericht. Nur der wird gesendet." +
    " Berichte, die zu Ihren Antworten passen: {figure}.",
  chanceOthers:
    "Der Zufall macht auf diesem Gerät aus Ihren übrigen Antworten einen Bericht. Berichte, die" +
    " dazu passen: {figure}.",
  certain:
    "Niemand, der die Daten sammelt, stiehlt oder verlangt, kann daraus sicher erkennen, was Sie" +
    " geantwortet haben.",
  certainMostly:
    "Außer dem, was hier genannt ist, kann niemand, der die Daten sammelt, stiehlt oder verlangt," +
    " daraus sicher erkennen, was Sie geantwortet haben.",
  lasting: "Gesendetes lässt sich nicht zurücknehmen. Dass Sie teilnehmen, wird nicht verborgen.",
  pace: "Wie lange Sie brauchen, kann zeigen, welche Fragen Ihnen gestellt wurden.",
  relayClosing:
    "Eine Zwischenstelle, {host}, nimmt den Bericht an und kann ihn nicht lesen. Nach dem Ende" +
    " der Umfrage gibt sie alle gemischt weiter, wenn es mindestens {batch} sind.",
  relayBatches:
    "Eine Zwischenstelle, {host}, nimmt den Bericht an und kann ihn nicht lesen. Sie gibt" +
    " Berichte gemischt weiter, mindestens {batch} auf einmal.",
  relayWaves:
    "Die Zahl zur Zwischenstelle gilt für diese Welle allein; jede weitere Welle kommt hinzu.",
  series:
    "Sie werden vielleicht wieder gefragt: Das ist Welle {wave} einer Reihe. Dieser Browser zählt" +
    " mit und lehnt eine Welle ab, die mehr verraten würde als versprochen. In einem anderen" +
    " Browser, einem privaten Fenster oder nach dem Löschen der Daten dieser Seite beginnt die" +
    " Zählung von vorn.",
  ledger: "Bisher in diesem Browser gezählt",
  ledgerTells: "Was andere höchstens erfahren",
  ledgerWhole: {
    one: "Alle Antworten zusammen, in einem Bericht",
    other: "Alle Antworten zusammen, in {count} Berichten",
  },
  ledgerQuestion: {
    one: "{label} (in einem Bericht, für jemanden, der die anderen Antworten schon kennt)",
    other: "{label} (in {count} Berichten, für jemanden, der die anderen Antworten schon kennt)",
  },
  ledgerNote:
    "Jede Umfrage zählt einmal, wer auch immer sie in diesem Browser beantwortet hat. Was" +
    " gesendet wurde, bleibt beim Server der Umfrage und wird nicht mehr mitgezählt. Bitte" +
    " löschen Sie die Zählung nur, wenn vorher jemand anderes geantwortet hat.",
  forgetLedger: "Zählung löschen",
  forgetHeading: "Zählung löschen?",
  forgetCost:
    "Aus dem, was bisher gesendet wurde, können andere erfahren: {spent}. Ist die Zählung" +
    " gelöscht, lässt dieser Browser alles Versprochene noch einmal zu. Zusammen könnten andere" +
    " dann erfahren: {total}.",
  forgetYes: "Ja, löschen",
  learn: "Was erfahren andere über Sie?",
  suppose: "Angenommen, {count} von 100 Menschen haben ein Geheimnis. Von 100 haben es …",
  atMost: "höchstens {count}",
  before: "bevor jemand antwortet",
  after: "wenn sie dasselbe senden wie Sie und es zum Geheimnis passt",
  afterSingle: "ebenso für eine einzelne Antwort, wenn andere alle übrigen schon kennen",
  afterSeries: "wenn sie in allen Wellen dasselbe senden wie Sie und alles passt",
  relayApart:
    "wenn Zwischenstelle und Fragende nicht zusammenarbeiten und die anderen ehrlich antworten",
  relayTogether: "wenn sie zusammenarbeiten",
  ordinary: "wenn sie es in gewöhnlichen Umfragen zugeben",
  exactly: "Dasselbe genau gesagt",
  unperturbed: "Wird ohne Schutz so gesendet, wie Sie antworten: {labels}.",
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
  single: "Eine einzelne Antwort, für jemanden, der alle anderen Antworten schon kennt: {bound}.",
  bound: "von {prior} auf höchstens {posterior} (γ = {gamma})",
  promiseSeries:
    "{whose}, aus allen Wellen dieser Reihe zusammen: {bound}. Das Gerät, auf dem geantwortet wird," +
    " zählt mit und lehnt eine Welle ab, die das überschreiten würde.",
  boundless: "keine Grenze, weil ein Bericht eine Antwort beweisen kann (γ unendlich)",
  relayed:
    "Wenn Zwischenstelle und Fragende nicht zusammenarbeiten und die anderen ehrlich antworten:" +
    " von 100 Menschen höchstens {apart}. Wenn sie zusammenarbeiten: höchstens {together}.",
  relayTooSmall:
    "Eine Zwischenstelle gibt Berichte weiter, aber Sammlungen von {batch} sind zu klein, um mehr" +
    " zu versprechen als ein Bericht für sich: von 100 Menschen höchstens {together}.",
  relayedThrough:
    "Über die Zwischenstelle, in Sammlungen von mindestens {batch} Berichten, kann das, was" +
    " jemand bei 5 von 100 Menschen vermutete, nur so viel wahrscheinlicher werden. {relayed}",
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
    "Dieser Browser merkt sich nichts für diese Seite. Wenn Sie ihre Adresse noch einmal öffnen," +
    " werden Sie noch einmal gefragt, und ein zweiter Bericht würde mehr über Sie verraten. Bitte" +
    " antworten Sie nur einmal.",
  consent: "Ihre Einwilligung",
  consentMissing:
    "Bitte kreuzen Sie das an, wenn Sie einverstanden sind; vorher wird nichts gefragt.",
  begin: "Beginnen",

  // The questions.
  answers: "Ihre Antworten",
  place: "{title} ({number} von {count})",
  drawn: {
    one:
      "Sie beantworten eine der {all} Fragen, auf diesem Gerät ausgelost; über die anderen wird" +
      " nichts gesendet.",
    other:
      "Sie beantworten {some} der {all} Fragen, auf diesem Gerät ausgelost; über die anderen wird" +
      " nichts gesendet.",
  },
  optional: "(Sie können das auslassen)",
  takeBack: "Meine Antwort zurücknehmen",
  choose: "Bitte wählen …",
  severalHint: "Wählen Sie alles, was zutrifft.",
  none: "Nichts davon",
  wholeNumber: "Eine ganze Zahl von {minimum} bis {maximum}.",
  number: "Eine Zahl von {minimum} bis {maximum}.",
  readAs: "Gelesen als {number}.",
  missing: "Bitte wählen Sie eine Antwort.",
  missingSeveral: "Bitte wählen Sie, was zutrifft, oder dass nichts davon zutrifft.",
  missingWhole: "Bitte geben Sie eine ganze Zahl von {minimum} bis {maximum} ein.",
  missingNumber: "Bitte geben Sie eine Zahl von {minimum} bis {maximum} ein.",

  // Before sending.
  review: "Noch ist nichts gesendet",
  draw:
    "Wenn Sie absenden, macht der Zufall auf diesem Gerät aus Ihren Antworten einen Bericht. Er" +
    " kann zu ihnen passen oder nicht, und niemand, der ihn sieht, kann das sicher wissen. Nur" +
    " der Bericht wird gesendet, und Sie werden ihn sehen.",
  drawProving:
    "Wenn Sie absenden, macht der Zufall auf diesem Gerät aus Ihren Antworten einen Bericht. Nur" +
    " der Bericht wird gesendet, und Sie werden ihn sehen.",
  send: "Absenden",

  // After sending.
  thanks: "Vielen Dank",
  counted: "Ihr Bericht wurde gezählt.",
  withRelay:
    "Die Zwischenstelle hat Ihren Bericht und gibt ihn mit mindestens {count} anderen weiter;" +
    " sind es weniger, gibt sie keinen weiter.",
  answeredHere: "In diesem Browser wurde schon geantwortet",
  answeredHereText:
    "Ein Bericht aus diesem Browser ist angekommen. Wenn es Ihrer war, ist alles erledigt: vielen" +
    " Dank. Wenn es der von jemand anderem war: Diese Umfrage nimmt einen Bericht aus jedem" +
    " Browser an, benutzen Sie also bitte ein anderes Gerät.",
  answeredHereShared:
    "Ein Bericht aus diesem Browser ist angekommen. Wenn es Ihrer war, ist alles erledigt: vielen" +
    " Dank. Wenn es der von jemand anderem war, können Sie jetzt hier antworten.",
  keptForLater: "Für später aufgehoben",
  waiting:
    "Der Server der Umfrage hat Ihren Bericht noch nicht bestätigt. Er wird in diesem Browser" +
    " aufgehoben und gesendet, sobald es geht, spätestens wenn Sie diese Seite wieder öffnen.",
  open:
    "Der Server der Umfrage hat Ihren Bericht noch nicht bestätigt. Er wird gesendet, sobald es" +
    " geht, solange diese Seite offen ist. Dieser Browser merkt sich nichts dafür: Bitte lassen" +
    " Sie die Seite offen.",
  held:
    "Damit weniger davon zu sehen ist, wie lange Sie brauchten, wird Ihr Bericht frühestens am {moment} gesendet.",
  nothingElse: "Von Ihren Antworten hat nichts außer dem Bericht dieses Gerät verlassen.",
  sent: "Das wurde gesendet",
  receipt:
    "Niemand, der den Bericht sieht, kann sicher wissen, was Sie geantwortet haben. Diese Seite" +
    " zeigt ihn nur jetzt.",
  learnt: "Was andere daraus erfahren können",
  learntProtected: "Was andere daraus über Ihre geschützten Antworten erfahren können",
  learntSame:
    "Von 100 Menschen, die dasselbe senden, haben höchstens {after} ein Geheimnis, das {before}" +
    " von 100 Menschen haben.",
  learntRelay: "Nehmen wir ein Geheimnis, das {before} von 100 Menschen haben. {relayed}",
  receiptProving: "Diese Seite zeigt das nur jetzt.",
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
  enough: "Es wurde schon genug verraten",
  seriesSpent:
    "Zusammen mit dem, was aus diesem Browser schon gesendet wurde, würde diese Welle mehr über Sie" +
    " verraten, als für die ganze Reihe versprochen wurde. Deshalb wurde nichts gefragt oder gesendet.",
  totalSpent:
    "Zusammen mit dem, was aus diesem Browser schon gesendet wurde, würde diese Umfrage mehr über Sie" +
    " verraten, als diese Seite für alle Umfragen zulässt. Deshalb wurde nichts gefragt oder gesendet.",
  waveAnswered:
    "Diese Welle wurde in diesem Browser unter einem anderen Namen beantwortet. Ein zweiter Bericht" +
    " über dieselben Antworten würde mehr über Sie verraten. Deshalb wurde nichts gefragt oder gesendet.",
  notCounted:
    "Hier muss gezählt werden, was alle Ihre Berichte zusammen verraten. Dieser Browser merkt sich" +
    " nichts für diese Seite, deshalb ist das nicht möglich, und es wurde nichts gefragt oder gesendet." +
    " Erlauben Sie der Seite, Daten zu speichern, oder nehmen Sie einen anderen Browser.",
  unforeseen: "etwas Unvorhergesehenes ist schiefgegangen",
  refused: "Ihr Bericht wurde nicht gezählt",
  refusedText: "Der Server der Umfrage hat ihn abgelehnt. Der Grund, auf Englisch: {message}.",
  late: "Sie waren zu spät",
  lateText: "Es wurde nichts gezählt. Trotzdem vielen Dank.",
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
