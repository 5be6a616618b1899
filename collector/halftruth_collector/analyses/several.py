"""Questions of which several options may be chosen: how many choose each, and which together."""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Interval
from halftruth_shared.analyses.distribution import MomentEstimate
from halftruth_shared.analyses.several import (
    Combination,
    ConditionalShare,
    Lift,
    OptionShare,
    PairEstimate,
    SeveralQuery,
    SeveralResult,
)
from halftruth_shared.analyses.wording import (
    judged,
    number,
    percent,
    ratio,
    ratio_set,
    share,
    share_interval,
    value,
    value_interval,
)
from halftruth_shared.errors import listing

from ..charts.specification import Estimate, HeatMap
from ..estimation.bounds import Array, check_confidence, check_target, normal_quantile, optional
from ..estimation.options import Options, lift, option_code
from ..estimation.ratios import conditional_shares
from ..estimation.reliability import clear, judge, judge_table, margin, reliability
from . import sentences
from .base import Analysis, Counted, Grid

#: Most options, whose pairs can be read and estimated in time.
MAX_OPTIONS = 32

#: Most combinations that are examined.
MAX_SETS = 1_000

_NOBODY = "who answered it cannot be told from nobody"
_NO_LIFT = "a share is estimated to be 0 or less"


def compute(counted: Counted, query: SeveralQuery) -> SeveralResult:
    """Estimate everything from tables of few options each, of those who answered them."""
    check_confidence(query.confidence)
    check_target(query.target)
    estimator = counted.estimator
    label, chosen = _asked(estimator.schema, query)
    codes = {attribute.name: _code(attribute) for attribute in chosen}
    options = Options(estimator, codes, query.target)
    z = normal_quantile(1 - query.confidence)
    listed, widths = [], []
    for attribute in chosen:
        one, half_width = _option(attribute, codes, options, query.confidence, by_itself=not label)
        listed.append(one)
        widths.append(half_width)
    _, usability, verdict = judge_table(np.array(widths))
    combined = options.combined(query.max_length, MAX_SETS)
    combinations = [_combination(names, options, query.confidence) for names in combined]
    reached = [found for found in combinations if found and found.share >= query.min_support]
    return SeveralResult(
        **counted.origin(),
        query=query,
        label=label or "Options",
        usability=usability,
        verdict=verdict,
        options=listed,
        mean=_mean(options, z),
        pairs=[_pair(pair, options, query.confidence) for pair in options.pairs()],
        combinations=sorted(reached, key=lambda found: (len(found.items), -found.share)),
        combined=[name for name in options.names if any(name in names for names in combined)],
        longest=max(map(len, combined), default=2),
    )


def _asked(schema: Schema, query: SeveralQuery) -> tuple[str, list[Attribute]]:
    """Name of the question for people, empty where options are attributes; and its options."""
    if query.attributes is not None:
        if query.question is not None:
            raise ParameterError(
                "question: expected this, or attributes, and not both", field="question"
            )
        chosen = [schema.attributes[j] for j in schema.positions(query.attributes)]
        return "", _few(chosen)
    questions = {q.name: q for q in schema.questions if q.kind == "several"}
    if query.question is not None and query.question not in questions:
        there_are = listing(list(questions)) or "none in this survey; attributes may be given"
        raise ParameterError(
            f"question: '{query.question}' is no question of which several options may be chosen;"
            f" there are: {there_are}",
            field="question",
        )
    if questions:
        found = questions[query.question or next(iter(questions))]
        return found.label_in(), _few(found.attributes)
    items = [a for a in schema.attributes if a.item_mask.sum() == 1]
    chosen = items or [a for a in schema.attributes if option_code(a) is not None]
    if not chosen:
        raise ParameterError(
            "attributes: the survey has no question of which several options may be chosen, and"
            " none with one item or two answers, so that there is nothing to count here",
            field="attributes",
        )
    return "", _few(chosen)


def _few(chosen: Sequence[Attribute]) -> list[Attribute]:
    if len(chosen) > MAX_OPTIONS:
        raise ParameterError(
            f"attributes: {len(chosen)} options; expected at most {MAX_OPTIONS} of them",
            field="attributes",
        )
    return list(chosen)


def _code(attribute: Attribute) -> int:
    code = option_code(attribute)
    if code is None:
        raise ParameterError(
            f"attributes: '{attribute.name}' is no option that is chosen or not; expected"
            " attributes with one item or two answers",
            field="attributes",
        )
    return code


def _interval(found: float, half_width: float) -> Interval | None:
    return None if np.isnan(half_width) else (found - half_width, found + half_width)


