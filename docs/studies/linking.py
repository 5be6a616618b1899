"""Linking risk on Adult, and the parameters that keep it below a limit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import lgamma

import numpy as np
from halftruth_collector.disclosure.linking import LinkingRisk, linking_risk, linking_risk_of
from halftruth_shared import ParameterError, RandomizedResponse, Schema, Survey
from halftruth_shared.channels import Dense
from halftruth_shared.results.charts import Axis, Curve, CurveChart, Reference
from halftruth_shared.results.wording import number
from halftruth_studies.anonymization.comparison import People, randomized
from halftruth_studies.anonymization.distances import Distances, distances
from halftruth_studies.cli.microdata import read_microdata
from halftruth_studies.limits import (
    Limited,
    best_under_limit,
    factors_of,
    inverse_norm,
    single_valued,
)
from numpy.typing import NDArray
from page import FOLDER, Page

Array = NDArray[np.float64]

QUASI, SENSITIVE = [0, 1, 2, 3], [4]

#: What is perturbed, and whether reports are linked whole.
CASES = {
    "quasi-identifiers": (QUASI, False),
    "sensitive answer": (SENSITIVE, False),
    "both": (QUASI + SENSITIVE, False),
    "quasi-identifiers, whole reports": (QUASI, True),
    "both, whole reports": (QUASI + SENSITIVE, True),
}

#: Best parameters by case and l.
Found = dict[str, dict[int, Limited | None]]

#: Guo's parameters for l = 2 with only the quasi-identifiers perturbed.
PUBLISHED = (0.824, 0.872, 0.920, 0.941, 1.0)

#: A cell of 0.12 among 0.28 with its quasi-identifier, and how often both are kept.
CORNERS, CORNERS_KEPT = np.array([[0.12, 0.16], [0.40, 0.32]]), (1, 0.75, 0.5)

#: Numbers of people, as multiples of all, draws of the reports of each, and l.
SIZES, DRAWS, SIZES_ELL = (0.5, 1, 1.5, 2, 2.5), 5, 3

#: People by a quasi-identifier and an answer, and how each is kept, for the worlds.
WORLD, KEPT = np.array([[0.3, 0.2], [0.1, 0.4]]), (0.8, 0.8)


def study(page: Page) -> None:
    """Fill the page."""
    schema, table = adult()
    published(page, table)
    found = {
        name: {ell: best(table, ell, axes, whole) for ell in range(2, 8)}
        for name, (axes, whole) in CASES.items()
    }
    three_cases(page, found)
    whole_reports(page, table, found)
    losses(page, found)
    corners(page)
    sizes(page, schema, table, found)
    sensitive_alone(page, table)
    worlds(page)
    people(page, schema, table)


def adult() -> tuple[Schema, Array]:
    """The people of Adult by quasi-identifiers and work class."""
    with open(FOLDER / "data" / "adult-workclass.csv", encoding="ascii") as file:
        schema, counts = read_microdata(file)
    *quasi, sensitive = schema.attributes
    table = counts.marginal(range(len(schema.names))).astype(float)
    return Schema((*quasi, replace(sensitive, sensitive=False))), table


def risk(table: Array, keep: Sequence[float]) -> LinkingRisk:
    """Risk under randomized response."""
    return linking_risk(table, factors_of(keep, table.shape))


def published(page: Page, table: Array) -> None:
    """The source's parameters for l = 2 beside ours."""
    ours = best_under_limit(table, 1 / 2, QUASI)
    rows = []
    for name, keep in (("published", PUBLISHED), ("ours", tuple(map(float, ours.keep)))):
        norm = inverse_norm(table.shape)(np.array(keep))
        parameters = ", ".join(f"{p:.4g}" for p in keep[:-1])
        largest = 2 * risk(table, keep).maximum
        rows.append([name, parameters, f"{largest:.4f}", f"{norm / 7:.0f}", f"{norm:.0f}"])
    page.table(
        "published",
        [
            "",
            "p of education, marital status, sex, race",
            "largest risk · l",
            "∏‖P⁻¹‖² of these",
            "with workclass",
        ],
        rows,
    )


def best(table: Array, ell: int, axes: Sequence[int], whole: bool) -> Limited | None:
    """Best parameters, None where none meet the limit."""
    try:
        return best_under_limit(table, 1 / ell, axes, whole_reports=whole)
    except ParameterError:
        return None


