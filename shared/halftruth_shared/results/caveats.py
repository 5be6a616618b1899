"""What has to be known of a result: each caveat a code with its values, worded once, here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from ..protocol.base import Message
from .wording import half_width, items, number, percent, quoted, quoted_items
from .wording import p_value as p_in_words

#: Whether it has to be read before conclusions are drawn, or with the method.
Weight = Literal["warning", "note"]

Words = Callable[..., str]

#: Most recent days that a sentence lists.
MAX_DAYS = 7

#: A share that is known no better than this may be anything.
ANYTHING = 0.5


class Caveat(Message, frozen=True, kw_only=True):
    """Something to know of a result.

    `code` says what, and `values` of which questions, answers and numbers; the sentence that people
    read is made of both. `weight` is *warning* for what has to be read before conclusions are
    drawn.
    """

    code: Annotated[str, Meta(description="What has to be known.")]
    values: dict[str, Any] = field(default_factory=dict)
    weight: Weight = "note"

    @property
    def sentence(self) -> str:
        """The caveat in words."""
        return WORDS[self.code](**self.values)


def warning(code: str, **values: Any) -> Caveat:
    """Return a caveat to read before conclusions are drawn."""
    return Caveat(code=code, values=values, weight="warning")


def note(code: str, **values: Any) -> Caveat:
    """Return a caveat that belongs to the method."""
    return Caveat(code=code, values=values)


def listed(names: Sequence[str]) -> str:
    """Join names in a sentence.

    >>> listed(["age", "sex", "vote"])
    'age, sex and vote'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def few(names: Sequence[str], most: int = 4) -> str:
    """Join the first of many names, with the number of others.

    >>> few(["age=old", "age=young", "sex=male"], 2)
    'age=old; age=young; 1 other'
    """
    more = len(names) - most
    rest = [f"{number(more, 0)} other{'' if more == 1 else 's'}"] if more > 0 else []
    return "; ".join([*names[:most], *rest])


def _precision(
    reliability: str,
    margin: float | None = None,
    unbounded: bool = False,
    few_reports: float | None = None,
    question: str = "",
    what: str = "shares",
    length: int | None = None,
    threshold: float = 0.0,
) -> str:
    """Word the typical margin of several estimates, and how few reports they rest on.

    Those of itemsets of a length are compared with the threshold of their support.
    """
    if margin is not None:
        known = f"known {'only ' * (reliability == 'not usable')}to {half_width(margin)}"
        said = f"{what} are {known}"
        if threshold <= margin < ANYTHING:
            said += f", and those up to {percent(margin, 1)} are not significantly above zero"
    elif unbounded and what != "shares":
        said = f"{what} may be anything"
    elif unbounded:
        said = (
            "most groups are not significantly above zero, so that shares of them may be anything"
        )
    else:
        said = f"too few reports for an interval of most {'itemsets' if length else 'cells'}"
    if few_reports is not None:
        said += (
            f"; with about {few_reports:.1f} reports for each cell, intervals miss the truth more"
            " often than they say"
        )
    about = quoted(question) if question else length and f"Length {length}"
    return f"{about} is {reliability}: {said}." if about else f"{reliability.capitalize()}: {said}."


def _unexamined(length: int, what: str, margin: float | None = None, threshold: float = 0) -> str:
    """Word why itemsets or rules of a length and longer ones were not examined."""
    longer = f"{what[:1].upper()}{what[1:]} of {length} or more answers were not examined"
    if margin is None:
        return f"{longer}, as there are too many: max_length asks for them."
    return (
        f"{longer}: {number(length, 0)} answers together are known to {half_width(margin)} at"
        f" best, more than the threshold of {percent(threshold)}. max_length asks for them."
    )


def _guess(
    reliability: str,
    length: int,
    error: float | None = None,
    bound: bool = False,
    learned: bool = True,
    question: str = "",
) -> str:
    """Word the typical error of best guesses."""
    questions = f"{length} question{'s' if length > 1 else ''}"
    said = f"how far best guesses of {questions} are off is unknown"
    if error is not None:
        less = "less than " * bound
        said = f"best guesses of {questions} are typically off by {less}{half_width(error)}"
    if length > 1 and not learned:
        said += "; nothing about associations was learned, this is as if answers were independent"
    if question:
        return f"{quoted(question)} is {reliability}: {said}."
    return f"{reliability.capitalize()}: {said}."


