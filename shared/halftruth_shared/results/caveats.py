"""Caveats of results: codes with values, and the sentence for each code."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from ..protocol.base import Message
from .labels import NAMES, Labels
from .wording import half_width, number, percent

#: A warning must be read before drawing conclusions; a note describes the method.
Weight = Literal["warning", "note"]

#: The function that words a caveat as a sentence, by code: of labels and the caveat's values.
Sentences = Mapping[str, Callable[..., str]]

#: Margin of error from which a share is undetermined.
UNDETERMINED = 0.5


class Caveat(Message, frozen=True, kw_only=True):
    """Warning or note about a result.

    The sentence for people is made from `code`, the kind of caveat, and `values`, its questions,
    answers and numbers. `weight` is *warning* if it must be read before drawing conclusions.
    """

    code: Annotated[str, Meta(description="Kind of the caveat.")]
    values: dict[str, Any] = field(default_factory=dict)
    weight: Weight = "note"

    def in_words(self, labels: Labels) -> str:
        """Format as a sentence, with labels of questions and answers."""
        return SENTENCES[self.code](labels, **self.values)

    @property
    def sentence(self) -> str:
        """The caveat as a sentence, with names of questions and answers."""
        return self.in_words(NAMES)


#: Questions from here on have their precision in one sentence.
_SEVERAL = 3


def sentences(caveats: Sequence[Caveat], labels: Labels) -> list[str]:
    """Return the sentences of caveats, with the precision of several questions by its grade."""
    several = [
        each
        for each in caveats
        if each.code in ("precision", "typical error") and "question" in each.values
    ]
    if len(several) < _SEVERAL:
        return [each.in_words(labels) for each in caveats]
    joined = _precision_of_questions(labels, [each.values for each in several])
    place = next(i for i, each in enumerate(caveats) if each is several[0])
    others = [
        [each.in_words(labels) for each in part if each not in several]
        for part in (caveats[:place], caveats[place:])
    ]
    return [*others[0], *joined, *others[1]]


def warning(code: str, **values: Any) -> Caveat:
    """Return a caveat that must be read before drawing conclusions."""
    return Caveat(code=code, values=values, weight="warning")


def note(code: str, **values: Any) -> Caveat:
    """Return a caveat that describes the method."""
    return Caveat(code=code, values=values)


def listed(names: Sequence[str]) -> str:
    """Join names in a sentence.

    >>> listed(["age", "sex", "vote"])
    'age, sex and vote'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class Folded(str):
    """Sentence that counts a long list instead of repeating it; `names` has all of the list."""

    __slots__ = ("names",)

    names: tuple[str, ...]


#: A sentence lists at most this many names, in at most this many characters; otherwise it counts
#: them and gives as many examples.
_LISTED, _LISTED_CHARACTERS, _EXAMPLES = 4, 160, 2


def folded(
    sentence: str,
    names: Sequence[str],
    what: str,
    *,
    count: int | None = None,
    of: int | None = None,
) -> str:
    """Put names in the place of ``{}`` in a sentence: all of a few, or the number of many.

    A sentence that counts is `Folded`, so that pages can show all names on demand.

    Parameters
    ----------
    what : str
        What the names are names of, in the plural.
    count : int, optional
        Number of these, if some names stand for several of them.
    of : int, optional
        Number of all such, named or not.

    >>> folded("Not tested: {}.", ["age and sex", "age and vote"], "pairs")
    'Not tested: age and sex; age and vote.'
    >>> many = folded("Not usable: {}.", ["a", "b", "c", "d", "e"], "estimates", of=1_234)
    >>> many, many.names
    ('Not usable: 5 of 1\u202f234 estimates, such as a; b.', ('a', 'b', 'c', 'd', 'e'))
    """
    begin, _, end = sentence.partition("{}")
    text = "; ".join(names)
    if len(names) <= _LISTED and len(text) <= _LISTED_CHARACTERS:
        return f"{begin}{text}{end}"
    many = number(len(names) if count is None else count, 0)
    many += "" if of is None else f" of {number(of, 0)}"
    short = Folded(f"{begin}{many} {what}, such as {'; '.join(names[:_EXAMPLES])}{end}")
    short.names = tuple(names)
    return short


