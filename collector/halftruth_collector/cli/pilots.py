"""People whose true answers are at hand: pilots and public microdata. Nothing of them is sent."""

import csv
from collections.abc import Sequence

import numpy as np
from halftruth_shared import RecordError, Schema
from numpy.typing import NDArray

#: Column that says how many people a line stands for.
COUNT = "count"


def read_pilot(path: str, schema: Schema, names: Sequence[str]) -> NDArray[np.float64]:
    """Count the people of a CSV file by some attributes.

    Each line is one person, or as many as its column `COUNT` says, if there is one that is no
    attribute; other columns are not looked at.

    Parameters
    ----------
    path : str
    schema : Schema
        What the answers are.
    names : sequence of str
        Of the attributes, in the order of the axes.

    Raises
    ------
    RecordError
        If it cannot be read; the message names line and attribute and never an answer.
    """
    attributes = [schema.attributes[j] for j in schema.positions(names)]
    table = np.zeros([len(attribute.categories) for attribute in attributes])
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            for attribute in attributes:
                if attribute.name not in columns:
                    raise RecordError(f"pilot: column '{attribute.name}' is missing", field="pilot")
            counted = COUNT in columns and COUNT not in schema.names
            for row in reader:
                try:
                    cell = tuple(attribute.code(row[attribute.name]) for attribute in attributes)
                    table[cell] += _count(row[COUNT]) if counted else 1
                except RecordError as error:
                    raise RecordError(
                        f"pilot: line {reader.line_num}: {error}", field="pilot"
                    ) from None
    except OSError as error:
        raise RecordError(f"pilot: cannot be read: {error.strerror}", field="pilot") from None
    except (ValueError, csv.Error):
        raise RecordError("pilot: expected CSV in UTF-8", field="pilot") from None
    if not table.any():
        raise RecordError("pilot: expected at least one person", field="pilot")
    return table


def _count(text: object) -> int:
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    raise RecordError(f"column '{COUNT}': expected an integer of at least 0", field=COUNT)