def three_cases(page: Page, found: Found) -> None:
    """The source's three cases for l = 2 to 7."""
    rows = []
    for name in ("quasi-identifiers", "both", "sensitive answer"):
        for ell, limited in found[name].items():
            if limited is not None:
                parameters = ", ".join(f"{float(p):.4g}" for p in limited.keep)
                slack = f"{1 - ell * limited.maximum:.5f}"
                rows.append([name, str(ell), parameters, slack, f"{limited.loss:.4g}"])
        if not any(found[name].values()):
            rows.append([name, "2 to 7", "none", "", ""])
    page.table(
        "cases", ["perturbed", "l", "p, in the order above", "1 − largest risk · l", "loss"], rows
    )


def whole_reports(page: Page, table: Array, found: Found) -> None:
    """What the source's optimum leaves if whole reports are linked, and what it costs not to."""
    rows = []
    for name in ("quasi-identifiers", "both"):
        for ell, limited in found[name].items():
            other = found[f"{name}, whole reports"][ell]
            if limited is None or other is None:
                continue
            whole = risk(table, [float(p) for p in limited.keep]).of_whole_reports
            rows.append(
                [
                    name,
                    ell,
                    f"{whole.maximum * ell:.2f}",
                    f"{whole.above(1 / ell):.1%}",
                    ", ".join(f"{float(p):.4g}" for p in other.keep),
                    f"{other.loss / limited.loss:.2f}",
                ]
            )
    page.table(
        "whole",
        [
            "perturbed",
            "l",
            "largest risk of whole reports · l",
            "people above 1/l",
            "p that meet the limit",
            "times the loss",
        ],
        rows,
    )


def losses(page: Page, found: Found) -> None:
    """Loss against l."""
    page.figure(
        "losses",
        CurveChart(
            title="What a limit of linking risk costs",
            notes=("Adult; the least product of the squared norms of the inverted matrices.",),
            x_axis=Axis("l, for a risk of at most 1/l"),
            y_axis=Axis("loss", scale="log"),
            curves=tuple(
                Curve(
                    name,
                    tuple(map(float, by_l)),
                    tuple(None if limited is None else limited.loss for limited in by_l.values()),
                )
                for name, by_l in found.items()
                if any(by_l.values())
            ),
        ),
    )


def corners(page: Page) -> None:
    """The risk of one cell by how both attributes are kept."""
    rows = []
    for quasi in CORNERS_KEPT:
        risks = [
            linking_risk(
                CORNERS, [Dense([[p, 1 - p], [1 - p, p]]) for p in (quasi, sensitive)]
            ).risk[0, 0]
            for sensitive in CORNERS_KEPT
        ]
        rows.append([f"{quasi:g}", *(f"{each:.3f}" for each in risks)])
    header = [f"answer kept with {sensitive:g}" for sensitive in CORNERS_KEPT]
    page.table("corners", ["quasi-identifier kept with", *header], rows)


def sizes(page: Page, schema: Schema, table: Array, found: Found) -> None:
    """Distances of reconstructed tables from the true one, by the number of people."""
    everybody = People(schema, table.astype(np.int64)).records
    rng = np.random.default_rng(1)
    everybody = rng.permutation(everybody)
    rows = []
    for factor in SIZES:
        some = np.resize(everybody, (round(factor * len(everybody)), everybody.shape[1]))
        counts = np.zeros(schema.shape, dtype=np.int64)
        np.add.at(counts, tuple(some.T), 1)
        row = [f"{factor:g} N", number(len(some))]
        for case in ("quasi-identifiers", "both"):
            limited = found[case][SIZES_ELL]
            assert limited is not None  # noqa: S101
            keep = dict(zip(schema.names, limited.keep, strict=True))
            drawn = [_distances(People(schema, counts), keep, rng) for _ in range(DRAWS)]
            expected = ((limited.loss / table.size - 1) / len(some)) ** 0.5
            variational, l2 = (
                float(np.mean([getattr(each, name) for each in drawn]))
                for name in ("variational", "l2")
            )
            row += [f"{variational:.3f}", f"{l2:.5f}", f"{expected:.5f}"]
        rows.append(row)
    columns = ("variational", "L₂", "L₂ expected")
    header = [f"{case}: {each}" for case in ("quasi-identifiers", "both") for each in columns]
    page.table("sizes", ["size", "people", *header], rows)


def _distances(people: People, keep: Mapping[str, Fraction], rng: np.random.Generator) -> Distances:
    return distances(people.shares, randomized(people, keep, rng).table(people.schema.names).value)


