"""``halftruth analyse every-table``: all tables of some lengths at once, for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import click
import numpy as np
from halftruth_shared import Schema
from halftruth_shared.analyses.base import AnsweredQuery, AttributeNames
from halftruth_shared.analyses.reading import fields, read
from halftruth_shared.analyses.wording import half_width, items, number, percent
from msgspec import Meta

from ..analyses.tabular import arrow, parquet_of
from ..estimation.bounds import normal_quantile
from ..estimation.every_table import Shares, every_table
from ..estimation.reliability import typical
from . import options
from .output import print_table, write
from .sources import counted_in


class TablesQuery(AnsweredQuery[Any], frozen=True, kw_only=True):
    """Tables to estimate, and the group that they are of."""

    lengths: Annotated[
        list[Annotated[int, Meta(ge=1)]],
        Meta(min_length=1, description="How many attributes a table has; several with commas."),
    ]
    attributes: (
        Annotated[
            AttributeNames, Meta(description="The attributes that tables are of; all by default.")
        ]
        | None
    ) = None


def _tables(survey: str, database: str, parquet: str, **given: Any) -> None:
    # Before the work, which may take long.
    arrow()
    working = options.executor(given, "pieces")
    query = read(TablesQuery, options.texts(given))
    with counted_in(database, survey) as source:
        counted = replace(source, question=query)
    counted.check()
    with working as map_pieces:
        tables = list(
            every_table(
                counted.survey,
                counted.counts,
                query.lengths,
                attributes=query.attributes,
                where=query.where,
                missing=query.missing,
                target=query.target,
                map_pieces=map_pieces,
            )
        )
    rows = _arrow(counted.estimator.schema, tables, query, counted.counts.reports)
    write(parquet, parquet_of(rows))
    header = ["length", "shares", "median half-width", "clearly above 0"]
    print_table(header, list(_summaries(tables, query)))
    click.echo(f"written: {parquet}")


tables = click.Command(
    "tables",
    callback=_tables,
    params=[
        click.Argument(["survey"]),
        *options.of_query(fields(TablesQuery), {"lengths": "length"}),
        click.Option(
            ["--parquet"],
            type=click.Path(dir_okay=False),
            metavar="FILE",
            required=True,
            help="The file of all tables, a row for each cell.",
        ),
    ],
    help="Estimate every table of some of the attributes of SURVEY (its id), into one file.",
)
options.workers(options.database(tables))


def _arrow(schema: Schema, tables: Sequence[Shares], query: TablesQuery, reports: int) -> Any:
    """A row for each cell: attributes and answers, then share, error and interval."""
    pa = arrow()
    shape = np.array(schema.shape)
    names = pa.array(schema.names)
    # Answers are numbered through all attributes.
    first = np.cumsum(shape) - shape
    answers = pa.array([c for attribute in schema.attributes for c in attribute.categories])
    columns: dict[str, Any] = {}
    attributes, codes = (
        np.concatenate([getattr(part, name) for part in tables])
        for name in ("attributes", "answers")
    )
    for place in range(attributes.shape[1]):
        positions = attributes[:, place]
        none = positions < 0
        numbered = first[positions] + codes[:, place]
        for column, of, values in (
            ("attribute", positions, names),
            ("answer", numbered, answers),
        ):
            columns[f"{column}_{place + 1}"] = pa.DictionaryArray.from_arrays(
                pa.array(of.astype(np.int32), mask=none), values
            )
    support = np.concatenate([part.support for part in tables])
    error = np.concatenate([part.standard_error for part in tables])
    half = normal_quantile(1 - query.confidence) * error
    for column, values in (
        ("support", support),
        ("standard_error", error),
        ("lower", support - half),
        ("upper", support + half),
    ):
        columns[column] = pa.array(values, from_pandas=True)
    beside = {
        "reports": reports,
        "filter": items(query.where) if query.where else None,
        "confidence_level": query.confidence,
        "target": query.target,
        "missing_answers": query.missing,
    }
    for column, value in beside.items():
        kind = {"reports": pa.int64(), "confidence_level": pa.float64()}.get(column, pa.string())
        columns[column] = pa.repeat(pa.scalar(value, kind), len(support))
    return pa.table(columns)


def _summaries(tables: Sequence[Shares], query: TablesQuery) -> Iterator[list[object]]:
    """Number and accuracy of the tables of each length."""
    lengths = np.concatenate([(part.attributes >= 0).sum(axis=1) for part in tables])
    support = np.concatenate([part.support for part in tables])
    half = normal_quantile(1 - query.confidence) * np.concatenate(
        [part.standard_error for part in tables]
    )
    for length in np.unique(lengths).tolist():
        of = lengths == length
        usual = typical(half[of])
        yield [
            length,
            number(int(of.sum())),
            "unknown" if usual is None else half_width(usual),
            percent(float((support[of] - half[of] > 0).mean()), 1),
        ]