def _precision_of_questions(
    labels: Labels, questions: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the typical margins of several questions by grade, the least precise ones first.

    >>> [*_precision_of_questions(
    ...     NAMES,
    ...     [
    ...         {"question": "sex", "reliability": "barely usable", "margin": 0.052},
    ...         {"question": "age", "reliability": "not usable", "margin": 0.11},
    ...         {"question": "town", "reliability": "not usable"},
    ...     ]
    ... )]
    ['Not usable: town (too few reports); age (±11 points).', 'Barely usable: sex (±5.2 points).']
    """
    by_word: dict[str, list[tuple[float, str]]] = {}
    for each in questions:
        margin = each.get("margin", each.get("error", math.inf))
        said = half_width(margin) if margin < UNDETERMINED else "any value"
        if math.isinf(margin) and not each.get("unbounded"):
            said = "unknown error" if "length" in each else "too few reports"
        by_word.setdefault(each["reliability"], []).append(
            (-margin, f"{labels.quoted(each['question'])} ({said})")
        )
    guessed = " (typical errors of best guesses)" if "length" in questions[0] else ""
    for word in ("not usable", "barely usable", "usable"):
        if word in by_word:
            names = [said for _, said in sorted(by_word[word])]
            yield folded(f"{word.capitalize()}{guessed}: {{}}.", names, "questions")
    few_reports = [each["few_reports"] for each in questions if "few_reports" in each]
    if few_reports:
        yield (
            f"With as few as about {min(few_reports):.1f} reports for each cell, intervals cover"
            " the true value less often than stated."
        )


def _precision(
    labels: Labels,
    reliability: str,
    margin: float | None = None,
    unbounded: bool = False,
    few_reports: float | None = None,
    question: str = "",
    what: str = "shares",
    length: int | None = None,
    threshold: float = 0.0,
) -> str:
    """Describe the typical margin of error of several estimates, and how few reports there are.

    The margin of itemsets of a length is compared with the threshold of their support.
    """
    if margin is not None:
        only = "only " * (reliability == "not usable")
        text = f"{what} are known {only}to {half_width(margin)}"
        if threshold <= margin < UNDETERMINED:
            text += f", and those up to {percent(margin, 1)} are not significantly above zero"
    elif unbounded and what != "shares":
        text = f"{what} can have any value"
    elif unbounded:
        text = (
            "the size of most groups is not significantly above zero, so shares within them can"
            " have any value"
        )
    else:
        text = f"too few reports for an interval of most {'itemsets' if length else 'cells'}"
    if few_reports is not None:
        text += (
            f"; with about {few_reports:.1f} reports for each cell, intervals cover the true value"
            " less often than stated"
        )
    about = labels.quoted(question) if question else length and f"Length {length}"
    return f"{about} is {reliability}: {text}." if about else f"{reliability.capitalize()}: {text}."


def _unexamined(
    _: Labels, length: int, what: str, margin: float | None = None, threshold: float = 0
) -> str:
    """Explain why itemsets or rules of at least some length were not examined."""
    longer = f"{what[:1].upper()}{what[1:]} of {length} or more answers were not examined"
    if margin is None:
        return f"{longer}, because there are too many; set max_length to examine them."
    return (
        f"{longer}: sets of {number(length, 0)} answers are known to {half_width(margin)} at best,"
        f" more than the threshold of {percent(threshold)}. Set max_length to examine them."
    )


def _guess(
    labels: Labels,
    reliability: str,
    length: int,
    error: float | None = None,
    bound: bool = False,
    learned: bool = True,
    question: str = "",
) -> str:
    """Describe the typical error of best guesses."""
    questions = f"{length} question{'s' if length > 1 else ''}"
    text = f"the error of best guesses for {questions} is unknown"
    if error is not None:
        at_most = "at most " * bound
        text = f"the typical error of best guesses for {questions} is {at_most}{half_width(error)}"
    if length > 1 and not learned:
        text += "; held-out reports show no association, so answers are treated as independent"
    if question:
        return f"{labels.quoted(question)} is {reliability}: {text}."
    return f"{reliability.capitalize()}: {text}."


def _adjusted(_: Labels, rate: float, what: str) -> str:
    return (
        f"Each interval is for a single {what}. Adjusted p-values control the false discovery rate:"
        f" those up to {percent(rate)} are significant."
    )


def _asked_together(_: Labels, what: str, length: int, asked: int, possible: int) -> str:
    """State which sets of questions itemsets, rules or associations are of."""
    sets = "pairs of" if length == 2 else f"sets of {number(length, 0)}"
    return (
        f"Reports ask {number(asked, 0)} of the {number(possible, 0)} {sets} questions together;"
        f" only {what} of questions that are asked together are estimated."
    )


def _effective(_: Labels, reports: float) -> str:
    return f"Effective sample size: {number(reports, 0)} answers without perturbation."


def _false_reports(_: Labels, weakest: int, rows: int, finding: int | None = None) -> str:
    """State how many false reports would undo the findings of a result.

    >>> _false_reports(NAMES, 9, 5, 47)
    'About 47 false reports would undo the finding, and 9 the weakest of 5 significant estimates.'
    >>> _false_reports(NAMES, 12, 1)
    'About 12 false reports would undo the significant estimate.'
    >>> _false_reports(NAMES, 1, 8)
    'A single false report would undo the weakest of 8 significant estimates.'
    """
    of_rows = f"the weakest of {number(rows, 0)} significant estimates"
    if rows == 1:
        of_rows = "the significant estimate"
    if finding is None:
        return f"{_about_reports(weakest)} would undo {of_rows}."
    said = f"{_about_reports(finding)} would undo the finding"
    return f"{said}." if finding <= weakest else f"{said}, and {number(weakest, 0)} {of_rows}."


def _about_reports(count: int) -> str:
    return f"About {number(count, 0)} false reports" if count > 1 else "A single false report"


#: Sentence of each caveat, by its code: of several analyses, and what each analysis declares.
SENTENCES: dict[str, Callable[..., str]] = {
    "precision": _precision,
    "typical error": _guess,
    "effective reports": _effective,
    "adjusted": _adjusted,
    "rare by model": lambda _: (
        "A model has no negative shares, so its intervals for rare answers are too narrow: in"
        " simulated surveys, up to 25 % of the intervals for a share of 1 % miss it. Moment"
        " estimates keep their level."
    ),
    "unexamined": _unexamined,
    "asked together": _asked_together,
    "false reports": _false_reports,
    "groups of answers": lambda labels, questions: (
        f"Answers to {listed([*map(labels.quoted, questions)])} are in groups, as in all reports"
        " about several questions; results of a question alone have them in detail."
    ),
    "association estimates": lambda _: (
        "χ² and G² are estimates of association, corrected for chance and perturbation, not tests;"
        " a cross-tabulation has the test of independence."
    ),
}