def _adjusted(rate: float, what: str) -> str:
    return (
        f"Each interval is for one {what} by itself. Adjusted p-values are false discovery rates"
        f" among all: those up to {percent(rate)} are significant."
    )


def _equality(by_model: bool) -> str:
    tests = "Wald tests by the model" if by_model else "score tests"
    return (
        f"p-values are of {tests} and assume equal shares, so they can disagree with the interval."
        " A large p-value is no evidence that shares are equal: perturbation hides small"
        " differences."
    )


def _scores(question: str, kind: str, scores: Mapping[str, float]) -> str:
    """Word what the answers to a question count as."""
    each = ", ".join(
        answer if answer == number(score) else f"{answer} {number(score)}"
        for answer, score in scores.items()
    )
    return f"The answers to {quoted(question)} count as {kind}s: {each}."


def _about(question: str) -> str:
    return f"{quoted(question)}: " if question else ""


def _margins(margins: Mapping[str, Mapping[str, float]]) -> str:
    """Word known distributions of answers.

    >>> _margins({"sex": {"female": 0.6, "male": 0.4}}).replace(chr(0x202F), " ")
    'Margins: sex (female 60.0 %, male 40.0 %).'
    """
    each = (
        f"{quoted(name)} ({', '.join(f'{a} {percent(share, 1)}' for a, share in shares.items())})"
        for name, shares in margins.items()
    )
    return f"Margins: {listed([*each])}."


def _weights(
    people: float, smallest: float, largest: float, design_effect: float, question: str = ""
) -> str:
    return (
        f"{_about(question)}Sum of weights {number(people, 0)}; weights from {number(smallest, 2)}"
        f" to {number(largest, 2)} times their mean, with a design effect of"
        f" {number(design_effect, 2)} by themselves."
    )


def _no_coefficients(
    reason: str, terms: Sequence[Mapping[str, str]], by_model: bool = False
) -> str:
    """Word why a regression has no coefficients, and of which terms least is known."""
    said = f"{reason[:1].upper()}{reason[1:]}"
    if terms:
        said += (
            f"; the least is known of {listed([items(each) or 'the intercept' for each in terms])}"
        )
    if by_model:
        return f"{said}. The choice “estimate: model” needs fewer reports, and assumes more."
    return f"{said}."


def _regression(method: str, question: str = "", answers: Mapping[str, str] | None = None) -> str:
    """Word what the equation of a regression is of, and how it was estimated."""
    about = (
        f"log odds of {quoted_items(answers)}" if answers else f"mean score of {quoted(question)}"
    )
    by = {
        "moment": "the unbiased tables of these answers. Nothing is assumed of how answers depend"
        " on each other.",
        "model": "one model of all answers.",
        "outcome": "the likelihood of the outcome given predictors that are not perturbed. The"
        " equation is assumed to hold, and nothing of the predictors.",
    }
    return f"The equation is of the {about}. Estimated by {by[method]}"


def _held_constant(interactions: bool) -> str:
    assumed = (
        "only predictors that share a term change what another does."
        if interactions
        else "none changes what another does; where one does, these are coefficients of the best"
        " such equation."
    )
    return (
        f"Each coefficient is with all other predictors held constant, and assumes that {assumed}"
        " Intervals take the perturbation of every answer into account."
    )


def _tested(method: str, odds: bool) -> str:
    if not odds:
        return (
            "p-values are of score tests; an interval has the values that such a test does not"
            " reject."
        )
    if method == "moment":
        return (
            "Intervals are normal ones. The p-values are of score tests; they can differ slightly"
            " from the intervals."
        )
    return "Intervals are normal ones, and the p-values are of Wald tests."


def _effective(reports: float) -> str:
    return f"As precise as {number(reports, 0)} answers without perturbation would be."


def _waves(numbers: Sequence[int]) -> str:
    """Name waves by their numbers.

    >>> _waves([2]), _waves([1, 3])
    ('wave 2', 'waves 1 and 3')
    """
    return f"wave{'s' * (len(numbers) > 1)} {listed([*map(str, numbers)])}"


def _not_comparable(question: str, waves: Sequence[int], reason: str, compared: bool) -> str:
    """Word that a question of some waves is another one, and whether it is compared."""
    begin = "Compared all the same" if compared else "Not compared"
    return f"{begin}: {quoted(question)} in {_waves(waves)} ({reason})."


