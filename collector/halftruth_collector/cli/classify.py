"""``halftruth classify``: predict with a classifier that was learned from reconstructed tables."""

from collections.abc import Iterator
from typing import IO

import click
import msgspec
from halftruth_shared import ParameterError, RecordError
from halftruth_shared.analyses.classifier import ClassifierResult, DecisionTree, NaiveBayes

from .records import read_records


@click.command()
@click.argument("model", type=click.File("rb"))
@click.argument("records", type=click.File("r", encoding="utf-8-sig"))
def classify(model: IO[bytes], records: IO[str]) -> None:
    """Print the predicted class of each of the RECORDS of a CSV file, in order.

    MODEL is what 'halftruth classifier … --json' printed. No record leaves this machine.
    """
    try:
        found = msgspec.json.decode(model.read(), type=ClassifierResult)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ParameterError(
            "model: expected what 'halftruth classifier --json' printed", field="model"
        ) from None
    click.echo("\n".join([found.query.predict, *_predictions(found.model, records)]))


def _predictions(model: NaiveBayes | DecisionTree, records: IO[str]) -> Iterator[str]:
    """The class of each record; an error names line and attribute, never an answer."""

    def predict(record: dict[str, str]) -> str:
        try:
            [found] = model.predict([record])
        except RecordError as error:
            detail = str(error).removeprefix("record 0: ")
            raise RecordError(detail, field=error.field) from None
        return str(found)

    return read_records(records, predict)
