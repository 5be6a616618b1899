"""Known margins from a file, in the text format of queries."""

import csv
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from halftruth_shared import ParameterError

#: Columns of a CSV file; the third column can have either name.
_COLUMNS = (["attribute", "category", "share"], ["attribute", "category", "count"])


def margin_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return margins as attribute=category:number, from texts in this format and from files.

    No number ends like the name of a TOML or CSV file.
    """
    return tuple(line for text in texts for line in _lines(text))


def _lines(text: str) -> Iterable[str]:
    if not text.endswith((".toml", ".csv")):
        return [text]
    try:
        written = Path(text).read_text(encoding="utf-8-sig")
        return _of_toml(written) if text.endswith(".toml") else _of_csv(written)
    except OSError as error:
        reason = f"{text}: {error.strerror}"
    except (ValueError, csv.Error) as error:
        reason = f"{text}: {error}"
    raise ParameterError(f"margins: expected a TOML or CSV file: {reason}", field="margins")


def _of_toml(text: str) -> list[str]:
    lines = []
    for name, numbers in tomllib.loads(text).items():
        if not isinstance(numbers, dict):
            raise ValueError(f"'{name}' is no table of categories and numbers")
        lines += [f"{name}={category}:{number}" for category, number in numbers.items()]
    return lines


def _of_csv(text: str) -> list[str]:
    header, *rows = [row for row in csv.reader(text.splitlines()) if row] or [[]]
    if header not in _COLUMNS or any(len(row) != len(header) for row in rows):
        raise ValueError("expected three columns: attribute, category, and share or count")
    return [f"{name}={category}:{number}" for name, category, number in rows]