def _compared(waves: Sequence[Mapping[str, Any]]) -> str:
    each = (
        f"wave {wave['wave']} ({wave['survey']}) {number(wave['reports'], 0)} reports,"
        f" γ = {wave['gamma']}"
        for wave in waves
    )
    return f"Compared: {'; '.join(each)}."


def _changes(target: str) -> str:
    whom = {
        "population": "Changes are those in a population that the respondents of each wave are a"
        " sample of.",
        "respondents": "Changes are those from exactly the respondents of one wave to those of the"
        " other.",
    }
    return (
        f"{whom[target]} Waves are taken to be independent samples: where the same people answered"
        " again, intervals are slightly too wide. That no change is significant is no evidence that"
        " nothing changed."
    )


def _unlinked(invited: Sequence[int]) -> str:
    said = "Reports are not linked between waves, so changes of single people cannot be estimated"
    if not invited:
        return f"{said}."
    return (
        f"{said}. {_waves(invited).capitalize()} took invitations: whoever kept which person got"
        " which knows who took part in which wave, not with which report."
    )


def _nearest(uncertain: int, cells: int) -> str:
    return (
        "These are risks in the table without negative shares that is nearest to the unbiased"
        f" estimate, of the cells with at least half a person. {number(uncertain, 0)} of these"
        f" {number(cells, 0)} cells are not significantly above zero; risks among the real people"
        " may be larger."
    )


def _no_posterior(prior: float, posterior: float) -> str:
    return (
        "The risk is not what somebody believes: of the answer about which a report reveals most"
        f" beyond the table, the table alone tells {percent(prior, 1)}, and a report"
        f" {percent(posterior, 1)} on average to those who know whose it is. What bounds that is"
        " the survey's γ."
    )


def _days(days: Mapping[str, int]) -> str:
    """Word the number of reports of the last days."""
    last = [f"{day} {number(reports, 0)}" for day, reports in sorted(days.items())[-MAX_DAYS:]]
    before = len(days) - len(last)
    earlier = f"; earlier ones on {number(before, 0)} more days" if before else ""
    return f"Reports by day (UTC): {', '.join(last)}{earlier}."


