"""``halftruth classifier``: learn from reconstructed tables, and predict."""

import csv
from collections.abc import Iterator
from typing import IO, Any, get_args

import click
from halftruth_shared import ParameterError, RecordError
from halftruth_shared.classifiers import DecisionTree, NaiveBayes
from halftruth_shared.messages import ClassifierKind, ClassifierQuery

from .. import results
from ..charts.wording import words
from ..presentation import percent
from . import sources
from .output import Format, format_options, print_result
from .sources import Source


@click.command()
@sources.source
@click.option("--predict", required=True, help="The attribute whose categories are the classes.")
@click.option(
    "--kind",
    type=click.Choice(get_args(ClassifierKind)),
    default="naive-bayes",
    show_default=True,
)
@click.option(
    "--features",
    default=None,
    callback=lambda *given: None if given[2] is None else sources.names(given[2]),
    help="Attributes to predict from, with commas; all others by default.",
)
@click.option(
    "--max-depth", type=int, default=3, show_default=True, help="Of a tree: questions in a row."
)
@click.option(
    "--min-support",
    type=float,
    default=0.05,
    show_default=True,
    help="Of a tree: least share of the people at a split.",
)
@sources.estimate("likelihood")
@sources.confidence
@click.option(
    "--records",
    type=click.File("r", encoding="utf-8-sig"),
    help="CSV file of records: print the predicted class of each, in order.",
)
@format_options
def classifier(
    source: Source, form: Format, predict: str, records: IO[str] | None, **asked: Any
) -> None:
    """Learn to predict an attribute of SURVEY from others, from reconstructed tables."""
    query = ClassifierQuery(predict=predict, **asked)
    result = source.result(
        lambda analyst: analyst.classifier(source.survey, predict, **asked),
        results.classifier_result,
        query,
    )
    if records is not None:
        if form is not Format.TEXT:
            raise ParameterError("--records: expected without --json and --csv", field="records")
        predictions = list(_predictions(result.model, records))
        click.echo("\n".join([predict, *predictions]))
        return
    print_result(
        result,
        form,
        ["where", "share", "class", "probability"],
        [
            [
                words(where) or "everybody",
                "" if share is None else percent(share),
                name,
                percent(probability),
            ]
            for where, share, name, probability in result.rows()
        ],
    )
    if form is Format.TEXT:
        if query.kind == "naive-bayes":
            click.echo("everybody: share of each class; else how likely a class gives this answer")
        for warning in result.model.warnings:
            click.echo(f"warning: {warning}")


def _predictions(model: NaiveBayes | DecisionTree, records: IO[str]) -> Iterator[str]:
    """The class of each record; an error names line and attribute, never an answer."""
    reader = csv.DictReader(records)
    try:
        for record in reader:
            try:
                [found] = model.predict([record])
            except RecordError as error:
                detail = str(error).removeprefix("record 0: ")
                raise RecordError(f"line {reader.line_num}: {detail}", field=error.field) from None
            yield str(found)
    except (UnicodeDecodeError, csv.Error):
        raise RecordError(
            f"line {reader.line_num + 1}: expected CSV in UTF-8", field="records"
        ) from None
