/** All that the form says, in Spanish. */

/** @type {import("../words.js").Vocabulary} */
export default {
  language: "Idioma",
  yes: "sí",
  no: "no",
  noAnswer: "Sin respuesta",
  wasNotAsked: "No se preguntó",
  fromTo: "{low} a {high}",
  fromUnder: "{low} a menos de {high}",
  picked: {
    one: "De {all} preguntas, el informe trata de esta",
    other: "De {all} preguntas, el informe trata de estas {some}",
  },
  reportedOn: "El informe trata de",
  decides: {
    one: "Una de las preguntas que se le hacen solo sirve para decidir qué más se pregunta.",
    other: "{count} de las preguntas que se le hacen solo sirven para decidir qué más se pregunta.",
  },
  decided: "Preguntado solo para decidir qué más se pregunta",
  sameOfOthers: "El azar hace lo mismo también de otras respuestas.",
  code: "Código enviado",
  likelier: "más probable con {some} de las {all} combinaciones posibles de respuestas",
  sendThis: "De {base} personas, cuántas envían exactamente esto",
  sendThisDrawn:
    "De {base} personas cuyo informe trata de las mismas preguntas, cuántas envían exactamente" +
    " esto",
  withYours: "con sus respuestas: {figure}",
  withOthers: "con otras respuestas: {figure}",
  withAny: "con cualesquiera respuestas: {figure}",
  withOthersProtected: "con otras respuestas protegidas: {figure}",
  withAnyProtected: "con cualesquiera respuestas protegidas: {figure}",
  alsoOthers: "enviado también con otra respuesta: {figure}",
  about: "aproximadamente {count}",
  fewerThan: "menos de {count}",
  moreThan: "más de {count}",
  noneOf: "ninguna",
  allOf: "todas",
  range: "de {least} a {most}",
  ofBase: "{figure} de {base}",

  loading: "Cargando las preguntas…",
  back: "Atrás",
  continue: "Continuar",
  retry: "Intentar de nuevo",

  // Before the first question.
  opening: "Antes de empezar",
  askedBy: "Quién pregunta",
  purpose: "Para qué",
  contact: "Contacto",
  privacyNotice: "Aviso de privacidad",
  protection: "Cómo se protegen sus respuestas",
  chance:
    "Este dispositivo sortea su informe a partir de sus respuestas. Solo se envía ese informe." +
    " Informes que corresponden a sus respuestas: {figure}.",
  chanceOthers:
    "Este dispositivo sortea su informe a partir de sus demás respuestas. Informes que" +
    " corresponden a ellas: {figure}.",
  certain:
    "Nadie que recoja, robe o reclame los datos puede deducir de ellos con certeza qué respondió" +
    " usted.",
  certainMostly:
    "Salvo lo que aquí se indica, nadie que recoja, robe o reclame los datos puede deducir de" +
    " ellos con certeza qué respondió usted.",
  lasting: "Lo que se envía no se puede retirar. Que usted participa no se oculta.",
  pace: "El tiempo que usted tarda puede mostrar qué preguntas se le hicieron.",
  relayClosing:
    "Un intermediario, {host}, recibe el informe y no puede leerlo. Terminada la encuesta, los" +
    " transmite todos mezclados, si hay al menos {batch}.",
  relayBatches:
    "Un intermediario, {host}, recibe el informe y no puede leerlo. Transmite los informes" +
    " mezclados, al menos {batch} a la vez.",
  relayWaves:
    "La cifra del intermediario vale solo para esta oleada; cada oleada más se añade a ella.",
  series:
    "Puede que se le pregunte otra vez: esta es la oleada {wave} de una serie. Este navegador" +
    " lleva la cuenta y rechaza una oleada que supere lo prometido. En otro navegador, en una" +
    " ventana privada o tras borrar los datos de esta página, la cuenta empieza de nuevo.",
  ledger: "Contado hasta ahora en este navegador",
  ledgerTells: "Lo que otros pueden saber como mucho",
  ledgerWhole: {
    one: "Todas las respuestas juntas, en un informe",
    other: "Todas las respuestas juntas, en {count} informes",
  },
  ledgerQuestion: {
    one: "{label} (en un informe, para quien ya conoce las demás respuestas)",
    other: "{label} (en {count} informes, para quien ya conoce las demás respuestas)",
  },
  ledgerNote:
    "Cada encuesta cuenta una vez, quienquiera que la haya respondido en este navegador. Lo" +
    " enviado sigue en el servidor de la encuesta y ya no se cuenta. Olvide la cuenta solo si" +
    " antes respondió otra persona.",
  forgetLedger: "Olvidar la cuenta",
  forgetHeading: "¿Olvidar la cuenta?",
  forgetCost:
    "Por lo enviado hasta ahora, otros pueden saber: {spent}. Una vez olvidada la cuenta, este" +
    " navegador permite de nuevo todo lo prometido. En conjunto, otros podrían saber entonces:" +
    " {total}.",
  forgetYes: "Sí, olvidarla",
  learn: "¿Qué pueden saber otros de usted?",
  suppose:
    "Supongamos que {count} de cada 100 personas tienen un secreto. Cuántas de 100 lo tienen…",
  atMost: "como mucho {count}",
  before: "antes de que nadie responda",
  after: "si envían lo mismo que usted y corresponde al secreto",
  afterSingle: "lo mismo sobre una sola respuesta, si otros ya conocen todas las demás",
  afterSeries: "si envían lo mismo que usted en todas las oleadas y todo corresponde",
  relayApart:
    "si el intermediario y quien pregunta no colaboran y los demás responden con honestidad",
  relayTogether: "si colaboran",
  ordinary: "si lo admiten en una encuesta corriente",
  exactly: "Lo mismo con palabras exactas",
  unperturbed: "Se envía tal como usted responde, sin protección: {labels}.",
  provable:
    "De «{label}», un informe puede demostrar la respuesta «{answer}», que esta encuesta no considera" +
    " delicada. Nunca demuestra «{other}»: {bound}.",
  unbounded: "No hay límite: un informe puede demostrar una respuesta (γ es infinito).",
  promise:
    "{whose}: lo que alguien creía probable en un {prior}, un informe puede hacerlo probable en un" +
    " {posterior} como mucho, sea quien sea y sepa lo que sepa además (γ = {gamma}, ε = {epsilon}).",
  whole: "Todas las respuestas juntas",
  others: "Todas las demás respuestas juntas",
  single: "Una sola respuesta, para quien ya conoce todas las demás: {bound}.",
  bound: "de {prior} a {posterior} como mucho (γ = {gamma})",
  promiseSeries:
    "{whose}, con todas las oleadas de esta serie juntas: {bound}. El dispositivo en que se responde" +
    " lleva la cuenta y rechaza una oleada que lo supere.",
  boundless: "sin límite, pues un informe puede demostrar una respuesta (γ infinito)",
  relayed:
    "Si el intermediario y quien pregunta no colaboran y los demás responden con honestidad: de" +
    " 100 personas, como mucho {apart}. Si colaboran: como mucho {together}.",
  relayTooSmall:
    "Un intermediario transmite los informes, pero los lotes de {batch} son demasiado pequeños" +
    " para prometer más que un informe por sí solo: de 100 personas, como mucho {together}.",
  relayedThrough:
    "Por el intermediario, en lotes de al menos {batch} informes, lo que alguien suponía de 5 de" +
    " cada 100 personas solo puede hacerse probable hasta aquí. {relayed}",
  timed:
    "Algunas preguntas solo se hacen después de ciertas respuestas. El tiempo que se tarda puede mostrar" +
    " si se hicieron, a quien vea cuándo se carga el formulario y cuándo llega el informe; ningún límite" +
    " cubre eso.",
  closesAt: "Puede responder hasta el {moment}.",
  maxReports: {
    one: "La encuesta termina con el primer informe.",
    other: "La encuesta termina cuando hayan respondido {count} personas.",
  },
  forgetful:
    "Este navegador no guarda nada de esta página. Si vuelve a abrir su dirección, se le preguntará de" +
    " nuevo, y un segundo informe diría más de usted. Por favor, responda una sola vez.",
  consent: "Su consentimiento",
  consentMissing: "Marque esta casilla si está de acuerdo; antes no se pregunta nada.",
  begin: "Empezar",

  // The questions.
  answers: "Sus respuestas",
  place: "{title} ({number} de {count})",
  drawn: {
    one:
      "Usted responde a una de las {all} preguntas, sorteada en este dispositivo; de las demás no" +
      " se envía nada.",
    other:
      "Usted responde a {some} de las {all} preguntas, sorteadas en este dispositivo; de las" +
      " demás no se envía nada.",
  },
  optional: "(puede dejarla sin responder)",
  takeBack: "Retirar mi respuesta",
  choose: "Elija…",
  severalHint: "Elija todo lo que corresponda.",
  none: "Nada de esto",
  wholeNumber: "Un número entero de {minimum} a {maximum}.",
  number: "Un número de {minimum} a {maximum}.",
  readAs: "Se lee como {number}.",
  missing: "Por favor, elija una respuesta.",
  missingSeveral: "Por favor, elija lo que corresponda, o que nada corresponde.",
  missingWhole: "Por favor, escriba un número entero de {minimum} a {maximum}.",
  missingNumber: "Por favor, escriba un número de {minimum} a {maximum}.",

  // Before sending.
  review: "Todavía no se ha enviado nada",
  draw:
    "Al enviar, este dispositivo sortea un informe a partir de sus respuestas. Puede corresponder" +
    " a ellas o no, y nadie que lo vea puede saberlo con certeza. Solo se envía el informe, y" +
    " usted lo verá.",
  drawProving:
    "Al enviar, este dispositivo sortea un informe a partir de sus respuestas. Solo se envía el" +
    " informe, y usted lo verá.",
  send: "Enviar",

  // After sending.
  thanks: "Gracias",
  counted: "Su informe se ha contado.",
  withRelay:
    "El intermediario tiene su informe y lo transmite con al menos {count} más; si hay menos, no" +
    " transmite ninguno.",
  answeredHere: "En este navegador ya se ha respondido",
  answeredHereText:
    "Ha llegado un informe de este navegador. Si era el suyo, ya está todo: gracias. Si era de" +
    " otra persona: esta encuesta acepta un informe de cada navegador, así que use otro" +
    " dispositivo, por favor.",
  answeredHereShared:
    "Ha llegado un informe de este navegador. Si era el suyo, ya está todo: gracias. Si era de" +
    " otra persona, usted puede responder aquí ahora.",
  keptForLater: "Guardado para más tarde",
  waiting:
    "El servidor de la encuesta todavía no ha confirmado su informe. Queda guardado en este" +
    " navegador y se enviará en cuanto se pueda, como muy tarde cuando vuelva a abrir esta" +
    " página.",
  open:
    "El servidor de la encuesta todavía no ha confirmado su informe. Se enviará en cuanto se" +
    " pueda, mientras esta página esté abierta. Este navegador no lo guarda: por favor, deje la" +
    " página abierta.",
  held: "Para que se note menos cuánto tardó, su informe no se enviará antes del {moment}.",
  nothingElse: "De sus respuestas, de este dispositivo no salió nada más que el informe.",
  sent: "Esto es lo que se envió",
  receipt:
    "Nadie que vea el informe puede saber con certeza qué respondió usted. Esta página lo muestra" +
    " solo ahora.",
  learnt: "Lo que otros pueden saber por él",
  learntProtected: "Lo que otros pueden saber por él de sus respuestas protegidas",
  learntSame:
    "De 100 personas que envían lo mismo, como mucho {after} tienen un secreto que tienen" +
    " {before} de cada 100 personas.",
  learntRelay: "Tomemos un secreto que tienen {before} de cada 100 personas. {relayed}",
  receiptProving: "Esta página lo muestra solo ahora.",
  again: "Enviar otra vez el mismo informe",
  another: "Responder como otra persona",
  anotherHeading: "¿Es usted otra persona?",
  anotherText:
    "Siga solo si todavía no ha respondido. Un segundo informe de la misma persona diría más de ella. No" +
    " se mostrará nada de quien respondió antes.",
  anotherYes: "Todavía no he respondido",
  goOn: "Seguir a {host}",
  goesOn: {
    one: "Esta página irá allí en {count} segundo.",
    other: "Esta página irá allí en {count} segundos.",
  },
  stay: "Quedarse aquí",

  // What went wrong.
  unreachable: "No se puede conectar con la encuesta",
  unreachableText: "Por favor, inténtelo de nuevo dentro de un rato.",
  notAsked: "A esta encuesta no se puede responder aquí",
  nothingSent: "No se ha enviado nada. El motivo, en inglés: {message}.",
  mayHaveLeft: "Es posible que se haya enviado un informe. El problema, en inglés: {message}.",
  answeredBefore: "Ya se ha respondido",
  answeredBeforeText:
    "En este navegador se respondió a otra versión de esta encuesta. Un segundo informe sobre las mismas" +
    " respuestas diría más de usted, así que no se pregunta ni se envía nada más.",
  enough: "Ya se dijo bastante",
  seriesSpent:
    "Junto con lo que este navegador ya envió, esta oleada diría de usted más de lo que se prometió para" +
    " toda la serie. Por eso no se ha preguntado ni enviado nada.",
  totalSpent:
    "Junto con lo que este navegador ya envió, esta encuesta diría de usted más de lo que esta página" +
    " permite para todas las encuestas. Por eso no se ha preguntado ni enviado nada.",
  waveAnswered:
    "Esta oleada ya se respondió en este navegador con otro nombre. Un segundo informe sobre las mismas" +
    " respuestas diría más de usted. Por eso no se ha preguntado ni enviado nada.",
  notCounted:
    "Aquí hay que contar lo que dicen juntos todos sus informes. Este navegador no guarda nada de esta" +
    " página, así que no se puede contar, y no se ha preguntado ni enviado nada. Permita que la página" +
    " guarde datos, o use otro navegador.",
  unforeseen: "ha ocurrido un problema imprevisto",
  refused: "Su informe no se contó",
  refusedText: "El servidor de la encuesta lo rechazó. El motivo, en inglés: {message}.",
  late: "Llegó demasiado tarde",
  lateText: "No se contó nada. Gracias de todos modos.",
  invitationMissing: "Hace falta una invitación",
  invitationMissingText:
    "A esta encuesta solo se responde con invitación. Por favor, abra el enlace que le enviaron.",
  invitationUnreadable: "Esta invitación no se puede leer",
  invitationUnreadableText:
    "Quizá le falte una parte. Por favor, abra el enlace completo que le enviaron.",
  invitationSpent: "Esta invitación ya no sirve",
  invitationSpentText:
    "Ya se usó o se retiró; no se ha preguntado ni enviado nada. Si todavía no ha respondido, pida otra a" +
    " quien le invitó.",
  invitationRefusedText:
    "Su informe no se aceptó: la invitación ya se usó o se retiró. Pida otra a quien le invitó; con ella" +
    " se enviará el mismo informe.",
  closed: "Esta encuesta ha terminado",
  closedOperator: "Ya no acepta respuestas. Gracias por su interés.",
  closedDeadline: "Se podía responder hasta el {moment}. Gracias por su interés.",
  closedQuota: "Ya han respondido suficientes personas. Gracias por su interés.",

  // What the device does under a named design.
  quoted: "«{text}»",
  chanceOf: "{some} de cada {all}",
  designFor: "Para {questions}: {said}",
  "design-warner":
    "en {p} casos el dispositivo envía la respuesta, y en {not_p} casos la otra.",
  "design-forced-response":
    "en {yes} casos el dispositivo envía «{Yes}» sea cual sea la respuesta, en {no} casos «{No}», y si no," +
    " la respuesta.",
  "design-unrelated-question":
    "en {p} casos el dispositivo envía la respuesta. Si no, envía la respuesta a una pregunta sin" +
    " importancia que no se hace a nadie: el dispositivo sortea «{Yes}» en {prevalence} casos.",
  "design-kuk":
    "el dispositivo saca una carta de uno de dos mazos y envía solo su color, «{Yes}» para rojo y «{No}»" +
    " para negro. Del mazo para «{Yes}» son rojas {theta1} cartas, y del mazo para «{No}», {theta2}.",
  "design-crosswise":
    "el dispositivo sortea la respuesta a una pregunta sin importancia que no se hace a nadie, «{Yes}» en" +
    " {prevalence} casos. Envía «{Yes}» si las dos respuestas son iguales, y si no, «{No}».",
  "design-triangular":
    "el dispositivo sortea la respuesta a una pregunta sin importancia que no se hace a nadie, «{Yes}» en" +
    " {prevalence} casos. Envía «{No}» si las dos respuestas son «{No}», y si no, «{Yes}».",
  "design-mangat":
    "el dispositivo envía «{Yes}» si esa es la respuesta. Si es «{No}», envía «{No}» en {p} casos, y si" +
    " no, «{Yes}».",
};
