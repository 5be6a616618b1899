"""Questions of which several options may be chosen: how many choose each, and which together."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.charts import HeatMap, Mark
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.several import (
    Combination,
    ConditionalShare,
    OptionShare,
    PairEstimate,
    SeveralQuery,
    SeveralResult,
)
from halftruth_shared.analyses.wording import number, percent, places, with_interval
from halftruth_shared.errors import listing

from ..estimation.bounds import Array, normal_quantile
from ..estimation.estimates import estimates
from ..estimation.options import Options, lift, option_code
from ..estimation.ratios import ConditionalShares, conditional_shares
from . import sentences, verdicts
from .base import Analysis, Counted, Grid

E = TypeVar("E", bound=Estimate)

#: Most options, whose pairs can be read and estimated in time.
MAX_OPTIONS = 32

#: Most combinations that are examined.
MAX_SETS = 1_000

_NOBODY = "the share of those who answered it is not significantly above zero"
_NO_LIFT = "a share is estimated to be 0 or less"


def compute(counted: Counted, query: SeveralQuery) -> SeveralResult:
    """Estimate everything from tables of few options each, of those who answered them."""
    estimator = counted.estimator
    label, chosen = _asked(estimator.schema, query)
    codes = {attribute.name: _code(attribute) for attribute in chosen}
    options = Options(estimator, codes, query.target)
    z = normal_quantile(1 - query.confidence)
    listed = [
        _option(attribute, codes, options, query.confidence, by_itself=not label)
        for attribute in chosen
    ]
    widths = [option.standard_error for option in listed]
    reliability, verdict = verdicts.on_table(z * np.array(widths, dtype=float))
    combined = options.combined(query.max_length, MAX_SETS)
    combinations = [_combination(names, options, query.confidence) for names in combined]
    reached = [each for each in combinations if (each.value or 0) >= query.min_support]
    return SeveralResult(
        **counted.origin(),
        query=query,
        label=label or "Options",
        reliability=reliability,
        verdict=verdict,
        options=listed,
        mean=_mean(options, z),
        pairs=[_pair(pair, options, query.confidence) for pair in options.pairs()],
        combinations=sorted(reached, key=lambda each: (len(each.items), -(each.value or 0))),
        combined=[name for name in options.names if any(name in names for names in combined)],
        max_order=max(map(len, combined), default=2),
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
        question = questions[query.question or next(iter(questions))]
        return question.label_in(), _few(question.attributes)
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


def _share(kind: type[E], of_options: ConditionalShares, confidence: float, **fields: Any) -> E:
    """Share of those who chose all of some options, with its normal interval."""
    share, error = float(of_options.share.flat[-1]), float(np.sqrt(of_options.variance.flat[-1]))
    half_width = normal_quantile(1 - confidence) * error
    undefined = [_NOBODY if np.isnan(share) else None]
    ends = (share - half_width, share + half_width)
    return next(estimates(kind, share, error, ends, undefined=undefined, **fields))


def _option(
    attribute: Attribute,
    codes: dict[str, int],
    options: Options,
    confidence: float,
    *,
    by_itself: bool,
) -> OptionShare:
    conditional = options.shares([attribute.name], confidence)
    return _share(
        OptionShare,
        conditional,
        confidence,
        attribute=[attribute.name],
        answer=[attribute.categories[codes[attribute.name]]],
        label=[attribute.label_in() if by_itself else attribute.option_in()],
        base=[float(conditional.base[1])],
    )


def _mean(options: Options, z: float) -> Estimate:
    number = options.number()
    if np.isnan(number.mean):
        return Estimate(undefined="who answered is not significantly above zero")
    with np.errstate(invalid="ignore"):
        error = float(np.sqrt(number.variance))
    ends = (number.mean - z * error, number.mean + z * error)
    return next(estimates(Estimate, number.mean, error, ends, span=len(options.names)))


def _pair(names: tuple[str, str], options: Options, confidence: float) -> PairEstimate:
    support, covariance = options.table(*names)
    conditional: list[ConditionalShare] = []
    for axis in (0, 1):
        within = conditional_shares(support, covariance, [axis], confidence)
        conditional += estimates(
            ConditionalShare,
            within.share[1, 1],
            np.sqrt(within.variance[1, 1]),
            within.sets[-1:],
            of=[names[1 - axis]],
            among=[names[axis]],
        )
    return _share(
        PairEstimate,
        options.shares(names, confidence),
        confidence,
        first=[names[0]],
        second=[names[1]],
        conditional=[conditional],
        lift=[_lift(support, covariance, confidence)],
    )


def _combination(names: Sequence[str], options: Options, confidence: float) -> Combination:
    """Share of a set of options; undefined unless significantly many answered all of them."""
    items = {name: options.answer(name) for name in names}
    return _share(Combination, options.shares(names, confidence), confidence, items=[items])


def _lift(support: Array, covariance: Array, confidence: float) -> Estimate:
    ratio = lift(support, covariance)
    ends = ratio.interval(normal_quantile(1 - confidence))
    undefined = [_NO_LIFT if np.isnan(ratio.value) else None]
    return next(
        estimates(
            Estimate, ratio.value, ratio.standard_error, ends,
            ratio=True, effect=True, undefined=undefined,
        )
    )  # fmt: skip


def grid(result: SeveralResult) -> Grid:
    """Options, then how many are chosen, then pairs with their lift, then longer combinations."""
    short, level = _short(result), sentences.level(result.query.confidence)
    rows: list[list[str]] = []
    rows += [[short[one.attribute], *sentences.share_cells(one)] for one in result.options]
    rows.append(["number of options, on average", *sentences.number_cells(result.mean)])
    for pair in result.pairs:
        names = [short.get(name, name) for name in (pair.first, pair.second)]
        conditional = (with_interval(share, as_share=True) for share in pair.conditional)
        cells = sentences.share_cells(pair)
        rows.append([sentences.listed(names), *cells, *conditional, with_interval(pair.lift)])
    for each in result.combinations:
        names = [short.get(name, name) for name in each.items]
        rows.append([sentences.listed(names), *sentences.share_cells(each)])
    header = ["chosen", "share", level, "second among first", "first among second", "lift"]
    return Grid(header, [[*row, *[""] * (len(header) - len(row))] for row in rows])


def _short(result: SeveralResult) -> dict[str, str]:
    """Short labels of the options without their question."""
    return {one.attribute: one.attribute.rpartition(" – ")[2] for one in result.options}


def chart(result: SeveralResult) -> HeatMap:
    """Heat map of the shares of pairs of options, with those of options in the diagonal."""
    short = _short(result)
    names = tuple(short)
    cells: dict[tuple[str, str], Mark] = {
        (one.attribute, one.attribute): sentences.drawn(short[one.attribute], one)
        for one in result.options
    }
    for pair in result.pairs:
        label = sentences.listed([short[pair.first], short[pair.second]])
        cells[pair.first, pair.second] = cells[pair.second, pair.first] = sentences.drawn(
            label, pair
        )
    labels = tuple(short.values())
    question = [name for name in [names[0].rpartition(" – ")[0]] if name]
    return HeatMap(
        title=sentences.title(result, *question, "Chosen together"),
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


def headline(result: SeveralResult) -> str:
    """The option that most chose, and how many options people chose."""
    known = [one for one in result.options if one.value is not None]
    if not known:
        return "Nothing is known of the options."
    most = max(known, key=lambda one: one.value or 0.0)
    mean = "" if result.mean.value is None else f"; {with_interval(result.mean)} options on average"
    return f"Most often chosen: {_short(result)[most.attribute]}, {sentences.of_share(most)}{mean}."


def warnings(result: SeveralResult) -> list[str]:
    """Warn of uncertain estimates, and of those that reports do not identify."""
    lines = sentences.verdict(result, usable=False)
    if result.mean.reliability != "usable":
        lines.append(_of_mean(result))
    if len(result.options) > 1 and not result.pairs:
        lines.append("Reports tell of one option at a time, so that no pairs are known.")
    for what, graded in (
        ("shares of pairs", [pair.reliability for pair in result.pairs]),
        ("lifts", [pair.lift.reliability for pair in result.pairs]),
        ("shares of longer combinations", [each.reliability for each in result.combinations]),
    ):
        poor = graded.count("not usable")
        if poor:
            lines.append(
                f"Not usable, as too little is known: {number(poor, 0)} of"
                f" {number(len(graded), 0)} {what}."
            )
    return lines


def interpretation(result: SeveralResult) -> list[str]:
    """Interpret shares and lifts, and point to further analyses."""
    lines = sentences.verdict(result, usable=True)
    if result.mean.reliability == "usable":
        lines.append(_of_mean(result))
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
        up_to = f" to {result.max_order}" if result.max_order > 3 else ""
        lines.append(
            f"Combinations of 3{up_to} options{of} are {there} from an estimated share of"
            f" {percent(result.query.min_support)} on. Itemsets decide which are frequent, among"
            " everybody."
        )
    return lines


def _of_mean(result: SeveralResult) -> str:
    mean, word = result.mean, result.mean.reliability
    if mean.undefined:
        return f"The mean number of options is {word}: {mean.undefined}."
    if mean.ends is None:
        return f"The mean number of options is {word}: its error is not known."
    width = mean.ends[1] - mean.ends[0]
    known = verdicts.known_to(word, f"±{number(width / 2, places([width], 2))}")
    return f"The mean number of options is {word}: {known}."


ANALYSIS = Analysis(
    query=SeveralQuery,
    title="Questions with several answers",
    compute=compute,
    start=lambda _: SeveralQuery(),
    grid=grid,
    headline=headline,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Overview",
    order=29,
)