def _option(
    attribute: Attribute,
    codes: dict[str, int],
    options: Options,
    confidence: float,
    *,
    by_itself: bool,
) -> tuple[OptionShare, float]:
    """An option, and the half-width of its interval."""
    found = options.shares([attribute.name], confidence)
    chosen, error = float(found.share[1]), float(np.sqrt(found.variance[1]))
    undefined = _NOBODY if np.isnan(chosen) else None
    half_width = normal_quantile(1 - confidence) * error
    option = OptionShare(
        attribute=attribute.name,
        answer=attribute.categories[codes[attribute.name]],
        label=attribute.label_in() if by_itself else attribute.option_in(),
        base=float(found.base[1]),
        share=optional(chosen),
        standard_error=optional(error),
        interval=_interval(chosen, half_width),
        usability=reliability(half_width),
        undefined=undefined,
    )
    return option, half_width


def _mean(options: Options, z: float) -> MomentEstimate:
    mean = options.number()
    if np.isnan(mean.mean):
        reason = "who answered cannot be told from nobody"
        return MomentEstimate(
            usability="not usable", verdict=f"not usable: {reason}", undefined=reason
        )
    with np.errstate(invalid="ignore"):
        error = float(np.sqrt(mean.variance))
    [(usability, verdict)] = judge(np.array([z * error]), span=float(len(options.names)))
    return MomentEstimate(
        value=mean.mean,
        standard_error=optional(error),
        interval=_interval(mean.mean, z * error),
        usability=usability,
        verdict=verdict,
    )


def _pair(names: tuple[str, str], options: Options, confidence: float) -> PairEstimate:
    support, covariance = options.table(*names)
    shares = options.shares(names, confidence)
    both, error = float(shares.share[1, 1]), float(np.sqrt(shares.variance[1, 1]))
    half_width = normal_quantile(1 - confidence) * error
    conditional = []
    for axis in (0, 1):
        within = conditional_shares(support, covariance, [axis], confidence)
        conditional.append(
            ConditionalShare(
                of=names[1 - axis],
                among=names[axis],
                share=optional(float(within.share[1, 1])),
                standard_error=optional(float(np.sqrt(within.variance[1, 1]))),
                confidence_set=within.sets[3],
                usability=reliability(float(within.sets.half_width[3])),
            )
        )
    return PairEstimate(
        first=names[0],
        second=names[1],
        share=optional(both),
        standard_error=optional(error),
        interval=_interval(both, half_width),
        usability=reliability(half_width),
        conditional=conditional,
        lift=_lift(support, covariance, confidence),
    )


def _combination(names: Sequence[str], options: Options, confidence: float) -> Combination | None:
    """Table of a set of options; None unless significantly many answered all of them."""
    shares = options.shares(names, confidence)
    both, error = float(shares.share.flat[-1]), float(np.sqrt(shares.variance.flat[-1]))
    if np.isnan(both):
        return None
    half_width = normal_quantile(1 - confidence) * error
    return Combination(
        items={name: options.answer(name) for name in names},
        share=both,
        standard_error=optional(error),
        interval=_interval(both, half_width),
        usability=reliability(half_width),
    )


def _lift(support: Array, covariance: Array, confidence: float) -> Lift:
    found = lift(support, covariance)
    value, error, lower, upper = (
        float(number)
        for number in (
            found.value,
            found.standard_error,
            *found.interval(normal_quantile(1 - confidence)),
        )
    )
    if np.isnan(value):
        return Lift(
            value=None,
            standard_error=None,
            interval=None,
            usability="not usable",
            verdict=f"not usable: {_NO_LIFT}",
            undefined=_NO_LIFT,
        )
    ends = np.array([lower]), np.array([upper])
    [(usability, verdict)] = judge(
        margin(*ends, ratio=True), ratio=True, directed=clear(*ends, ratio=True)
    )
    return Lift(
        value=value,
        standard_error=optional(error),
        interval=None if np.isnan(lower) else (lower, optional(upper)),
        usability=usability,
        verdict=verdict,
    )


def grid(result: SeveralResult) -> Grid:
    """Options, then how many are chosen, then pairs with their lift, then longer combinations."""
    short, level = _short(result), sentences.level(result.query.confidence)
    rows: list[list[str]] = []
    for one in result.options:
        text = judged(share(one.share, one.interval), one.usability)
        rows.append(
            [one.label, "undefined" if one.undefined else text, share_interval(one.interval)]
        )
    mean = result.mean
    text = (
        "undefined" if mean.undefined else judged(value(mean.value, mean.interval), mean.usability)
    )
    rows.append(["number of options, on average", text, value_interval(mean.interval)])
    for pair in result.pairs:
        names = [short.get(name, name) for name in (pair.first, pair.second)]
        rows.append(
            [
                sentences.listed(names),
                judged(share(pair.share, pair.interval), pair.usability),
                share_interval(pair.interval),
                *(_conditional(found) for found in pair.conditional),
                _lift_in_words(pair.lift),
            ]
        )
    for found in result.combinations:
        rows.append(
            [
                sentences.listed([short.get(name, name) for name in found.items]),
                judged(share(found.share, found.interval), found.usability),
                share_interval(found.interval),
            ]
        )
    header = ["chosen", "share", level, "second among first", "first among second", "lift"]
    return Grid(header, [[*row, *[""] * (len(header) - len(row))] for row in rows])


