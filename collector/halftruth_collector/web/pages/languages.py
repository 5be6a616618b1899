"""Language negotiation for the page of a form, and the texts of that page."""

import re
from collections.abc import Iterable, Sequence

from flask import request
from halftruth_shared.texts import is_language

#: Texts of the page around a form, by language; the script of the form has its own texts.
WORDS = {
    "en": {
        "scripts": "This form needs scripts, because your answers are changed at random on your own"
        " device before anything is sent. If no questions appear here, scripts are blocked or could"
        " not be loaded; nothing is asked then, and nothing is sent.",
        "closed": "This survey is closed. Thank you for your interest.",
    },
    "de": {
        "scripts": "Dieses Formular braucht Skripte, weil Ihre Antworten auf Ihrem eigenen Gerät"
        " zufällig verändert werden, bevor etwas gesendet wird. Wenn hier keine Fragen erscheinen,"
        " sind Skripte gesperrt oder konnten nicht geladen werden; dann wird nichts gefragt und"
        " nichts gesendet.",
        "closed": "Diese Umfrage ist beendet. Vielen Dank für Ihr Interesse.",
    },
    "fr": {
        "scripts": "Ce formulaire a besoin de scripts, car vos réponses sont changées au hasard sur"
        " votre propre appareil avant tout envoi. Si aucune question n’apparaît ici, les scripts"
        " sont bloqués ou n’ont pas pu être chargés\u202f; dans ce cas, rien n’est demandé"
        " et rien n’est envoyé.",
        "closed": "Cette enquête est terminée. Merci de votre intérêt.",
    },
    "es": {
        "scripts": "Este formulario necesita scripts, porque sus respuestas se cambian al azar en"
        " su propio dispositivo antes de enviar nada. Si aquí no aparecen preguntas, los scripts"
        " están bloqueados o no se pudieron cargar; entonces no se pregunta ni se envía nada.",
        "closed": "Esta encuesta ha terminado. Gracias por su interés.",
    },
}

_RIGHT_TO_LEFT = re.compile(
    r"(ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)(?!.*-latn)(-|$)|.*-(arab|hebr|thaa)(-|$)", re.IGNORECASE
)


def chosen(offered: Sequence[str], named: Iterable[str], preferred: Iterable[str]) -> str:
    """Choose the language of a survey, in the same way as its form.

    Parameters
    ----------
    offered : sequence of str
        Languages of the survey; the first is the fallback.
    named, preferred : iterable of str
        Languages in the address, and those that the browser prefers. The latter are used only if
        the survey declares its languages.

    Returns
    -------
    str
        Language tag; empty if unknown.

    Examples
    --------
    >>> chosen(["en", "de"], [], ["fr", "de-AT"])
    'de'
    """
    if not offered:
        return next((tag for tag in named if primary(tag) in WORDS), "")
    for tag in (*named, *preferred):
        within = [one for one in offered if f"{tag}-".lower().startswith(f"{one}-".lower())]
        kin = [one for one in offered if primary(one) == primary(tag)]
        if within or kin:
            return max(within, key=len) if within else kin[0]
    return offered[0]


def wanted() -> tuple[list[str], list[str]]:
    """Return the languages in the address, and those that the browser prefers."""
    named = [tag for tag in request.args.getlist("lang")[:1] if is_language(tag)]
    return named, [tag for tag in request.accept_languages.values() if is_language(tag)]


def primary(tag: str) -> str:
    """Return the primary subtag of a language, without region and script."""
    return tag.lower().partition("-")[0]


def direction_of(language: str) -> str:
    """Return the writing direction of a language."""
    return "rtl" if _RIGHT_TO_LEFT.match(language) else "ltr"
