"""Association rules of randomized baskets: intervals of confidences, and what is found."""

import sys

import numpy as np
from halftruth_collector.estimation.bounds import normal_quantile
from halftruth_collector.estimation.intervals import EVERYTHING, OUTSIDE
from halftruth_shared.results.charts import Axis, Curve, CurveChart
from halftruth_shared.results.wording import number, percent
from halftruth_studies.mining.coil import COUNTS, ITEMS, coil_items
from halftruth_studies.mining.confidence import (
    Confidences,
    chebyshev_interval,
    expected_counts,
    rule_confidences,
    second_order_mean,
)
from halftruth_studies.mining.quest import Quest
from halftruth_studies.mining.rules import (
    Baskets,
    Decision,
    Found,
    Rule,
    RuleErrors,
    Thresholds,
    mine_rules,
    perturb,
    rule_errors,
)
from numpy.typing import NDArray
from page import FOLDER, Page

#: The file of COIL, which is not part of the project.
COIL = FOLDER.parents[2] / "shared" / "data" / "ticdata2000.txt"

ALPHA = 0.05
Z = normal_quantile(ALPHA)

#: Simulated surveys of one rule, draws of the reports of COIL, and the p of each table.
SURVEYS, DRAWS = 100_000, 10
COVERED = (0.55, 0.65, 0.75, 0.85, 0.95)
COIL_KEEP, QUEST_KEEP = (0.65, 0.75, 0.85, 0.95), (0.8, 0.9, 0.95)

#: What decides, in the order of the columns.
DECISIONS: tuple[Decision, ...] = ("estimate", "lower", "upper")

#: Guo's p of the table of seven rules.
SEVEN, SEVEN_KEEP = 7, 0.65

#: Which rules are looked for.
COIL_RULES = Thresholds(support=0.25, confidence=0.8, max_length=3)
QUEST_RULES = Thresholds(support=0.005, confidence=0.5, max_length=2)


def study(page: Page) -> None:
    """Fill the page; tables of COIL stay as they are without its file."""
    rule_against_p(page)
    coverage(page)
    bias(page)
    quest(page)
    if COIL.is_file():
        items = coil_items(COIL)
        seven_rules(page, items)
        all_rules(page, "coil", items, COIL_RULES, COIL_KEEP, DRAWS)
    else:
        print(f"rules: {COIL} is absent; its tables are not computed", file=sys.stderr)


def rule_against_p(page: Page) -> None:
    """A rule with the errors expected at each p."""
    counts = COUNTS["G ⇒ H"]
    x = tuple(np.linspace(0.6, 1, 9).round(3).tolist())
    expected = [
        rule_confidences(expected_counts(counts / counts.sum(), keep, counts.sum()), keep)
        for keep in x
    ]
    supports = [(float(e.numerator), Z * float(e.var_numerator) ** 0.5) for e in expected]
    intervals = [
        (float(low), float(high)) for low, high in (chebyshev_interval(e, ALPHA) for e in expected)
    ]
    widths = {
        "normal": [Z * float(e.estimates.standard_error) for e in expected],
        "Chebyshev's": [(high - low) / 2 for low, high in intervals],
    }
    curves = (
        Curve(
            "support",
            x,
            tuple(value for value, _ in supports),
            tuple((value - margin, value + margin) for value, margin in supports),
        ),
        Curve("confidence", x, tuple(float(e.value) for e in expected), tuple(intervals)),
    )
    axis = Axis("p, the probability that an item is reported as it is")
    page.figure(
        "against-p",
        CurveChart(
            title="The rule G ⇒ H against p",
            notes=(
                "Items of COIL. Intervals of 95 % as expected of 5 822 people, normal ones of the"
                " support, Chebyshev's of the confidence.",
            ),
            x_axis=axis,
            y_axis=Axis("support or confidence", shares=True),
            curves=curves,
        ),
    )
    page.figure(
        "half-widths",
        CurveChart(
            title="Two intervals of the confidence of G ⇒ H",
            notes=("Half-widths of 95 % intervals, as expected of 5 822 people.",),
            x_axis=axis,
            y_axis=Axis("half-width", shares=True, scale="log"),
            curves=tuple(Curve(name, x, tuple(each)) for name, each in widths.items()),
        ),
    )


def coverage(page: Page) -> None:
    """How often intervals contain the true confidence, and their median half-widths."""
    rows = []
    for rule in COUNTS:
        for keep in COVERED:
            true, found = _simulated(rule, keep, COUNTS[rule].sum(), seed=1)
            defined = np.isfinite(found.estimates.standard_error)
            margin = Z * found.estimates.standard_error[defined]
            lower, upper = (end[defined] for end in chebyshev_interval(found, ALPHA))
            sets = found.estimates.sets(Z)
            inside = (sets.lower <= true) & (true <= sets.upper)
            fieller = np.where(sets.kind == OUTSIDE, ~inside, inside) | (sets.kind == EVERYTHING)
            covered = (
                np.abs(found.value[defined] - true) <= margin,
                (lower <= true) & (true <= upper),
                fieller,
            )
            widths = (margin, (upper - lower) / 2, sets.half_width)
            rows.append(
                [
                    rule,
                    number(keep),
                    percent(1 - defined.mean(), 1),
                    *(percent(each.mean(), 1) for each in covered),
                    *(_points(np.median(each)) for each in widths),
                ]
            )
    kinds = ("normal", "Chebyshev's", "Fieller's")
    header = [*(f"{kind} contains it" for kind in kinds), *(f"± {kind}" for kind in kinds)]
    page.table("coverage", ["rule", "p", "undefined", *header], rows)


