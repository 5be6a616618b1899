"""Randomized response designs for a question with two answers, as distortion matrices.

A design has two probabilities of reporting "yes": given the answer "yes", and given the other
answer. The device replaces the dice, cards or second question of an interview. It does not ask the
harmless question of a design, but draws an answer according to its prevalence. If respondents
randomize themselves, nonresponse is not randomized: a missing answer is reported unchanged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..attribute import NOT_ASKED, Attribute
from ..errors import ParameterError, listing
from ..rational import Rational, format_rational, parse_rational
from .base import ProvableAnswer

#: Category that a design calls yes by default.
_DEFAULT_ANSWER = "yes"

_ONE = Fraction(1)


@dataclass(frozen=True)
class DesignKind:
    """Randomized response design from the literature.

    `parameters` are probabilities above 0 and below 1, and `reported` is a function of them that
    returns P(report yes | yes) and P(report yes | no). `words` is the template of a sentence about
    the device, with fields for the parameters, their complements (``not_p``) and both answers;
    `respondent_words` that about respondents, if it differs by more than the subject.
    """

    parameters: tuple[str, ...]
    reported: Callable[..., tuple[Fraction, Fraction]]
    words: str
    respondent_words: str = ""


_HARMLESS = (
    "the device draws the answer to a harmless question that nobody is asked, “{Yes}” in"
    " {prevalence} cases. It reports"
)

_HARMLESS_IN_THE_FIELD = (
    "there is a harmless question, the answer to which is “{Yes}” in {prevalence} cases and is not"
    " reported itself. The respondent reports"
)

DESIGNS = {
    # Warner 1965.
    "warner": DesignKind(
        ("p",),
        lambda p: (p, 1 - p),
        "in {p} cases the device reports the answer, and in {not_p} cases the other one.",
    ),
    # Boruch 1971.
    "forced-response": DesignKind(
        ("yes", "no"),
        lambda yes, no: (1 - no, yes),
        "in {yes} cases the device reports “{Yes}” and in {no} cases “{No}”, whatever the answer"
        " is, and otherwise the answer.",
    ),
    # Greenberg, Abul-Ela, Simmons and Horvitz 1969, with known prevalence.
    "unrelated-question": DesignKind(
        ("p", "prevalence"),
        lambda p, prevalence: (p + (1 - p) * prevalence, (1 - p) * prevalence),
        "in {p} cases the device reports the answer. Otherwise it reports the answer to a harmless"
        " question that nobody is asked: the device draws “{Yes}” in {prevalence} cases.",
        "in {p} cases the respondent reports the answer, and otherwise the answer to a harmless"
        " question, which is “{Yes}” in {prevalence} cases.",
    ),
    # Kuk 1990.
    "kuk": DesignKind(
        ("theta1", "theta2"),
        lambda theta1, theta2: (theta1, theta2),
        "the device draws a card from one of two decks and reports only its colour, “{Yes}” for red"
        " and “{No}” for black. In the deck for “{Yes}”, {theta1} cards are red; in the deck for"
        " “{No}”, {theta2}.",
    ),
    # Yu, Tian and Tang 2008, for the crosswise and the triangular design.
    "crosswise": DesignKind(
        ("prevalence",),
        lambda prevalence: (prevalence, 1 - prevalence),
        _HARMLESS + " “{Yes}” if both answers are the same, and otherwise “{No}”.",
        _HARMLESS_IN_THE_FIELD + " “{Yes}” if both answers are the same, and otherwise “{No}”.",
    ),
    "triangular": DesignKind(
        ("prevalence",),
        lambda prevalence: (_ONE, prevalence),
        _HARMLESS + " “{No}” if both answers are “{No}”, and otherwise “{Yes}”.",
        _HARMLESS_IN_THE_FIELD + " “{No}” if both answers are “{No}”, and otherwise “{Yes}”.",
    ),
    # Mangat 1994.
    "mangat": DesignKind(
        ("p",),
        lambda p: (_ONE, 1 - p),
        "the device reports “{Yes}” if that is the answer. If it is “{No}”, it reports “{No}” in"
        " {p} cases, and otherwise “{Yes}”.",
        "respondents whose answer is “{Yes}” report that; all others report “{No}” in {p} cases,"
        " and otherwise “{Yes}”.",
    ),
}


class RandomizedResponseDesign:
    """Randomized response design of one question, whose field of the survey is named in messages.

    Parameters
    ----------
    written : mapping
        ``design``, its name; its parameters, as exact numbers; ``answer``, the category that it
        calls yes, ``"yes"`` by default; and ``not_sensitive``, the other category, if a report can
        prove it.
    by_respondent : bool
        Whether respondents randomize themselves, so that answers can be missing.

    Raises
    ------
    ParameterError
        If something is missing, unknown or outside its range.

    Examples
    --------
    >>> dice = RandomizedResponseDesign(
    ...     {"design": "forced-response", "yes": "1/6", "no": "1/6"}, "designs.smoker"
    ... )
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
        self.parameters = {p: _parse_probability(written.get(p, ""), f"{field}.{p}") for p in names}
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
        self.answer = str(written.get("answer", _DEFAULT_ANSWER))
        self.not_sensitive = written.get("not_sensitive")

    def written(self) -> dict[str, str]:
        """Return the design for the published survey, without defaults."""
        made = {"design": self.name}
        if self.answer != _DEFAULT_ANSWER:
            made["answer"] = self.answer
        if self.not_sensitive is not None:
            made["not_sensitive"] = str(self.not_sensitive)
        return made | {
            p: format_rational(value, f"{self.field}.{p}") for p, value in self.parameters.items()
        }

    def check(self, attribute: Attribute) -> None:
        """Raise ParameterError if there are not two answers or a sensitive one can be proven."""
        answers = self._randomized_categories(attribute)
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
        _, no = self._yes_and_no(attribute)
        if self.proves and self.not_sensitive != no:
            raise ParameterError(
                f"{self.field}: a report can prove the answer '{no}'; expected not_sensitive ="
                f' "{no}" where that harms nobody, or another design',
                field=f"{self.field}.not_sensitive",
            )

    def matrix(self, attribute: Attribute) -> tuple[tuple[Fraction, ...], ...]:
        """Return the probabilities of reports, shape (reported categories, true categories)."""
        yes, no = map(attribute.categories.index, self._yes_and_no(attribute))
        # A missing answer is reported unchanged.
        places = range(len(attribute.categories))
        matrix = [[Fraction(u == v) for u in places] for v in places]
        for u, chance in ((yes, self.yes_from_yes), (no, self.yes_from_no)):
            matrix[yes][u], matrix[no][u] = chance, 1 - chance
        return tuple(map(tuple, matrix))

    def provable(self, attribute: Attribute) -> ProvableAnswer | None:
        """Return the answer that a report can prove; None if there is no such answer."""
        yes, no = self._yes_and_no(attribute)
        return ProvableAnswer(no, yes, 1 / self.yes_from_no) if self.proves else None

    def in_words(self, attribute: Attribute) -> str:
        """Return the sentence for respondents that follows the labels of the questions."""
        yes, no = map(attribute.answer_in, self._yes_and_no(attribute))
        chances = {p: _format_probability(value) for p, value in self.parameters.items()}
        chances |= {
            f"not_{p}": _format_probability(1 - value) for p, value in self.parameters.items()
        }
        words = self.kind.words
        if self._by_respondent:
            words = self.kind.respondent_words or words.replace("the device", "the respondent")
        return words.format(Yes=yes, No=no, **chances)

    def _randomized_categories(self, attribute: Attribute) -> list[str]:
        """Return the categories that are randomized."""
        missing = attribute.missing if self._by_respondent else ()
        # "Not asked" is randomized, because it would reveal the earlier answer it depends on.
        return [c for c in attribute.categories if c not in missing or c == NOT_ASKED]

    def _yes_and_no(self, attribute: Attribute) -> tuple[str, str]:
        """Return the categories that the design calls yes and no."""
        [other] = [
            category
            for category in self._randomized_categories(attribute)
            if category != self.answer
        ]
        return self.answer, other


def _parse_probability(value: Rational, field: str) -> Fraction:
    chance = parse_rational(value, field)
    if not 0 < chance < 1:
        raise ParameterError(f"{field}: expected a probability above 0 and below 1", field=field)
    return chance


def _format_probability(chance: Fraction) -> str:
    return f"{chance.numerator} of {chance.denominator}"
