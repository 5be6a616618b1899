"""Named designs of survey methodology for a question with two answers, as distortion matrices.

A design has two probabilities of reporting its answer, "yes": for those with this answer, and for
all others. The device replaces the dice, cards or second question of an interview: a harmless
question is not asked, its answer is drawn by its prevalence. Where respondents randomized
themselves, whoever does not answer does not randomize: a missing answer is reported as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..attribute import NOT_ASKED, Attribute
from ..errors import ParameterError, listing
from ..rational import Rational, format_rational, parse_rational
from .base import Provable

#: Default category of a design.
_USUAL = "yes"

_ONE = Fraction(1)


@dataclass(frozen=True)
class DesignKind:
    """Design of the literature.

    Attributes
    ----------
    parameters : tuple of str
        Their names, of probabilities above 0 and below 1.
    reported : callable
        From these to P(report yes | yes) and P(report yes | no).
    words : str
        What the device does; parameters, their complements (``not_p``) and both answers are to be
        filled in.
    in_the_field : str
        What respondents did, where that is more than what the device does.
    """

    parameters: tuple[str, ...]
    reported: Callable[..., tuple[Fraction, Fraction]]
    words: str
    in_the_field: str = ""


_HARMLESS = (
    "the device draws the answer to a harmless question that nobody is asked, “{Yes}” with chance"
    " {prevalence}. It reports"
)

_HARMLESS_IN_THE_FIELD = (
    "there is a harmless question, the answer to which is “{Yes}” with chance {prevalence} and is"
    " not told by itself. The respondent reports"
)

DESIGNS = {
    # Warner 1965.
    "warner": DesignKind(
        ("p",),
        lambda p: (p, 1 - p),
        "with chance {p} the device reports the answer, and with chance {not_p} the other one.",
    ),
    # Boruch 1971.
    "forced-response": DesignKind(
        ("yes", "no"),
        lambda yes, no: (1 - no, yes),
        "with chance {yes} the device reports “{Yes}” whatever the answer is, with chance {no}"
        " “{No}”, and else the answer.",
    ),
    # Greenberg, Abul-Ela, Simmons and Horvitz 1969, with known prevalence.
    "unrelated-question": DesignKind(
        ("p", "prevalence"),
        lambda p, prevalence: (p + (1 - p) * prevalence, (1 - p) * prevalence),
        "with chance {p} the device reports the answer. Else it reports the answer to a harmless"
        " question that nobody is asked: the device draws “{Yes}” with chance {prevalence}.",
        "with chance {p} the respondent reports the answer, and else the answer to a harmless"
        " question, which is “{Yes}” with chance {prevalence}.",
    ),
    # Kuk 1990.
    "kuk": DesignKind(
        ("theta1", "theta2"),
        lambda theta1, theta2: (theta1, theta2),
        "the device draws a card from one of two decks and reports its colour alone, “{Yes}” for"
        " red and “{No}” for black. Of the deck for “{Yes}” {theta1} are red, of that for “{No}”"
        " {theta2}.",
    ),
    # Yu, Tian and Tang 2008, as are the triangular ones.
    "crosswise": DesignKind(
        ("prevalence",),
        lambda prevalence: (prevalence, 1 - prevalence),
        _HARMLESS + " “{Yes}” if both answers are the same, and else “{No}”.",
        _HARMLESS_IN_THE_FIELD + " “{Yes}” if both answers are the same, and else “{No}”.",
    ),
    "triangular": DesignKind(
        ("prevalence",),
        lambda prevalence: (_ONE, prevalence),
        _HARMLESS + " “{No}” if both answers are “{No}”, and else “{Yes}”.",
        _HARMLESS_IN_THE_FIELD + " “{No}” if both answers are “{No}”, and else “{Yes}”.",
    ),
    # Mangat 1994.
    "mangat": DesignKind(
        ("p",),
        lambda p: (_ONE, 1 - p),
        "the device reports “{Yes}” if that is the answer. If it is “{No}”, it reports “{No}” with"
        " chance {p}, and else “{Yes}”.",
        "whoever’s answer is “{Yes}” reports that; all others report “{No}” with chance {p}, and"
        " else “{Yes}”.",
    ),
}


class Design:
    """Design of one question.

    Parameters
    ----------
    written : mapping
        ``design``, its name; its parameters, exact numbers; ``answer``, the category that it calls
        yes, ``"yes"`` by default; and ``not_sensitive``, the other category, where a report can
        prove that.
    field : str
        Its name, for messages.
    by_respondent : bool
        Whether respondents randomized themselves, so that answers can be missing.

    Raises
    ------
    ParameterError
        If something is missing, unknown or outside its range.

    Examples
    --------
    >>> dice = Design({"design": "forced-response", "yes": "1/6", "no": "1/6"}, "designs.smoker")
    >>> dice.yes_from_yes, dice.yes_from_no
    (Fraction(5, 6), Fraction(1, 6))
    """

    def __init__(
        self, written: Mapping[str, Rational], field: str, by_respondent: bool = False
    ) -> None:
        name = str(written.get("design")) if isinstance(written, Mapping) else None
        if name not in DESIGNS:
            raise ParameterError(
                f"{field}: expected a table with a design, one of: {listing(list(DESIGNS))}",
                field=field,
            )
        self.field, self.name, self.kind = field, name, DESIGNS[name]
        self._by_respondent = by_respondent
        names = self.kind.parameters
        known = {"design", "answer", *names}
        self.parameters = {p: _chance(written.get(p, ""), f"{field}.{p}") for p in names}
        self.yes_from_yes, self.yes_from_no = self.kind.reported(**self.parameters)
        self.proves = self.yes_from_yes == 1
        if self.proves:
            known.add("not_sensitive")
        for member in written:
            if member not in known:
                raise ParameterError(
                    f"{field}: unknown member '{member}'; {name} has: {listing(sorted(known))}",
                    field=f"{field}.{member}",
                )
        if name == "forced-response" and sum(self.parameters.values()) >= 1:
            raise ParameterError(f"{field}: expected a sum of yes and no below 1", field=field)
        self.answer = str(written.get("answer", _USUAL))
        self.not_sensitive = written.get("not_sensitive")

    def written(self) -> dict[str, str]:
        """Return the design as surveys are published, without defaults."""
        made = {"design": self.name}
        if self.answer != _USUAL:
            made["answer"] = self.answer
        if self.not_sensitive is not None:
            made["not_sensitive"] = str(self.not_sensitive)
        return made | {
            p: format_rational(value, f"{self.field}.{p}") for p, value in self.parameters.items()
        }

    def check(self, attribute: Attribute) -> None:
        """Raise ParameterError unless it has two answers and reports prove no sensitive one."""
        answers = self._perturbed(attribute)
        if len(answers) != 2:
            raise ParameterError(
                f"{self.field}: expected a question with two answers, got {len(answers)}",
                field=self.field,
            )
        if self.answer not in answers:
            raise ParameterError(
                f"{self.field}.answer: '{self.answer}' is not one of its categories; expected one"
                f" of: {listing(answers)}",
                field=f"{self.field}.answer",
            )
        _, no = self._answers(attribute)
        if self.proves and self.not_sensitive != no:
            raise ParameterError(
                f"{self.field}: a report can prove the answer '{no}'; expected not_sensitive ="
                f' "{no}" where that harms nobody, or another design',
                field=f"{self.field}.not_sensitive",
            )

    def matrix(self, attribute: Attribute) -> tuple[tuple[Fraction, ...], ...]:
        """Return the probabilities of reports, shape (reported categories, true categories)."""
        yes, no = map(attribute.categories.index, self._answers(attribute))
        # Whatever is missing is reported as it is.
        places = range(len(attribute.categories))
        matrix = [[Fraction(u == v) for u in places] for v in places]
        for u, chance in ((yes, self.yes_from_yes), (no, self.yes_from_no)):
            matrix[yes][u], matrix[no][u] = chance, 1 - chance
        return tuple(map(tuple, matrix))

    def provable(self, attribute: Attribute) -> Provable | None:
        """Return the answer that a report can prove, if any."""
        yes, no = self._answers(attribute)
        return Provable(no, yes, 1 / self.yes_from_no) if self.proves else None

    def in_words(self, attribute: Attribute) -> str:
        """Return the sentence for respondents that follows the labels of the questions."""
        yes, no = map(attribute.answer_in, self._answers(attribute))
        chances = {p: _words(value) for p, value in self.parameters.items()}
        chances |= {f"not_{p}": _words(1 - value) for p, value in self.parameters.items()}
        words = self.kind.words
        if self._by_respondent:
            words = self.kind.in_the_field or words.replace("the device", "the respondent")
        return words.format(Yes=yes, No=no, **chances)

    def _perturbed(self, attribute: Attribute) -> list[str]:
        """Return the categories that are perturbed."""
        missing = attribute.missing if self._by_respondent else ()
        # Who is not asked is known by an earlier answer, which that would reveal.
        return [c for c in attribute.categories if c not in missing or c == NOT_ASKED]

    def _answers(self, attribute: Attribute) -> tuple[str, str]:
        """Return the categories that the design calls yes and no."""
        [other] = [category for category in self._perturbed(attribute) if category != self.answer]
        return self.answer, other


def _chance(value: Rational, field: str) -> Fraction:
    chance = parse_rational(value, field)
    if not 0 < chance < 1:
        raise ParameterError(f"{field}: expected a probability above 0 and below 1", field=field)
    return chance


def _words(chance: Fraction) -> str:
    return f"{chance.numerator} in {chance.denominator}"
