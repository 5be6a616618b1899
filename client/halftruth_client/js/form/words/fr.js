/** All that the form says, in French, with its narrow no-break spaces before signs and in quotes. */

/** @type {import("../words.js").Vocabulary} */
export default {
  language: "Langue",
  yes: "oui",
  no: "non",
  noAnswer: "Pas de réponse",
  wasNotAsked: "Question non posée",
  fromTo: "{low} à {high}",
  fromUnder: "{low} à moins de {high}",
  picked: "Votre appareil a choisi au hasard {some} des {all} questions",
  reportedOn: "Votre appareil a envoyé quelque chose sur",
  code: "Il a envoyé ce code",
  likelier: {
    one: "Ce code est {gamma} fois plus probable avec ceci qu’avec toute autre réponse",
    other: "Ce code est {gamma} fois plus probable avec ceci qu’avec d’autres réponses",
  },
  likelierSome:
    "Ce code est {gamma} fois plus probable avec ceci et quelques autres qu’avec le reste des réponses",

  loading: "Chargement des questions…",
  back: "Retour",
  continue: "Continuer",
  retry: "Réessayer",

  // Before the first question.
  opening: "Avant de commencer",
  askedBy: "Qui vous interroge",
  purpose: "Dans quel but",
  protection: "Comment vos réponses sont protégées",
  stays:
    "Ce que vous répondez reste sur cet appareil. Personne d’autre ne le voit, pas même les personnes" +
    " qui vous interrogent.",
  staysMostly:
    "Ce que vous répondez reste sur cet appareil, sauf ce qui est indiqué plus bas. Personne d’autre" +
    " ne le voit, pas même les personnes qui vous interrogent.",
  chance:
    "Au moment de l’envoi, cet appareil laisse le hasard changer vos réponses, comme s’il lançait des" +
    " dés. Seul le résultat est envoyé. C’est peut-être ce que vous avez répondu, peut-être autre" +
    " chose.",
  togetherProving:
    "Le plus souvent, personne ne peut savoir lequel des deux ; ce qui peut être prouvé est indiqué" +
    " plus bas. Mais avec les envois de beaucoup de personnes, on peut calculer combien ont répondu" +
    " quoi.",
  together:
    "Quand on voit ce résultat, on ne peut pas savoir lequel des deux c’est. Mais avec les envois de" +
    " beaucoup de personnes, on peut calculer combien ont répondu quoi.",
  learn: "Que peut-on apprendre sur vous ?",
  suppose:
    "Imaginons que quelqu’un devine quelque chose sur vous et le juge probable à {prior}. Après avoir" +
    " vu ce que vous envoyez, cette personne peut le juger probable, au maximum, à :",
  before: "ce qu’elle pensait avant",
  afterWhole: "sur toutes vos réponses ensemble",
  afterSingle: "sur une seule réponse",
  afterKnown: "sur une seule réponse, si elle connaît toutes les autres",
  afterUnknown: "sur une seule réponse, si elle n’en connaît aucune autre",
  exactly: "La même chose en termes exacts",
  bare: "Envoyé tel que vous répondez, sans protection : {labels}.",
  provable:
    "Pour « {label} », un rapport peut prouver la réponse « {answer} », que cette enquête ne considère" +
    " pas comme sensible. Il ne prouve jamais « {other} » : {bound}.",
  unbounded: "Il n’y a pas de limite : un rapport peut prouver une réponse (γ est infini).",
  promise:
    "{whose} : ce que quelqu’un jugeait probable à {prior}, un rapport peut le rendre probable à" +
    " {posterior} au maximum, qui que ce soit et quoi que cette personne sache par ailleurs" +
    " (γ = {gamma}, ε = {epsilon}).",
  whole: "Toutes les réponses ensemble",
  others: "Toutes les autres réponses ensemble",
  single: "Une seule réponse : {bound}, que les autres réponses soient connues ou non.",
  singleOfBoth:
    "Une seule réponse : {known} pour quelqu’un qui connaît toutes les autres réponses, et {unknown}" +
    " pour quelqu’un qui n’en connaît aucune.",
  bound: "de {prior} à {posterior} au maximum (γ = {gamma})",
  boundless: "aucune limite, car un rapport peut prouver une réponse (γ infini)",
  timed:
    "Certaines questions ne sont posées qu’après certaines réponses. Le temps passé peut montrer si elles" +
    " ont été posées, à qui voit quand le formulaire est chargé et quand le rapport arrive ; aucune borne" +
    " ne couvre cela.",
  closesAt: "Vous pouvez répondre jusqu’au {moment}.",
  maxReports: {
    one: "L’enquête se termine avec le premier rapport.",
    other: "L’enquête se termine dès que {count} personnes ont répondu.",
  },
  forgetful:
    "Ce navigateur ne garde rien pour cette page. Votre rapport est connu tant que la page est" +
    " ouverte ; merci de ne pas répondre de nouveau après l’avoir fermée, car un second rapport en" +
    " dirait plus sur vous.",
  consent: "Votre accord",
  consentMissing: "Cochez ceci si vous êtes d’accord ; rien n’est demandé avant.",
  practise: "Essayer avec une question sans importance",
  begin: "Commencer",

  // The practice round.
  practice: "Un tour d’essai",
  practiceLead:
    "C’est seulement pour essayer : rien n’est envoyé ni gardé, et cela n’a rien à voir avec vos" +
    " réponses. Choisissez une réponse et laissez faire le hasard, aussi souvent que vous voulez.",
  practiceQuestion: "Quelle couleur préférez-vous ?",
  practiceAnswers: ["rouge", "bleu", "vert", "jaune", "noir", "blanc", "rose", "marron"],
  practiceYesNo: "Aimez-vous la pluie ?",
  practiceYesNoAnswers: ["non", "oui"],
  practiceDraw: "Laisser faire le hasard",
  practiceFits: "Ceci serait envoyé : {sent}. C’est ce que vous avez choisi.",
  practiceDiffers: "Ceci serait envoyé : {sent}. Ce n’est pas ce que vous avez choisi.",
  practiceTally: "Jusqu’ici, {fits} fois sur {tries}, c’était ce que vous aviez choisi.",
  practiceLesson:
    "Quand on en voit un seul, on ne peut pas savoir si c’est ce que vous avez choisi. Beaucoup" +
    " ensemble vous trahiraient : c’est pourquoi il n’y en a qu’un dans l’enquête, avec les mêmes" +
    " règles et la même part de hasard, et vous le verrez dès qu’il sera envoyé.",

  // The questions.
  answers: "Vos réponses",
  place: "{title} ({number} sur {count})",
  drawn:
    "Cette enquête a {all} questions, et on vous en pose {some}. Cet appareil a tiré au sort lesquelles," +
    " avant toute réponse de votre part ; rien n’est envoyé sur les autres.",
  optional: "(vous pouvez laisser vide)",
  takeBack: "Retirer ma réponse",
  choose: "Choisir…",
  severalHint: "Choisissez tout ce qui convient.",
  none: "Rien de tout cela",
  wholeNumber: "Un nombre entier de {minimum} à {maximum}.",
  number: "Un nombre de {minimum} à {maximum}.",
  missing: "Veuillez choisir une réponse.",
  missingSeveral: "Veuillez choisir ce qui convient, ou que rien ne convient.",
  missingWhole: "Veuillez saisir un nombre entier de {minimum} à {maximum}.",
  missingNumber: "Veuillez saisir un nombre de {minimum} à {maximum}.",

  // Before sending.
  review: "Rien n’a encore été envoyé",
  stayHere: "Vos réponses restent ici",
  draw:
    "Au moment de l’envoi, un tirage au sort sur cet appareil fait un rapport de vos réponses. Il peut" +
    " leur correspondre ou non, et personne ne peut le savoir en le voyant. Seul le rapport est envoyé," +
    " et vous le verrez.",
  drawProving:
    "Au moment de l’envoi, un tirage au sort sur cet appareil fait un rapport de vos réponses. Il peut" +
    " leur correspondre ou non. Seul le rapport est envoyé, et vous le verrez.",
  send: "Envoyer un rapport",

  // After sending.
  thanks: "Merci",
  counted: "Votre rapport a été compté.",
  answeredHere: "On a déjà répondu dans ce navigateur",
  answeredHereText:
    "Un rapport de ce navigateur a été compté. Si c’était le vôtre, tout est fait : merci. Si c’était" +
    " celui de quelqu’un d’autre : cette enquête accepte un rapport par navigateur, merci donc" +
    " d’utiliser un autre appareil.",
  answeredHereShared:
    "Un rapport de ce navigateur a été compté. Si c’était le vôtre, tout est fait : merci. Si c’était" +
    " celui de quelqu’un d’autre, vous pouvez maintenant répondre ici.",
  keptForLater: "Gardé pour plus tard",
  waiting:
    "Le serveur de l’enquête n’a pas encore confirmé votre rapport. Il est gardé dans ce navigateur et" +
    " sera envoyé dès que possible, au plus tard quand vous rouvrirez cette page.",
  open:
    "Le serveur de l’enquête n’a pas encore confirmé votre rapport. Il sera envoyé dès que possible," +
    " tant que cette page est ouverte. Ce navigateur ne garde rien pour elle : merci de laisser la page" +
    " ouverte.",
  held:
    "Pour que le temps que vous avez pris se voie moins, votre rapport ne sera pas envoyé avant le {moment}.",
  neverLeft: "Ce que vous avez vraiment répondu n’a jamais quitté cet appareil.",
  nothingElse: "Rien d’autre que le rapport n’a quitté cet appareil.",
  othersNeverLeft: "Vos autres réponses n’ont jamais quitté cet appareil.",
  stayed: "Ceci est resté ici",
  sent: "Voici ce qui a été envoyé",
  receipt:
    "Le hasard l’a fait à partir de vos réponses, et cela peut ne pas leur correspondre. C’est montré" +
    " cette seule fois, et à vous seulement.",
  again: "Envoyer de nouveau le même rapport",
  another: "Répondre pour une autre personne",
  anotherHeading: "Êtes-vous quelqu’un d’autre ?",
  anotherText:
    "Ne continuez que si vous n’avez pas encore répondu. Un second rapport de la même personne en dirait" +
    " plus sur elle. Rien de la personne qui a répondu avant ne sera montré.",
  anotherYes: "Je n’ai pas encore répondu",
  goOn: "Continuer vers {host}",
  goesOn: {
    one: "Cette page y va dans {count} seconde.",
    other: "Cette page y va dans {count} secondes.",
  },
  stay: "Rester ici",

  // What went wrong.
  unreachable: "L’enquête est injoignable",
  unreachableText: "Veuillez réessayer dans un moment.",
  notAsked: "On ne peut pas répondre ici à cette enquête",
  nothingSent: "Rien n’a été envoyé. La raison, en anglais : {message}.",
  mayHaveLeft: "Un rapport a peut-être été envoyé. Le problème, en anglais : {message}.",
  answeredBefore: "Déjà répondu",
  answeredBeforeText:
    "On a répondu dans ce navigateur à une autre version de cette enquête. Un second rapport sur les" +
    " mêmes réponses en dirait plus sur vous, donc rien d’autre n’est demandé ni envoyé.",
  unforeseen: "un problème imprévu est survenu",
  refused: "Votre rapport ne compte pas",
  refusedText: "Le serveur de l’enquête l’a refusé. La raison, en anglais : {message}.",
  refusedLate: "Il est arrivé trop tard et n’a pas été compté. Merci quand même.",
  invitationMissing: "Il faut une invitation",
  invitationMissingText:
    "On ne peut répondre à cette enquête que sur invitation. Veuillez ouvrir le lien qui vous a été" +
    " envoyé.",
  invitationUnreadable: "Cette invitation est illisible",
  invitationUnreadableText:
    "Il en manque peut-être une partie. Veuillez ouvrir le lien entier qui vous a été envoyé.",
  invitationSpent: "Cette invitation n’est plus valable",
  invitationSpentText:
    "Elle a déjà été utilisée, ou retirée ; rien n’a été demandé ni envoyé. Si vous n’avez pas encore" +
    " répondu, demandez-en une autre à la personne qui vous a invité.",
  invitationRefusedText:
    "Votre rapport n’a pas été accepté : l’invitation a déjà été utilisée, ou retirée. Demandez-en une" +
    " autre à la personne qui vous a invité ; c’est le même rapport qui sera envoyé avec elle.",
  closed: "Cette enquête est terminée",
  closedOperator: "Elle n’accepte plus de réponses. Merci de votre intérêt.",
  closedDeadline: "On pouvait y répondre jusqu’au {moment}. Merci de votre intérêt.",
  closedQuota: "Assez de personnes ont déjà répondu. Merci de votre intérêt.",

  // What the device does under a named design.
  quoted: "« {text} »",
  chanceOf: { one: "{some} chance sur {all}", other: "{some} chances sur {all}" },
  designFor: "Pour {questions} : {said}",
  "design-warner":
    "avec {p}, l’appareil envoie la réponse, et avec {not_p}, l’autre.",
  "design-forced-response":
    "avec {yes}, l’appareil envoie « {Yes} » quelle que soit la réponse, avec {no}" +
    " « {No} », et sinon la réponse.",
  "design-unrelated-question":
    "avec {p}, l’appareil envoie la réponse. Sinon, il envoie la réponse à une question sans" +
    " importance qui n’est posée à personne : l’appareil tire « {Yes} » avec {prevalence}.",
  "design-kuk":
    "l’appareil tire une carte d’un paquet sur deux et n’envoie que sa couleur, « {Yes} » pour rouge et" +
    " « {No} » pour noir. La carte du paquet pour « {Yes} » est rouge avec {theta1}, celle du" +
    " paquet pour « {No} » avec {theta2}.",
  "design-crosswise":
    "l’appareil tire la réponse à une question sans importance qui n’est posée à personne, « {Yes} » avec" +
    " {prevalence}. Il envoie « {Yes} » si les deux réponses sont les mêmes, et sinon « {No} ».",
  "design-triangular":
    "l’appareil tire la réponse à une question sans importance qui n’est posée à personne, « {Yes} » avec" +
    " {prevalence}. Il envoie « {No} » si les deux réponses sont « {No} », et sinon « {Yes} ».",
  "design-mangat":
    "l’appareil envoie « {Yes} » si c’est la réponse. Si c’est « {No} », il envoie « {No} » avec {p}" +
    " et sinon « {Yes} ».",
};
