"""Caveats of results: codes with values, and the sentence for each code."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from ..protocol.base import Message
from .labels import NAMES, Labels
from .wording import half_width, number, percent
from .wording import p_value as p_in_words

#: A warning must be read before drawing conclusions; a note describes the method.
Weight = Literal["warning", "note"]

Words = Callable[..., str]

#: Largest number of days that a sentence lists.
MAX_DAYS = 7

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
        return WORDS[self.code](labels, **self.values)

    @property
    def sentence(self) -> str:
        """The caveat as a sentence, with names of questions and answers."""
        return self.in_words(NAMES)


#: Questions from here on have their precision in one sentence.
_SEVERAL = 3


def sentences(caveats: Sequence[Caveat], labels: Labels) -> list[str]:
    """Return the sentences of caveats, with the precision of several questions in one of them."""
    several = [each for each in caveats if each.code == "precision" and "question" in each.values]
    if len(several) < _SEVERAL:
        return [each.in_words(labels) for each in caveats]
    joined = _precision_of_questions(labels, [each.values for each in several])
    return [
        joined if each is several[0] else each.in_words(labels)
        for each in caveats
        if each is several[0] or each not in several
    ]


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


def few(names: Sequence[str], most: int = 4) -> str:
    """Join the first `most` of many names, with the number of others.

    >>> few(["age=old", "age=young", "sex=male"], 2)
    'age=old; age=young; 1 other'
    """
    more = len(names) - most
    rest = [f"{number(more, 0)} other{'' if more == 1 else 's'}"] if more > 0 else []
    return "; ".join([*names[:most], *rest])


def _precision_of_questions(labels: Labels, questions: Sequence[Mapping[str, Any]]) -> str:
    """Describe the typical margins of several questions, the least precise ones first.

    >>> _precision_of_questions(
    ...     NAMES,
    ...     [
    ...         {"question": "sex", "reliability": "barely usable", "margin": 0.052},
    ...         {"question": "age", "reliability": "not usable", "margin": 0.11},
    ...         {"question": "town", "reliability": "not usable"},
    ...     ]
    ... )
    'Not usable: town (too few reports), age (±11 points). Barely usable: sex (±5.2 points).'
    """
    by_word: dict[str, list[tuple[float, str]]] = {}
    for each in questions:
        margin = each.get("margin", math.inf)
        said = half_width(margin) if margin < UNDETERMINED else "any value"
        if "margin" not in each and not each.get("unbounded"):
            said = "too few reports"
        by_word.setdefault(each["reliability"], []).append(
            (-margin, f"{labels.quoted(each['question'])} ({said})")
        )
    words = [word for word in ("not usable", "barely usable", "usable") if word in by_word]
    text = " ".join(
        f"{word.capitalize()}: {', '.join(said for _, said in sorted(by_word[word]))}."
        for word in words
    )
    few_reports = [each["few_reports"] for each in questions if "few_reports" in each]
    if few_reports:
        text += (
            f" With as few as about {min(few_reports):.1f} reports for each cell, intervals cover"
            " the true value less often than stated."
        )
    return text


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


def _equality(_: Labels, by_model: bool) -> str:
    tests = "Wald tests by the model" if by_model else "score tests"
    return (
        f"p-values are of {tests} and assume equal shares, so they can disagree with the interval."
        " A large p-value is no evidence that shares are equal: perturbation hides small"
        " differences."
    )


def _scores(labels: Labels, question: str, kind: str, scores: Mapping[str, float]) -> str:
    """List the scores of the answers to a question."""
    each = ", ".join(
        name if name == number(score) else f"{name} {number(score)}"
        for answer, score in scores.items()
        for name in [labels.answer(question, answer)]
    )
    return f"The answers to {labels.quoted(question)} count as {kind}s: {each}."


def _about(labels: Labels, question: str) -> str:
    return f"{labels.quoted(question)}: " if question else ""


def _margins(labels: Labels, margins: Mapping[str, Mapping[str, float]]) -> str:
    """List known distributions of answers.

    >>> _margins(NAMES, {"sex": {"female": 0.6, "male": 0.4}}).replace(chr(0x202F), " ")
    'Margins: sex (female 60.0 %, male 40.0 %).'
    """
    each = (
        f"{labels.quoted(name)}"
        f" ({', '.join(f'{labels.answer(name, a)} {percent(s, 1)}' for a, s in shares.items())})"
        for name, shares in margins.items()
    )
    return f"Margins: {listed([*each])}."


def _weights(
    labels: Labels,
    people: float,
    smallest: float,
    largest: float,
    design_effect: float,
    question: str = "",
) -> str:
    return (
        f"{_about(labels, question)}Sum of weights {number(people, 0)}; weights from"
        f" {number(smallest, 2)} to {number(largest, 2)} times their mean, with a design effect of"
        f" {number(design_effect, 2)} due to weighting."
    )


def _no_coefficients(
    labels: Labels, reason: str, terms: Sequence[Mapping[str, str]], by_model: bool = False
) -> str:
    """Explain why a regression has no coefficients, and which terms are least precise."""
    text = f"{reason[:1].upper()}{reason[1:]}"
    if terms:
        names = listed([labels.items(each) or "the intercept" for each in terms])
        text += f"; least precise: {names}"
    if by_model:
        return f"{text}. The choice “estimate: model” needs fewer reports, but assumes more."
    return f"{text}."


def _regression(
    labels: Labels,
    method: str,
    question: str = "",
    answers: Mapping[str, str] | None = None,
    own: bool = False,
) -> str:
    """Describe the outcome of a regression, and how it was estimated."""
    about = (
        f"log odds of {labels.quoted_items(answers)}"
        if answers
        else f"mean score of {labels.quoted(question)}"
    )
    by = {
        "moment": "from the unbiased tables of these answers, without assumptions about how answers"
        " depend on each other.",
        "model": "from a model of these questions with all their interactions, which assumes"
        " nothing about how answers depend on each other."
        if own
        else "from one model of all answers.",
        "outcome": "by the likelihood of the outcome, given predictors that are not perturbed. The"
        " equation is assumed to hold; nothing is assumed about the predictors.",
    }
    return f"Regression of the {about}. Estimated {by[method]}"


def _held_constant(_: Labels, interactions: bool) -> str:
    assumed = (
        "no interactions besides those in the equation"
        if interactions
        else "no interactions; if there are any, the coefficients are those of the best equation"
        " without them"
    )
    return (
        f"Coefficients hold all other predictors constant and assume {assumed}. Intervals account"
        " for the perturbation of all answers."
    )


def _tested(_: Labels, method: str, odds: bool, test: str) -> str:
    if not odds:
        return (
            "p-values are of score tests; an interval contains the values that such a test does not"
            " reject."
        )
    if test == "score":
        return (
            "Intervals are normal approximations. The p-values are of score tests; they can differ"
            " slightly from the intervals."
        )
    return "Intervals are normal approximations, and the p-values are of Wald tests."


def _effective(_: Labels, reports: float) -> str:
    return f"Effective sample size: {number(reports, 0)} answers without perturbation."


def _waves(numbers: Sequence[int]) -> str:
    """Name waves by their numbers.

    >>> _waves([2]), _waves([1, 3])
    ('wave 2', 'waves 1 and 3')
    """
    return f"wave{'s' * (len(numbers) > 1)} {listed([*map(str, numbers)])}"


def _not_comparable(
    labels: Labels, question: str, waves: Sequence[int], reason: str, compared: bool
) -> str:
    """Name a question that differs in some waves, and say whether it is compared."""
    begin = "Compared nevertheless" if compared else "Not compared"
    return f"{begin}: {labels.quoted(question)} in {_waves(waves)} ({reason})."


def _compared(_: Labels, waves: Sequence[Mapping[str, Any]]) -> str:
    each = (
        f"wave {wave['wave']} ({wave['survey']}) {number(wave['reports'], 0)} reports,"
        f" γ = {wave['gamma']}"
        for wave in waves
    )
    return f"Compared: {'; '.join(each)}."


def _changes(_: Labels, target: str) -> str:
    whom = {
        "population": "Changes refer to the sampled population.",
        "respondents": "Changes refer to exactly the respondents of each wave.",
    }
    return (
        f"{whom[target]} Waves are treated as independent samples: if the same people answered"
        " again, intervals are slightly too wide. A change that is not significant may still have"
        " happened."
    )


def _unlinked(_: Labels, invited: Sequence[int]) -> str:
    text = "Reports are not linked between waves, so individual changes cannot be estimated"
    if not invited:
        return f"{text}."
    return (
        f"{text}. {_waves(invited).capitalize()} used invitations: a list of who received which"
        " code shows who took part in which wave, but not their reports."
    )


def _nearest(_: Labels, uncertain: int, cells: int) -> str:
    said = (
        "Risks are computed from the nonnegative table nearest to the unbiased estimate, for cells"
        " of at least half a person."
    )
    if not uncertain:
        return (
            f"{said} The share of each of these {number(cells, 0)} cells is significantly above 0."
        )
    return (
        f"{said} {number(uncertain, 0)} of these {number(cells, 0)} cells are not significantly"
        " above zero; the risks of the respondents may be larger."
    )


def _errors_of_risk(_: Labels, rate: float, replicates: int) -> str:
    return (
        f"All intervals of a quantity hold together with a probability of at least"
        f" {percent(1 - rate)}. They are from {number(replicates)} tables that other reports of the"
        " same people could have given, drawn with a fixed seed."
    )


def _no_errors_of_risk(_: Labels) -> str:
    return (
        "The table is too large to compute the errors of these numbers, so none of them is usable."
    )


def _no_posterior(_: Labels, prior: float, posterior: float) -> str:
    return (
        "The risk is not a posterior probability. For the answer about which a report reveals most,"
        f" the table alone gives {percent(prior, 1)}; with the report of a known person it is"
        f" {percent(posterior, 1)} on average. The γ of the survey bounds this probability."
    )


def _days(_: Labels, days: Mapping[str, int]) -> str:
    """List the number of reports of the last days."""
    last = [f"{day} {number(reports, 0)}" for day, reports in sorted(days.items())[-MAX_DAYS:]]
    before = len(days) - len(last)
    earlier = f"; earlier ones on {number(before, 0)} more days" if before else ""
    return f"Reports by day (UTC): {', '.join(last)}{earlier}."


#: Sentence of each caveat, by its code. Caveats of a new analysis are added here.
WORDS: Mapping[str, Words] = {
    "precision": _precision,
    "typical error": _guess,
    "effective reports": _effective,
    "adjusted": _adjusted,
    "p-values of shares": _equality,
    "open ratios": lambda _: (
        "Where a denominator is not significantly above zero, its ratio has no upper end."
    ),
    "base of shares": lambda labels, questions: (
        "Each share is among people with the same answer to"
        f" {listed([*map(labels.quoted, questions)])}."
        if questions
        else "Each share is among all people."
    ),
    "departures": lambda _, rate, layers: (
        "▲ significantly more and ▼ significantly fewer people than under independence"
        f"{' within each layer' * layers} (false discovery rate {percent(rate)} among the cells)."
    ),
    "open groups": lambda labels, groups: (
        "Shares within these groups can have any value, because the size of the group is not"
        f" significantly above zero: {few([*map(labels.quoted_items, groups)])}."
    ),
    "several options": lambda labels, question: (
        f"{labels.quoted(question)} allows several options: each share is among all people, and"
        f" shares do not add up to {percent(1)}. The test is that of the most significant option."
    ),
    "even margins": lambda _: "Placeholders with equal shares: enter known margins.",
    "margins": _margins,
    "unlikely margins": lambda labels, p_value, question="": (
        f"{_about(labels, question)}The respondents do not have these margins (p-value"
        f" {p_in_words(p_value)}): if people are missing, calibration is biased."
    ),
    "weights": _weights,
    "raking": lambda _: (
        "Raking corrects for nonresponse only as far as it depends on the questions of the margins."
    ),
    "calibration": lambda _: (
        "Calibration does not correct for nonresponse; it assumes that everybody responded."
    ),
    "days": _days,
    "none unknown": lambda labels, question: (
        f"{labels.quoted(question)}: the reports do not show how many chose no option."
    ),
    "rare by model": lambda _: (
        "A model has no negative shares, so its intervals for rare answers are too narrow: in"
        " simulated surveys, up to 25 % of the intervals for a share of 1 % miss it. Moment"
        " estimates keep their level."
    ),
    "best guesses": lambda _: "Supports are best guesses without intervals.",
    "unexamined": _unexamined,
    "frequent": lambda _, rate: (
        "Frequent: significantly above the threshold (adjusted p-value up to"
        f" {percent(rate)}, of two-sided tests). Others are undecided."
    ),
    "left out": lambda _, count: (
        f"Left out: {number(count, 0)} rule{'' if count == 1 else 's'} whose support is not"
        " significantly above zero; include_uncertain adds them."
    ),
    "unordered": lambda labels, question: (
        f"The survey does not declare the answers to {labels.quoted(question)} as ordered; they are"
        " used in the order of the survey."
    ),
    "scores": _scores,
    "bin error": lambda _, error: (
        "Numbers are represented by the midpoints of their bins: this changes means and standard"
        f" deviations by at most {number(error)}, in addition to their intervals."
    ),
    "interpolated": lambda _: (
        "Percentiles are interpolated within bins; the bins at both ends of an interval are valid"
        " for any distribution within them."
    ),
    "falling": lambda _: (
        "If an estimate below 0 makes cumulative shares decrease, percentiles are computed from"
        " nondecreasing cumulative shares."
    ),
    "overlap": lambda _: (
        "Judge by the differences and their p-values, not by whether intervals of means overlap."
    ),
    "few reports": lambda _, reports: (
        f"With about {reports:.1f} reports for each cell, intervals cover the true value less often"
        " than stated."
    ),
    "untested coefficients": lambda _, limit: (
        "Coefficients without a p-value are too imprecise to test: if all answers were independent,"
        f" their standard error would be above {limit}. Their intervals may cover the true value"
        " less often than stated."
    ),
    "no coefficients": _no_coefficients,
    "regression": _regression,
    "odds ratios": lambda _: (
        "Odds ratios are farther from 1 than ratios of shares. The average change (average marginal"
        " effect) is that of the probability of the answer if everybody gave one answer instead of"
        " the other, or per unit of scores."
    ),
    "held constant": _held_constant,
    "p-values of coefficients": _tested,
    "left out of regression": lambda _: (
        "People with a missing answer to one of these questions are left out, assuming that this is"
        " unrelated to the outcome."
    ),
    "merged": lambda labels, groups: (
        "Rare answers were merged for τ, by their shares alone:"
        f" {few([*map(labels.quoted_items, groups)])}. The p-values are for all answers."
    ),
    "concentration": lambda _: (
        "Goodman and Kruskal’s τ, corrected for chance: the share by which the Gini index of the"
        " column question falls if the answer to the row question is known. A pair that is not"
        " significant may still be associated; the reports cannot show it."
    ),
    "by design": lambda labels, pairs: (
        f"Not tested: {few([' and '.join(map(labels.quoted, pair)) for pair in pairs])}. One is"
        " asked after certain answers to the other, so that they depend on each other by design."
    ),
    "presence": lambda labels, answers: f"Presence means {labels.quoted_items(answers)}.",
    "near zero": lambda _: "The support of the rule is not significantly above zero.",
    "sides": lambda _: "For measures, a side of a rule is present if all of its items hold.",
    "no series": lambda _: "This survey belongs to no series.",
    "wave left out": lambda _, wave, survey, reason: (
        f"Wave {wave} ({survey}) is left out: {reason}."
    ),
    "not comparable": _not_comparable,
    "compared waves": _compared,
    "changes": _changes,
    "unlinked": _unlinked,
    "trends": lambda _: (
        "A trend is the slope of a straight line per wave, in points or in the unit of a mean; each"
        " wave is weighted by its precision."
    ),
    "perturbed": lambda _: (
        "These are randomly perturbed reports, not answers; all estimates are computed from them."
    ),
    "no person": lambda _: (
        "No row is a person: each is a combination of answers, with the estimated number of"
        " respondents who give it. All values are computed from perturbed reports."
    ),
    "replicate weights": lambda _, scale: (
        f"The variance of a statistic is {number(scale, 2)} times the sum of the squared"
        " differences between its replicates and its value."
    ),
    "known margins": lambda labels, questions: (
        f"Weighted to known margins of {listed([*map(labels.quoted, questions)])}."
    ),
    "drawn": lambda _, length: (
        f"These rows represent more combinations of answers. Tables of {length} questions are"
        " exact; other statistics have an additional error that the replicate weights do not"
        " include."
    ),
    "pilot": lambda _, people: f"These are {number(people, 0)} people of a pilot, not reports.",
    "nearest table": _nearest,
    "no posterior": _no_posterior,
    "errors of risk": _errors_of_risk,
    "no errors of risk": _no_errors_of_risk,
    "association estimates": lambda _: (
        "χ² and G² are estimates of association, corrected for chance and perturbation, not tests;"
        " a cross-tabulation has the test of independence."
    ),
}
