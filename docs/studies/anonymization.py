"""Tables and figures of ``anonymization.md``: releases of ES-GRO at equal l."""

import tomllib
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from halftruth_shared.results.wording import UNDEFINED, percent
from halftruth_studies.anonymization.charts import compare_chart
from halftruth_studies.anonymization.comparison import (
    CompareQuery,
    CompareResult,
    People,
    Release,
    anatomized,
    compare,
    over_limit,
    randomized,
    uncertainty_coefficient,
)
from halftruth_studies.anonymization.distances import cube, relative_error
from halftruth_studies.anonymization.hierarchies import Hierarchy, read_hierarchies
from halftruth_studies.cli.microdata import read_microdata
from page import FOLDER, Page

QUASI, SENSITIVE, LIMITS = ["education", "salary", "sex", "race"], "occupation", [2, 3, 4, 5, 6, 7]
PAIRS = [["salary", "occupation"], ["education", "occupation"], ["education", "salary"]]
REPETITIONS = 20

#: What the source prints for salary and occupation, times 100: randomized, anatomy.
PUBLISHED = {3: ("2.41", "0.20"), 4: ("2.27", "0.12"), 5: ("2.17", "0.05")}


def study(page: Page) -> None:
    """Fill the page."""
    people, hierarchies = _people()
    query = CompareQuery(quasi=QUASI, sensitive=SENSITIVE, diversity=LIMITS, pairs=PAIRS)
    result = compare(people, query, hierarchies)
    page.table("parameters", ["l", *QUASI, "generalized to", "minimal"], list(_parameters(result)))
    page.table("distances", *_by_release(result, DISTANCES))
    page.figure("variational", compare_chart(result))
    page.table("queries", *_by_release(result, QUERIES))
    page.figure("cube", compare_chart(result, "cube_error"))
    associations, sums = _repeated(people, result)
    page.table(
        "sums", ["l", "anatomy", "randomized, each sum's own estimate, 0 where negative"], sums
    )
    page.table(
        "associations",
        [
            "l", "anatomy", "published", "randomized, clipped", "published", "randomized, moment",
        ],
        associations,
    )  # fmt: skip
    pairs = {
        f"{row} → {column}, ×100": lambda release, k=k: _hundredth(release.uncertainty[k])
        for k, (row, column) in enumerate(PAIRS)
    }
    page.table("pairs", *_by_release(result, pairs))
    page.table("told", *_by_release(result, TOLD))
    page.table(
        "themselves",
        ["guessed", "from the sensitive values alone", *(f"told over 1/{n}" for n in LIMITS)],
        [
            [
                percent(result.guessed, 1),
                percent(result.guessed_without, 1),
                *(percent(over_limit(people.shares, people.shares, n), 1) for n in LIMITS),
            ]
        ],
    )
    page.figure("over-limit", compare_chart(result, "over_limit"))


def _people() -> tuple[People, list[Hierarchy]]:
    with open(FOLDER / "data" / "adult-occupation.csv", encoding="ascii") as file:
        schema, counts = read_microdata(file, [*QUASI, SENSITIVE])
    document = tomllib.loads((FOLDER / "data" / "adult-hierarchies.toml").read_text("ascii"))
    people = People(schema, counts.marginal(range(len(schema.names))))
    return people, read_hierarchies(schema.attributes[:-1], document)


def _parameters(result: CompareResult) -> Iterator[list[object]]:
    for found in result.parameters:
        levels = "; ".join(
            f"{name}: {', '.join(groups)}" if len(groups) < 5 else f"{name}: {len(groups)} groups"
            for name, groups in found.levels.items()
        )
        keep = [f"{found.keep[name]:.4f}" for name in QUASI]
        yield [found.diversity, *keep, levels, found.minimal]


def _by_release(
    result: CompareResult, measures: Mapping[str, Callable[[Release], str]]
) -> tuple[list[str], list[list[object]]]:
    """A row for each measure and l, a column for each release."""
    # Other estimates from the split questionnaire are further away than any release.
    found = {
        (r.kind, r.estimate, r.diversity): r
        for r in result.means
        if r.diversity is not None or r.estimate == "likelihood"
    }
    header = ["", "l", *dict.fromkeys(_name(*key[:2]) for key in found)]
    rows = []
    for label, measure in measures.items():
        for limit in LIMITS:
            first = limit == LIMITS[0]
            figures = [measure(r) for (_, _, n), r in found.items() if n == limit]
            # What has no l stands once.
            others = [measure(r) if first else "" for (_, _, n), r in found.items() if n is None]
            rows.append([label if first else "", limit, *figures, *others])
    return header, rows


def _name(kind: str, estimate: str) -> str:
    return f"{kind}, {estimate}" if kind in ("randomized", "split-questionnaire") else kind


def _digits(name: str) -> Callable[[Release], str]:
    def written(release: Release) -> str:
        figure = getattr(release, name)
        return UNDEFINED if figure is None else f"{figure:#.3g}".rstrip(".")

    return written


def _percent(name: str) -> Callable[[Release], str]:
    def written(release: Release) -> str:
        figure = getattr(release, name)
        return "–" if figure is None else percent(figure, 1)

    return written


def _repeated(
    people: People, result: CompareResult
) -> tuple[list[list[object]], list[list[object]]]:
    """Over many releases: salary and occupation, and errors of the cube sum by sum."""
    axes, sums = people.schema.positions(PAIRS[0]), cube(people.shares)
    associations, errors = [], []
    for found in result.parameters:
        limit, names = found.diversity, people.schema.names
        keep = {name: str(p) for name, p in found.keep.items()}
        anatomy, clipped, moment, by_anatomy, by_sum = [], [], [], [], []
        for seed in range(REPETITIONS):
            rng = np.random.default_rng([1, limit, seed])
            table = anatomized(people, limit, rng)
            anatomy.append(uncertainty_coefficient(table, *axes))
            by_anatomy.append(relative_error(sums, cube(table)))
            table = randomized(people, keep, rng).table(names).value
            moment.append(uncertainty_coefficient(table, *axes))
            by_sum.append(relative_error(sums, np.maximum(cube(table), 0)))
            table = np.maximum(table, 0)
            clipped.append(uncertainty_coefficient(table / table.sum(), *axes))
        printed = PUBLISHED.get(limit, ("", ""))
        associations.append(
            [limit, _spread(anatomy, 3), printed[1], _spread(clipped), printed[0], _spread(moment)]
        )
        errors.append([limit, f"{np.mean(by_anatomy):.2f}", f"{np.mean(by_sum):.2f}"])
    return associations, errors


def _spread(values: list[float | None], places: int = 2) -> str:
    """Mean and standard deviation of those that are defined, times 100."""
    known = [100 * value for value in values if value is not None]
    missing = len(values) - len(known)
    return f"{np.mean(known):.{places}f} ± {np.std(known):.{places}f}" + (
        f" ({missing} of {len(values)} {UNDEFINED})" if missing else ""
    )


def _hundredth(value: float | None) -> str:
    return UNDEFINED if value is None else f"{100 * value:.2f}"


DISTANCES = {
    "variational": _digits("variational"),
    "L₂": _digits("l2"),
    "KL": _digits("kl"),
    "χ²": _digits("chi_squared"),
}
QUERIES = {"cells": _digits("base_error"), "cube": _digits("cube_error")}
TOLD = {"guessed": _percent("guessed"), "told over 1/l": _percent("over_limit")}
