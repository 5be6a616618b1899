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
  picked: {
    one: "Sur {all} questions, le rapport porte sur celle-ci",
    other: "Sur {all} questions, le rapport porte sur ces {some}",
  },
  reportedOn: "Le rapport porte sur",
  decides: {
    one: "Une des questions posées sert seulement à décider de la suite.",
    other: "{count} des questions posées servent seulement à décider de la suite.",
  },
  decided: "Demandé seulement pour décider de la suite",
  sameOfOthers: "D’autres réponses peuvent donner par hasard le même envoi.",
  code: "Code envoyé",
  likelier: "plus probable avec {some} des {all} combinaisons de réponses possibles",
  sendThis: "Combien de personnes sur {base} envoient exactement cela",
  sendThisDrawn:
    "Combien de personnes sur {base} dont le rapport porte sur les mêmes questions envoient" +
    " exactement cela",
  withYours: "avec vos réponses : {figure}",
  withOthers: "avec d’autres réponses : {figure}",
  withAny: "avec n’importe quelles réponses : {figure}",
  withOthersProtected: "avec d’autres réponses protégées : {figure}",
  withAnyProtected: "avec n’importe quelles réponses protégées : {figure}",
  alsoOthers: "envoyé aussi avec une autre réponse : {figure}",
  about: "environ {count}",
  fewerThan: "moins de {count}",
  moreThan: "plus de {count}",
  noneOf: "aucune",
  allOf: "toutes",
  range: "de {least} à {most}",
  ofBase: "{figure} sur {base}",

  loading: "Chargement des questions…",
  back: "Retour",
  continue: "Continuer",
  retry: "Réessayer",

  // Before the first question.
  opening: "Avant de commencer",
  askedBy: "Qui vous interroge",
  purpose: "Dans quel but",
  contact: "Nous contacter",
  privacyNotice: "Protection des données",
  protection: "Comment vos réponses sont protégées",
  chance:
    "Cet appareil tire votre rapport au hasard, à partir de vos réponses. Lui seul est envoyé." +
    " Rapports qui correspondent à vos réponses : {figure}.",
  chanceOthers:
    "Cet appareil tire votre rapport au hasard, à partir de vos autres réponses. Rapports qui" +
    " leur correspondent : {figure}.",
  certain:
    "Nul ne peut, en recueillant, volant ou exigeant les données, en déduire vos réponses avec" +
    " certitude.",
  certainMostly:
    "Sauf pour ce qui est indiqué ici, nul ne peut, en recueillant, volant ou exigeant les" +
    " données, en déduire vos réponses avec certitude.",
  lasting: "Ce qui est envoyé ne peut pas être repris. Votre participation n’est pas cachée.",
  pace: "Le temps que vous prenez peut montrer quelles questions vous ont été posées.",
  relayClosing:
    "Un relais, {host}, reçoit le rapport et ne peut pas le lire. L’enquête terminée, il les" +
    " transmet tous mélangés, s’il y en a au moins {batch}.",
  relayBatches:
    "Un relais, {host}, reçoit le rapport et ne peut pas le lire. Il transmet les rapports" +
    " mélangés, au moins {batch} à la fois.",
  relayWaves: "Le chiffre du relais ne vaut que pour cette vague ; chaque autre vague s’y ajoute.",
  series:
    "On vous interrogera peut-être de nouveau : c’est la vague {wave} d’une série. Ce navigateur" +
    " tient le compte et refuse une vague qui dépasserait ce qui est promis. Dans un autre" +
    " navigateur, une fenêtre privée ou après l’effacement des données de cette page, le compte" +
    " recommence.",
  ledger: "Compté jusqu’ici dans ce navigateur",
  ledgerTells: "Ce que l’on peut apprendre au maximum",
  ledgerWhole: {
    one: "Toutes les réponses ensemble, en un rapport",
    other: "Toutes les réponses ensemble, en {count} rapports",
  },
  ledgerQuestion: {
    one: "{label} (en un rapport, pour quelqu’un qui connaît déjà les autres réponses)",
    other: "{label} (en {count} rapports, pour quelqu’un qui connaît déjà les autres réponses)",
  },
  ledgerNote:
    "Chaque enquête compte une fois, quelle que soit la personne qui y a répondu dans ce" +
    " navigateur. Ce qui a été envoyé reste sur le serveur de l’enquête et n’est plus compté." +
    " N’oubliez le compte que si quelqu’un d’autre a répondu avant vous.",
  forgetLedger: "Oublier le compte",
  forgetHeading: "Oublier le compte ?",
  forgetCost:
    "De ce qui a été envoyé jusqu’ici, on peut apprendre : {spent}. Une fois le compte oublié, ce" +
    " navigateur permet de nouveau tout ce qui a été promis. Ensemble, on pourrait alors" +
    " apprendre : {total}.",
  forgetYes: "Oui, l’oublier",
  learn: "Que peut-on apprendre sur vous ?",
  suppose: "Supposons que {count} personnes sur 100 aient un secret. Sur 100, combien l’ont…",
  atMost: "au plus {count}",
  before: "avant toute réponse",
  after: "si elles envoient la même chose que vous et que cela correspond au secret",
  afterSingle: "de même pour une seule réponse, si d’autres connaissent déjà toutes les autres",
  afterSeries: "si elles envoient la même chose que vous à toutes les vagues et que tout correspond",
  relayApart:
    "si le relais et ceux qui interrogent ne coopèrent pas et si les autres répondent honnêtement",
  relayTogether: "s’ils coopèrent",
  ordinary: "si elles l’avouent dans une enquête ordinaire",
  exactly: "La même chose en termes exacts",
  unperturbed: "Envoyé tel que vous répondez, sans protection : {labels}.",
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
  single: "Une seule réponse, pour quelqu’un qui connaît déjà toutes les autres : {bound}.",
  bound: "de {prior} à {posterior} au maximum (γ = {gamma})",
  promiseSeries:
    "{whose}, avec toutes les vagues de cette série : {bound}. L’appareil sur lequel on répond tient le" +
    " compte et refuse une vague qui dépasserait cela.",
  boundless: "aucune limite, car un rapport peut prouver une réponse (γ infini)",
  relayed:
    "Si le relais et ceux qui interrogent ne coopèrent pas et si les autres répondent" +
    " honnêtement : sur 100 personnes, au plus {apart}. S’ils coopèrent : au plus {together}.",
  relayTooSmall:
    "Un relais transmet les rapports, mais des lots de {batch} sont trop petits pour promettre" +
    " plus qu’un rapport seul : sur 100 personnes, au plus {together}.",
  relayedThrough:
    "Par le relais, en lots d’au moins {batch} rapports, ce que quelqu’un supposait de 5" +
    " personnes sur 100 ne peut devenir plus probable que jusque-là. {relayed}",
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
    "Ce navigateur ne garde rien pour cette page. Si vous ouvrez de nouveau son adresse, les questions" +
    " vous seront posées de nouveau, et un second rapport en dirait plus sur vous. Merci de ne répondre" +
    " qu’une seule fois.",
  consent: "Votre accord",
  consentMissing: "Cochez ceci si vous êtes d’accord ; rien n’est demandé avant.",
  begin: "Commencer",

  // The questions.
  answers: "Vos réponses",
  place: "{title} ({number} sur {count})",
  drawn: {
    one:
      "Vous répondez à une des {all} questions, tirée au sort sur cet appareil ; rien n’est" +
      " envoyé sur les autres.",
    other:
      "Vous répondez à {some} des {all} questions, tirées au sort sur cet appareil ; rien n’est" +
      " envoyé sur les autres.",
  },
  optional: "(vous pouvez laisser vide)",
  takeBack: "Retirer ma réponse",
  choose: "Choisir…",
  severalHint: "Choisissez tout ce qui convient.",
  none: "Rien de tout cela",
  wholeNumber: "Un nombre entier de {minimum} à {maximum}.",
  number: "Un nombre de {minimum} à {maximum}.",
  readAs: "Lu comme {number}.",
  missing: "Veuillez choisir une réponse.",
  missingSeveral: "Veuillez choisir ce qui convient, ou que rien ne convient.",
  missingWhole: "Veuillez saisir un nombre entier de {minimum} à {maximum}.",
  missingNumber: "Veuillez saisir un nombre de {minimum} à {maximum}.",

  // Before sending.
  review: "Rien n’a encore été envoyé",
  draw:
    "Au moment de l’envoi, cet appareil tire un rapport au hasard, à partir de vos réponses. Il" +
    " peut leur correspondre ou non, et personne ne peut en être certain en le voyant. Seul le" +
    " rapport est envoyé, et vous le verrez.",
  drawProving:
    "Au moment de l’envoi, cet appareil tire un rapport au hasard, à partir de vos réponses. Seul" +
    " le rapport est envoyé, et vous le verrez.",
  send: "Envoyer",

  // After sending.
  thanks: "Merci",
  counted: "Votre rapport a été compté.",
  withRelay:
    "Le relais a votre rapport et le transmet avec au moins {count} autres ; s’il y en a moins," +
    " il n’en transmet aucun.",
  answeredHere: "On a déjà répondu dans ce navigateur",
  answeredHereText:
    "Un rapport de ce navigateur est arrivé. Si c’était le vôtre, tout est fait : merci. Si" +
    " c’était celui de quelqu’un d’autre : cette enquête accepte un rapport par navigateur, merci" +
    " donc d’utiliser un autre appareil.",
  answeredHereShared:
    "Un rapport de ce navigateur est arrivé. Si c’était le vôtre, tout est fait : merci. Si" +
    " c’était celui de quelqu’un d’autre, vous pouvez maintenant répondre ici.",
  keptForLater: "Gardé pour plus tard",
  waiting:
    "Le serveur de l’enquête n’a pas encore confirmé votre rapport. Il est gardé dans ce" +
    " navigateur et sera envoyé dès que possible, au plus tard quand vous rouvrirez cette page.",
  open:
    "Le serveur de l’enquête n’a pas encore confirmé votre rapport. Il sera envoyé dès que" +
    " possible, tant que cette page est ouverte. Ce navigateur n’en garde rien : merci de laisser" +
    " la page ouverte.",
  held:
    "Pour que le temps que vous avez pris se voie moins, votre rapport ne sera pas envoyé avant le {moment}.",
  nothingElse: "De vos réponses, rien d’autre que le rapport n’a quitté cet appareil.",
  sent: "Voici ce qui a été envoyé",
  receipt:
    "Personne ne peut, en voyant ce rapport, être certain de vos réponses. Cette page ne le" +
    " montre que maintenant.",
  learnt: "Ce que l’on peut en apprendre",
  learntProtected: "Ce que l’on peut en apprendre sur vos réponses protégées",
  learntSame:
    "Sur 100 personnes qui envoient la même chose, au plus {after} ont un secret que {before}" +
    " personnes sur 100 ont.",
  learntRelay: "Prenons un secret qu’ont {before} personnes sur 100. {relayed}",
  receiptProving: "Cette page ne le montre que maintenant.",
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
  enough: "Assez a déjà été dit",
  seriesSpent:
    "Avec ce que ce navigateur a déjà envoyé, cette vague en dirait plus sur vous que ce qui a été" +
    " promis pour toute la série. Rien n’a donc été demandé ni envoyé.",
  totalSpent:
    "Avec ce que ce navigateur a déjà envoyé, cette enquête en dirait plus sur vous que ce que cette" +
    " page permet pour toutes les enquêtes. Rien n’a donc été demandé ni envoyé.",
  waveAnswered:
    "Dans ce navigateur, on a répondu à cette vague sous un autre nom. Un second rapport sur les mêmes" +
    " réponses en dirait plus sur vous. Rien n’a donc été demandé ni envoyé.",
  notCounted:
    "Il faut compter ici ce que disent ensemble tous vos rapports. Ce navigateur ne garde rien pour" +
    " cette page, c’est donc impossible, et rien n’a été demandé ni envoyé. Autorisez la page à garder" +
    " des données, ou utilisez un autre navigateur.",
  unforeseen: "un problème imprévu est survenu",
  refused: "Votre rapport n’a pas été compté",
  refusedText: "Le serveur de l’enquête l’a refusé. La raison, en anglais : {message}.",
  late: "C’était trop tard",
  lateText: "Rien n’a été compté. Merci quand même.",
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