#: The words of each caveat, by its code. An analysis adds its own here.
WORDS: Mapping[str, Words] = {
    "precision": _precision,
    "typical error": _guess,
    "effective reports": _effective,
    "adjusted": _adjusted,
    "p-values of shares": _equality,
    "open ratios": lambda: (
        "Where a denominator is not significantly above zero, its ratio has no upper end."
    ),
    "base of shares": lambda questions: (
        f"Each share is of those with the same answer to {listed([*map(quoted, questions)])}."
        if questions
        else "Each share is of everybody."
    ),
    "departures": lambda rate, layers: (
        "▲ significantly more and ▼ significantly fewer people than under independence"
        f"{' within each layer' * layers} (false discovery rate {percent(rate)} among the cells)."
    ),
    "open groups": lambda groups: (
        "Shares of these groups may be anything, as it is not significant that there is anybody in"
        f" them: {few([*map(quoted_items, groups)])}."
    ),
    "several options": lambda question: (
        f"Of {quoted(question)} several options may be chosen: each share is that of people who"
        f" chose this one, and the options do not add up to {percent(1)}. The test is"
        " that of the most significant option."
    ),
    "even margins": lambda: "These margins are even, as placeholders are: enter known ones.",
    "margins": _margins,
    "unlikely margins": lambda p_value, question="": (
        f"{_about(question)}The respondents are hardly people with these margins (p-value"
        f" {p_in_words(p_value)}): if some are missing, calibration is biased."
    ),
    "weights": _weights,
    "raking": lambda: (
        "Raking makes up for who responded only as far as that depends on the questions of the"
        " margins."
    ),
    "calibration": lambda: (
        "Calibration makes up for no missing people; it assumes that there are none."
    ),
    "days": _days,
    "none unknown": lambda question: (
        f"{quoted(question)}: the reports do not tell how many chose none."
    ),
    "rare by model": lambda: (
        "A model has no negative shares, so that its intervals of rare answers are too narrow: in"
        " simulated surveys up to 25 % of those of a share of 1 % miss it. Moment estimates keep"
        " their level there."
    ),
    "best guesses": lambda: "Supports are best guesses, which have no intervals.",
    "unexamined": _unexamined,
    "frequent": lambda rate: (
        "Frequent: significantly above the threshold (adjusted p-value up to"
        f" {percent(rate)}, of two-sided tests). Others are undecided."
    ),
    "left out": lambda count: (
        f"Left out: {number(count, 0)} rule{'' if count == 1 else 's'} whose support is not"
        " significantly above zero; include_uncertain gives them, too."
    ),
    "unordered": lambda question: (
        f"The survey does not say that the answers to {quoted(question)} are in an order; they are"
        " taken in that of the survey."
    ),
    "scores": _scores,
    "bin error": lambda error: (
        "Numbers are known by their bins, of which each counts as its middle: means and standard"
        f" deviations are off by at most {number(error)} for that, besides their intervals."
    ),
    "interpolated": lambda: (
        "Percentiles are interpolated within their bin; the bins in which an interval begins and"
        " ends are right however numbers are spread in them."
    ),
    "falling": lambda: (
        "Where cumulative shares fall, because an estimate is below 0, percentiles are those of"
        " shares that grow."
    ),
    "overlap": lambda: (
        "Judge by the differences and their p-values, not by whether intervals of means overlap."
    ),
    "few reports": lambda reports: (
        f"With about {reports:.1f} reports for each cell, intervals miss the truth more often than"
        " they say."
    ),
    "untested coefficients": lambda limit: (
        "There are too few reports for coefficients without a p-value: if all answers were"
        f" independent, the standard error would be above {limit}. Their intervals can miss the"
        " truth more often than they say."
    ),
    "no coefficients": _no_coefficients,
    "regression": _regression,
    "odds ratios": lambda: (
        "Odds ratios are not ratios of shares, which are nearer to 1. The average change is that of"
        " the probability of the answer where everybody gives one answer instead of the other, or"
        " for a unit of scores."
    ),
    "held constant": _held_constant,
    "p-values of coefficients": _tested,
    "left out of regression": lambda: (
        "Those are left out who lack one of these answers, as if that told nothing of the outcome."
    ),
    "merged": lambda groups: (
        "Answers too rare to be told apart count as one in τ, by the sizes of single answers and"
        f" whatever the pairs are: {few([*map(quoted_items, groups)])}. The p-values are of all"
        " answers."
    ),
    "concentration": lambda: (
        "Share by which the Gini index of the column's question falls when the answer to the row's"
        " is known (concentration τ), without what chance adds. A pair that is not significant may"
        " still be associated; the reports cannot show it."
    ),
    "presence": lambda answers: f"Presence means {quoted_items(answers)}.",
    "near zero": lambda: "The support of the rule is not significantly above zero.",
    "sides": lambda: "Measures take each side of a rule as present where all of its items hold.",
    "no series": lambda: "This survey belongs to no series.",
    "wave left out": lambda wave, survey, reason: f"Wave {wave} ({survey}) is left out: {reason}.",
    "not comparable": _not_comparable,
    "compared waves": _compared,
    "changes": _changes,
    "unlinked": _unlinked,
    "trends": lambda: (
        "A trend is the slope of a straight line per wave, in points or in the unit of a mean; each"
        " wave is weighted by its precision."
    ),
    "perturbed": lambda: (
        "These are reports, which were perturbed at random, and no answers; every estimate is"
        " computed from them."
    ),
    "no person": lambda: (
        "No row is a person: each is a combination of answers, with the number of respondents who"
        " are estimated to give it. All of it is computed from perturbed reports alone."
    ),
    "replicate weights": lambda scale: (
        f"The variance of a statistic is {number(scale, 2)} times the sum of its squared"
        " differences with the replicate weights."
    ),
    "known margins": lambda questions: (
        f"Weighted to known margins of {listed([*map(quoted, questions)])}."
    ),
    "drawn": lambda length: (
        "There are more combinations of answers: these rows stand for all of them, exactly in"
        f" tables of {length} questions, and with an error that the replicate weights do not have"
        " in everything else."
    ),
    "pilot": lambda people: f"These are {number(people, 0)} people of a pilot, and no reports.",
    "nearest table": _nearest,
    "no posterior": _no_posterior,
    "association estimates": lambda: (
        "χ² and G² are estimates of association, without what chance and perturbation add, and no"
        " tests; a cross-tabulation has the test of independence."
    ),
}
