"""What reports show without the parameters of the perturbation (Guo ch. 4)."""

import csv
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from halftruth_collector.estimation.bounds import Array
from halftruth_shared.results import quantity
from halftruth_shared.results.charts import Axis, Curve, CurveChart
from halftruth_shared.results.wording import number, percent
from halftruth_studies.unknown_parameters import (
    added_value,
    any_matrices,
    column_risk_difference,
    concentration,
    even_matrices,
    fit_loglinear,
    gini_after_split,
    growth,
    is_preserved,
    keeping,
    laplace,
    likely_matrices,
    log_odds_ratio,
    measures,
    partial_correlation,
    perturb,
    posteriors,
    random_tables,
    rejections,
    reported,
    reversals,
    sizes,
)
from numpy.typing import NDArray
from page import FOLDER, Page

#: Random tables, the number of reports of measures that depend on it, and the seed.
TABLES, REPORTS, SEED = 10_000, 1_000, 4

#: Simulated surveys of the χ² test, and reports of each.
SURVEYS, RESPONDENTS = 20_000, 500

#: Highest-order terms of all hierarchical models of three attributes, but the saturated one.
MODELS = ("A,D,G", "AD,G", "AG,D", "A,DG", "AD,AG", "AD,DG", "AG,DG", "AD,AG,DG")

#: Probabilities of keeping A, D and G.
KEPT = ((1, 1, 1), (0.9, 0.9, 0.9), (0.7, 0.7, 0.7), (0.7, 0.8, 0.9))

#: Two of the three categories nearly merged: they are reported alike, whichever is true.
MERGING = np.array(
    [[1, 0, 0], [0, Fraction(19, 20), Fraction(9, 10)], [0, Fraction(1, 20), Fraction(1, 10)]]
)

Rows = list[list[str]]
Matrices = tuple[NDArray[Any] | None, ...]


def study(page: Page) -> None:
    """Fill the page."""
    items = Items()
    page.table(
        "measures",
        [
            "measure",
            *(f"grows, {draw}" for draw in ("any", "likely", "3×4 even", "3×4 any")),
            *(f"order, {which}" for which in ("both", "first", "second", "second even")),
        ],
        measured(),
    )
    page.figure("by-p", by_p(items))
    page.table("counterexamples", ["", "of answers", "of reports"], counterexamples())
    page.table(
        "power",
        ["", "φ", *(f"p = {p:g}" for p in (1, 0.9, 0.8, 0.7, 0.6))],
        powers(items),
    )
    page.table(
        "models",
        [
            "model",
            "degrees of freedom",
            "answers",
            *(f"p = {', '.join(map(str, dict.fromkeys(kept)))}" for kept in KEPT[1:]),
            "preserved",
        ],
        models(items),
    )
    page.table(
        "conditional",
        ["kept with", "partial correlation", "χ² in the layers", "p-value", "coefficient"],
        conditional(items),
    )
    page.table(
        "classifiers",
        ["", "answers", "reports"],
        classifiers(items),
    )


class Items:
    """The customers of COIL by six yes/no items."""

    def __init__(self) -> None:
        with open(FOLDER / "data" / "coil.csv", encoding="ascii", newline="") as file:
            (*self._names, _), *rows = csv.reader(file)
        self._counts = np.zeros((2,) * len(self._names))
        for *answers, count in rows:
            self._counts[tuple(int(answer == "yes") for answer in answers)] = int(count)

    def __getitem__(self, names: str) -> Array:
        """Return the counts of some items, in this order; 0 is no and 1 is yes."""
        axes = [self._names.index(name) for name in names]
        left_out = tuple(axis for axis in range(len(self._names)) if axis not in axes)
        table = self._counts.sum(axis=left_out)
        return np.asarray(table.transpose([sorted(axes).index(axis) for axis in axes]))


def measured() -> Rows:
    """Return how often measures grow, and their order reverses, in random tables."""
    rng = np.random.default_rng(SEED)
    found = []
    for shape, draws in (
        ((2, 2), (any_matrices, likely_matrices)),
        ((3, 4), (even_matrices, any_matrices)),
    ):
        tables = random_tables(rng, shape, TABLES)
        before = measures(tables, REPORTS)
        for draw in draws:
            first, second = (draw(rng, size, TABLES) for size in shape)
            found.append(growth(before, measures(perturb(tables, first, second), REPORTS)))
    couple = [random_tables(rng, (2, 2), TABLES) for _ in range(2)]
    both = [measures(tables, REPORTS) for tables in couple]
    likely = likely_matrices(rng, 2, TABLES), likely_matrices(rng, 2, TABLES)
    perturbations: list[tuple[Array | None, Array | None]] = [
        likely,
        (likely[0], None),
        (None, likely[1]),
        (None, even_matrices(rng, 2, TABLES)),
    ]
    for one, other in perturbations:
        after = [measures(perturb(tables, one, other), REPORTS) for tables in couple]
        found.append(reversals(both, after))
    return [[_title(name), *(_share(each.get(name)) for each in found)] for name in found[0]]


def _title(name: str) -> str:
    """Return the name of a measure for a table; those after people have a capital."""
    title = quantity(name).title
    return title.capitalize() if name in ("jaccard", "laplace") else title


def _share(share: float | None) -> str:
    """Word a share of random tables."""
    if share is None:
        return ""
    if share == 0:
        return "never"
    return "< 0.1 %" if share < 0.001 else percent(share, 1)