def _short(result: SeveralResult) -> dict[str, str]:
    """Labels of the options without their question."""
    return {one.attribute: one.label for one in result.options}


def _conditional(share: ConditionalShare) -> str:
    if share.share is None:
        return "undefined"
    text = judged(ratio(share.share, share.confidence_set), share.usability)
    return f"{text} ({ratio_set(share.confidence_set)})"


def _lift_in_words(lift: Lift) -> str:
    if lift.value is None:
        return "undefined"
    text = judged(value(lift.value, lift.interval), lift.usability)
    return f"{text} ({value_interval(lift.interval)})"


def chart(result: SeveralResult) -> HeatMap:
    """Heat map of the shares of pairs of options, with those of options in the diagonal."""
    short = _short(result)
    names = tuple(short)
    cells: dict[tuple[str, str], Estimate] = {
        (one.attribute, one.attribute): _cell(one.label, one) for one in result.options
    }
    for pair in result.pairs:
        label = sentences.listed([short[pair.first], short[pair.second]])
        cells[pair.first, pair.second] = cells[pair.second, pair.first] = _cell(label, pair)
    labels = tuple(short.values())
    return HeatMap(
        title=f"{result.label} – chosen together in {result.survey}",
        notes=(
            *sentences.notes(result, list(cells.values())),
            *warnings(result),
            "Share of those who answered who chose both the row and the column; along the diagonal,"
            " of those who chose that option.",
            "Pale with a dashed frame: not usable, or the interval reaches 0 or below.",
        ),
        rows=labels,
        columns=labels,
        cells=tuple(tuple(cells.get((row, column)) for column in names) for row in names),
    )


def _cell(label: str, found: OptionShare | PairEstimate) -> Estimate:
    lower, upper = found.interval or (None, None)
    doubt = found.usability if found.usability == "not usable" else None
    reason = _NOBODY if found.share is None else None
    return Estimate(label, found.share, lower, upper, category=doubt, reason=reason)


def warnings(result: SeveralResult) -> list[str]:
    """Warn of uncertain estimates, and of those that reports do not identify."""
    lines = [] if result.usability == "usable" else [_sentence(result.verdict)]
    if result.mean.usability != "usable":
        lines.append(f"Number of options: {result.mean.verdict}.")
    if len(result.options) > 1 and not result.pairs:
        lines.append("Reports tell of one option at a time, so that no pairs are known.")
    for what, graded in (
        ("shares of pairs", [pair.usability for pair in result.pairs]),
        ("lifts", [pair.lift.usability for pair in result.pairs]),
        ("shares of longer combinations", [found.usability for found in result.combinations]),
    ):
        poor = sum(usability == "not usable" for usability in graded)
        if poor:
            lines.append(
                f"Not usable, as too little is known: {number(poor, 0)} of"
                f" {number(len(graded), 0)} {what}."
            )
    return lines


def interpretation(result: SeveralResult) -> list[str]:
    """Interpret shares and lifts, and point to further analyses."""
    lines = [_sentence(result.verdict)] if result.usability == "usable" else []
    if result.mean.usability == "usable":
        lines.append(f"Number of options: {result.mean.verdict}.")
    if any(one.base < 1 for one in result.options):
        lines.append("Shares are of those who answered; whose answer is missing is left out.")
    if result.pairs:
        lines.append(
            "Lift: how many chose both, as a multiple of how many would if choices were"
            " independent; above 1 they go together, below 1 they exclude each other."
        )
    if result.combined:
        there = "given" if result.combinations else "looked for, and none was found"
        few = len(result.combined) < len(result.options)
        of = f" of the {len(result.combined)} options that are chosen most often" if few else ""
        up_to = f" to {result.longest}" if result.longest > 3 else ""
        lines.append(
            f"Combinations of 3{up_to} options{of} are {there} from an estimated share of"
            f" {percent(result.query.min_support)} on. Itemsets decide which are frequent, among"
            " everybody."
        )
    return lines


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


ANALYSIS = Analysis(
    query=SeveralQuery,
    title="Questions with several answers",
    compute=compute,
    start=lambda _: SeveralQuery(),
    grid=grid,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    order=29,
)
