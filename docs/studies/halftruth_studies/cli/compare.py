"""``halftruth study compare``: comparison of anonymized and randomized releases."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from halftruth_collector.cli import options
from halftruth_collector.cli.output import show, table
from halftruth_shared import ParameterError
from halftruth_shared.analyses.reading import fields, read
from halftruth_shared.results.wording import UNDEFINED, number, percent, value

from ..anonymization.charts import COMPARED, compare_chart
from ..anonymization.comparison import CompareQuery, CompareResult, People
from ..anonymization.comparison import compare as make_comparison
from ..anonymization.hierarchies import read_hierarchies
from .microdata import read_microdata


def _compare(
    records: Any,
    hierarchies: str | None,
    count: str | None,
    measure: str,
    plot: str | None,
    **given: Any,
) -> None:
    form = options.pop_output_format(given)
    query = read(CompareQuery, options.query_texts(given))
    schema, counts = read_microdata(records, [*query.quasi, query.sensitive], count)
    people = People(schema, counts.marginal(range(len(schema.names))))
    climbed = read_hierarchies(schema.attributes[:-1], _document(hierarchies))
    result = make_comparison(people, query, climbed)
    show(result, form, _lines, lambda found: compare_chart(found, measure), plot)


compare = click.Command(
    "compare",
    callback=_compare,
    params=[
        click.Argument(["records"], type=click.File("r", encoding="utf-8-sig")),
        *options.make_query_options(
            fields(CompareQuery), {"diversity": "l", "pairs": "pair"}, has_default=False
        ),
        click.Option(
            ["--hierarchies"],
            type=click.Path(),
            metavar="FILE",
            help="TOML file that says how categories are generalized; by default to * only.",
        ),
        click.Option(
            ["--count"],
            metavar="NAME",
            help="Column with the number of people of a line, if it is not called 'count'.",
        ),
        click.Option(
            ["--measure"],
            type=click.Choice(list(COMPARED)),
            metavar="MEASURE",
            default="variational",
            show_default=True,
            help=f"What --plot draws, one of: {', '.join(COMPARED)}.",
        ),
    ],
    help="Compare what anonymized and randomized releases of RECORDS lose."
    "\n\nRECORDS is a CSV file. Entropy l-diversity by generalization and anatomy need somebody"
    " who holds all records; randomized response of the quasi-identifiers, with the best parameters"
    " under a linking risk of 1/l, and a split questionnaire do not. Everything is simulated on"
    " this machine.",
)
options.plot(options.formats(compare))


def _document(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror
    except ValueError as error:
        reason = str(error)
    raise ParameterError(
        f"hierarchies: expected a TOML file: {file}: {reason}", field="hierarchies"
    )


def _lines(result: CompareResult) -> Iterator[str]:
    query = result.query
    yield (
        f"{number(result.people)} people; quasi-identifiers {', '.join(query.quasi)}; sensitive"
        f" {query.sensitive}; means of {query.repetitions} repetitions"
    )
    for found in result.parameters:
        levels = "; ".join(
            f"{name} {', '.join(groups)}" if len(groups) < 5 else f"{name} in {len(groups)} groups"
            for name, groups in found.levels.items()
        )
        keep = ", ".join(f"{name} {number(p)}" for name, p in found.keep.items())
        yield (
            f"l = {found.diversity}: generalized to {levels} (of {found.minimal} minimal"
            f" generalization{'s' * (found.minimal > 1)} the likeliest); randomized response keeps"
            f" {keep}"
        )
    pairs = [f"{row} → {column}" for row, column in result.pairs]
    yield ""
    yield table(
        [
            "release", "estimate", "l", "variational", "L₂", "KL", "χ²", "error of cells",
            "of cube", "guessed", "over 1/l", *pairs,
        ],
        [
            [
                release.kind,
                release.estimate,
                "–" if release.diversity is None else release.diversity,
                *(
                    _digits(figure)
                    for figure in (
                        release.variational, release.l2, release.kl, release.chi_squared
                    )
                ),
                *(percent(figure, 1) for figure in (release.base_error, release.cube_error)),
                percent(release.guessed, 1),
                "–" if release.over_limit is None else percent(release.over_limit, 1),
                *(percent(figure, 2) for figure in release.uncertainty),
            ]
            for release in result.means
        ]
        + [["the people", "", "", *[_digits(0.0)] * 4, *[percent(0, 1)] * 2,
            percent(result.guessed, 1), "", *(percent(figure, 2) for figure in result.original)]],
    )  # fmt: skip
    yield (
        f"KL is {UNDEFINED} where an estimate is not positive in a cell with people, χ² is over"
        " cells with people, and errors are relative, of such cells and of all sums over them;"
        " guessed: people whose sensitive value the release's table has most of among their like,"
        f" {percent(result.guessed_without, 1)} without it; over 1/l: people whose own value it has"
        " more than 1/l of there; →: what the first tells of the second, uncertainty coefficient"
    )
    yield (
        "generalization and anatomy limit what their tables say of anybody, and trust whoever"
        " makes them with all records; randomized limits whether a report is linked to a"
        " person, not what the table says of their like; the split questionnaire, of which every"
        f" answer is perturbed, promises γ = {query.gamma} to everybody and knows no l"
    )


def _digits(figure: float | None) -> str:
    return UNDEFINED if figure is None else value(float(f"{figure:.3g}"))