def by_p(items: Items) -> CurveChart:
    """Draw measures of two items against the probability of keeping both."""
    shares = items["BC"] / items["BC"].sum()
    probabilities = np.linspace(0.5, 1, 51)
    tables = np.stack([reported(shares, keeping(p), keeping(p)) for p in probabilities], axis=-1)
    curves = sizes(measures(tables, REPORTS))
    names = ("phi", "risk_difference", "interest", "uncertainty_coefficient", "jaccard", "cosine")
    return CurveChart(
        title="Measures of the reports by the probability of keeping an answer",
        notes=(
            "Low and average income (B and C) of COIL, both kept with p; distance from the value"
            " at independence, of Jaccard and cosine the value itself.",
        ),
        x_axis=Axis("p"),
        y_axis=Axis("measure of the reports"),
        curves=tuple(
            Curve(quantity(name).title, tuple(probabilities.tolist()), tuple(curves[name].tolist()))
            for name in names
        ),
    )


def counterexamples() -> Rows:
    """Return exact values that the source's statements exclude, or leave out."""
    kept = keeping(Fraction(4, 5))
    merged, *tables = (
        _shares(counts)
        for counts in (
            [[8, 1, 1], [2, 4, 4]],
            [[1, 1], [1, 7]],
            [[1, 2], [5, 2]],
            [[1, 7], [1, 1]],
            [[1, 3], [5, 1]],
        )
    )
    cases: list[tuple[str, Callable[[NDArray[Any]], Any], NDArray[Any], Matrices]] = [
        ("τ of 8 1 1 / 2 4 4", concentration, merged, (None, MERGING)),
        ("D of 1 1 / 1 7", column_risk_difference, tables[0], (None, kept)),
        ("D of 1 2 / 5 2", column_risk_difference, tables[1], (None, kept)),
        ("AV of 1 7 / 1 1", added_value, tables[2], (kept, None)),
        ("AV of 1 3 / 5 1", added_value, tables[3], (kept, None)),
        ("Laplace of 1 7 / 1 1", partial(laplace, reports=10), tables[2], (None, kept)),
        ("Laplace of 1 3 / 5 1", partial(laplace, reports=10), tables[3], (None, kept)),
    ]
    return [
        [label, *(_fraction(abs(of(each))) for each in (table, reported(table, *matrices)))]
        for label, of, table, matrices in cases
    ]


def _shares(counts: list[list[int]]) -> NDArray[Any]:
    """Return counts as exact shares."""
    total = sum(map(sum, counts))
    return np.array([[Fraction(count, total) for count in row] for row in counts])


def _fraction(value: Fraction) -> str:
    """Write a fraction with its decimals."""
    return f"{value} = {float(value):.4f}" if value.denominator > 1 else str(value)


def powers(items: Items) -> Rows:
    """Return how often the χ² test rejects independence of two items at 5 %."""
    rng = np.random.default_rng(SEED)
    pairs = ("GH", "AC", "AD", "BC")
    tables = {f"{pair[0]} and {pair[1]}": items[pair] / items[pair].sum() for pair in pairs}
    independent = np.outer(items["A"], items["D"]) / items["A"].sum() ** 2
    found = []
    for label, table in {**tables, "A and D, if independent": independent}.items():
        shares = [reported(table, keeping(p), keeping(p)) for p in (1, 0.9, 0.8, 0.7, 0.6)]
        rejected = (rejections(share, RESPONDENTS, SURVEYS, rng) for share in shares)
        phi = float(measures(table[..., None], REPORTS)["phi"][0])
        found.append([label, number(phi, 2), *(percent(share, 0) for share in rejected)])
    return found


def models(items: Items) -> Rows:
    """Return χ² of all models of A, D and G, of answers and of reports."""
    rows = []
    for model in MODELS:
        terms = [["ADG".index(name) for name in term] for term in model.split(",")]
        fits = [fit_loglinear(reported(items["ADG"], *map(keeping, kept)), terms) for kept in KEPT]
        rows.append(
            [
                f"({model})",
                str(fits[0].degrees_of_freedom),
                *(f"{fit.chi_squared:.2f} ({_p_value(fit.p_value)})" for fit in fits),
                "yes" if is_preserved(terms, range(3)) else "no",
            ]
        )
    return rows


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.01 else f"{p:.3f}"


def conditional(items: Items) -> Rows:
    """Return what answers and reports say of A and D given C."""
    rows = []
    for label, kept in (
        ("1 (answers)", (1, 1, 1)),
        ("0.7 of A and D", (0.7, 0.7, 1)),
        ("0.7 of A, D and C", (0.7, 0.7, 0.7)),
        ("0.7 of C", (1, 1, 0.7)),
    ):
        table = reported(items["ADC"], *map(keeping, kept))
        layers = fit_loglinear(table, [(0, 2), (1, 2)])
        rows.append(
            [
                label,
                number(partial_correlation(table), 3),
                number(layers.chi_squared, 1),
                _p_value(layers.p_value),
                number(log_odds_ratio(table), 2),
            ]
        )
    return rows


def classifiers(items: Items) -> Rows:
    """Return what splits and naive Bayes make of answers and reports."""
    rows = []
    for item, p in (("A", 0.6), ("B", 0.8)):
        table = items[f"{item}C"]
        seen = reported(table, keeping(p))
        values = (gini_after_split(table), gini_after_split(seen))
        rows.append([f"Gini index of C after a split by {item}", *(f"{v:.2f}" for v in values)])
    answers = [items["CH"], items["GH"]]
    reports = [reported(table, keeping(0.6)) for table in answers]
    found = [posteriors(tables, (1, 1)) for tables in (answers, reports)]
    for place, answer in enumerate(("no", "yes")):
        label = f"P(H = {answer}) where C = yes and G = yes"
        rows.append([label, *(f"{each[place]:.2f}" for each in found)])
    return rows