def _points(half_width: float) -> str:
    return f"{100 * half_width:.1f}" if np.isfinite(half_width) else "–"


def bias(page: Page) -> None:
    """The mean of an estimated confidence beside its second-order approximation."""
    rows = []
    for keep in (0.75, 0.9):
        for people in (100, 300, 1_000):
            true, found = _simulated("G ⇒ H", keep, people, seed=2)
            shares = COUNTS["G ⇒ H"] / COUNTS["G ⇒ H"].sum()
            known = rule_confidences(expected_counts(shares, keep, people), keep)
            # The linear part has mean 0; without it chance disturbs the mean less.
            linear = (found.numerator - true * found.denominator) / known.denominator
            corrected = 2 * found.value - second_order_mean(found)
            left, rest = (each - true - linear for each in (found.value, corrected))
            means = (left.mean(), float(second_order_mean(known)) - true, rest.mean())
            row = [number(100 * float(each), 3) for each in means]
            rows.append([number(keep), number(people), *row])
    page.table("bias", ["p", "people", "bias", "by Equation 3.4", "after correction"], rows)


def _simulated(rule: str, keep: float, people: int, seed: int) -> tuple[float, Confidences]:
    """Return the true confidence of a rule, and its estimates in simulated surveys."""
    shares = COUNTS[rule] / COUNTS[rule].sum()
    chances = expected_counts(shares, keep, 1)
    drawn = np.random.default_rng(seed).multinomial(people, chances.ravel(), size=SURVEYS)
    return float(shares[1, 1] / shares[1].sum()), rule_confidences(drawn.reshape(-1, 2, 2), keep)


def seven_rules(page: Page, items: Baskets) -> None:
    """The rules of two of Guo's items with the largest supports, in one draw."""
    columns = [column - 1 for column, _ in ITEMS.values()]
    ten = items[:, columns]
    reports = perturb(ten, SEVEN_KEEP, np.random.default_rng(3))
    true = mine_rules(ten, 1.0, Thresholds(support=0, confidence=0, max_length=2))
    best = {tuple(sorted(x + y)): Rule(x, y) for x, y in sorted(true, key=lambda r: true[r][1])}
    names = list(ITEMS)
    rows = []
    for x, y in sorted(best.values(), key=lambda rule: -true[rule][0])[:SEVEN]:
        support, confidence = true[Rule(x, y)]
        found = rule_confidences(_counts(reports, x + y), SEVEN_KEEP)
        margin = Z * float(found.var_numerator) ** 0.5
        both = float(found.numerator)
        low, high = chebyshev_interval(found, ALPHA)
        rows.append(
            [
                f"{names[x[0]]} ⇒ {names[y[0]]}",
                *(percent(each, 1) for each in (support, both)),
                f"{percent(both - margin, 1)} to {percent(both + margin, 1)}",
                *(percent(each, 1) for each in (confidence, float(found.value))),
                f"{percent(float(low), 1)} to {percent(float(high), 1)}",
            ]
        )
    page.table("seven", ["rule", "s", "ŝ", "95 %", "c", "ĉ", "95 % (Chebyshev)"], rows)


def _counts(baskets: Baskets, pair: tuple[int, ...]) -> NDArray[np.int64]:
    x, y = baskets[:, pair].T.astype(np.int64)
    return np.bincount(2 * x + y, minlength=4).reshape(2, 2)


def quest(page: Page) -> None:
    """The same errors in T10.I4."""
    baskets = Quest().simulate(np.random.default_rng(4))
    sizes = baskets.sum(axis=1)
    frequent = int((baskets.mean(axis=0) >= QUEST_RULES.support).sum())
    page.put(
        "quest-baskets",
        f"{number(len(baskets))} baskets of {number(float(sizes.mean()), 1)} items in the mean;"
        f" {number(frequent)} of the {number(baskets.shape[1])} items are in at least"
        f" {percent(QUEST_RULES.support, 1)} of them.",
    )
    all_rules(page, "quest", baskets, QUEST_RULES, QUEST_KEEP, draws=1)


def all_rules(
    page: Page,
    place: str,
    baskets: Baskets,
    thresholds: Thresholds,
    keeps: tuple[float, ...],
    draws: int,
) -> None:
    """Errors of the rules found, by what decides; means over draws of the reports."""
    true = mine_rules(baskets, 1.0, thresholds)
    rows, bounds = [], []
    for keep in keeps:
        rng = np.random.default_rng(5)
        drawn = [perturb(baskets, keep, rng) for _ in range(draws)]
        errors = [_mean_errors(true, drawn, keep, thresholds, decision) for decision in DECISIONS]
        by_estimate, sides = errors[0], [[e.false_positives, e.false_negatives] for e in errors]
        rows.append(
            [
                number(keep),
                *(number(count, 0) for count in by_estimate[:2]),
                *(percent(share, 1) for share in by_estimate[2:6]),
                *(number(count, 0) for count in by_estimate[6:]),
            ]
        )
        bounds.append([number(keep), *(percent(share, 1) for side in sides for share in side)])
    page.table(place, ["p", "rules", "found", "ρ", "γ", "σ⁺", "σ⁻", "s-p", "c-p"], rows)
    names = ("estimate", "lower bound", "upper bound")
    header = [f"{sign} by {name}" for name in names for sign in ("σ⁺", "σ⁻")]
    page.table(f"{place}-bounds", ["p", *header], bounds)


def _mean_errors(
    true: Found, drawn: list[Baskets], keep: float, thresholds: Thresholds, decision: Decision
) -> RuleErrors:
    errors = [rule_errors(true, mine_rules(each, keep, thresholds, decision)) for each in drawn]
    return RuleErrors(*np.mean(errors, axis=0).tolist())