def sensitive_alone(page: Page, table: Array) -> None:
    """What any parameter of the sensitive answer satisfies."""
    several = (table > 0).sum(axis=-1) > 1
    rows = []
    for p in (1 / 7 + 1e-9, 0.3, 0.5, 0.7, 0.9, 1.0):
        found = risk(table, [1, 1, 1, 1, p])
        rows.append(
            [
                f"{p:.3g}",
                f"{found.maximum:.3f}",
                f"{np.nanmax(found.risk[several]):.3f}",
                f"{np.nansum(found.risk * found.table):.3f}",
                *(f"{found.above(1 / ell):.1%}" for ell in (2, 3, 5)),
            ]
        )
    groups, share = single_valued(table)
    page.table(
        "sensitive",
        [
            "p",
            "largest risk",
            f"without the {groups} groups ({share:.1%} of the people) of one answer",
            "mean risk",
            "people above 1/2",
            "above 1/3",
            "above 1/5",
        ],
        rows,
    )


def worlds(page: Page) -> None:
    """What somebody believes who has all reports and does not know whose they are."""
    formula = risk(WORLD, KEPT)
    cells = [(0, 0), (0, 1), (1, 0), (1, 1)]
    rows: list[list[object]] = [
        ["the table alone", *(f"{formula.share[cell]:.3f}" for cell in cells)],
        ["their report known", *(f"{formula.sensitive[cell]:.3f}" for cell in cells)],
    ]
    for reports in (1, 2, 5, 20, 60):
        believed = belief(reports)
        rows.append(
            [f"{reports} report{'s' * (reports > 1)}", *(f"{believed[cell]:.3f}" for cell in cells)]
        )
    rows += [
        ["risk, column by column", *(f"{formula.risk[cell]:.3f}" for cell in cells)],
        [
            "risk of whole reports",
            *(f"{formula.of_whole_reports.risk[cell]:.3f}" for cell in cells),
        ],
    ]
    page.table("worlds", ["", *(f"q = {q}, s = {s}" for q, s in cells)], rows)


def belief(reports: int) -> Array:
    """Mean belief of the true answer, over every world of so many reports, one of the person."""
    matrices = [np.array([[p, 1 - p], [1 - p, p]]) for p in KEPT]
    channel = np.kron(*matrices).reshape(2, 2, 2, 2)
    joint = channel.reshape(4, 2, 2) * WORLD
    observed = joint.sum(axis=(1, 2))
    of_group, of_cell = joint.sum(axis=2) / observed[:, None], joint / observed[:, None, None]
    found = np.zeros((2, 2))
    for others, chance in _multisets(observed, reports - 1):
        for own in range(4):
            counts = others.copy()
            counts[own] += 1
            known = np.tensordot(counts, of_cell, 1) / np.tensordot(counts, of_group, 1)[:, None]
            found += chance * channel.reshape(4, 2, 2)[own] * known
    return found


def _multisets(observed: Array, size: int) -> Iterator[tuple[Array, float]]:
    """Every way in which so many reports can come, and its probability."""
    for drawn in combinations_with_replacement(range(len(observed)), size):
        counts = np.bincount(drawn, minlength=len(observed)).astype(float)
        ways = lgamma(size + 1) - sum(lgamma(n + 1) for n in counts.tolist())
        yield counts, float(np.exp(ways + counts @ np.log(observed)))


def people(page: Page, schema: Schema, table: Array) -> None:
    """Share of the people by risk, with the source's parameters for l = 2."""
    keep = {
        name: str(p).removesuffix(".0") for name, p in zip(schema.names, PUBLISHED, strict=True)
    }
    survey = Survey("adult", "Adult", schema, RandomizedResponse(keep))
    risks = linking_risk_of(survey, schema.names[:-1], schema.names[-1], table)
    there, points = risks.table > 0, np.linspace(0, 1, 201)
    values = {
        "risk, column by column": risks.risk,
        "risk of whole reports": risks.of_whole_reports.risk,
        "belief by table and known report": risks.sensitive,
        "belief by the table alone": risks.share,
    }
    # But for rounding.
    above = {
        name: [float(risks.table[there & (each > point * (1 + 1e-9))].sum()) for point in points]
        for name, each in values.items()
    }
    chart = CurveChart(
        title="Linking risk of Adult at l = 2",
        notes=(f"{number(table.sum(), 0)} people.",),
        x_axis=Axis("risk or belief", shares=True),
        y_axis=Axis("share of the people above it", shares=True),
        curves=tuple(Curve(name, tuple(points.tolist()), tuple(y)) for name, y in above.items()),
        x_marker=Reference(0.5, "limit 50\N{NARROW NO-BREAK SPACE}%"),
    )
    page.figure("people", chart)
