"""Files of weighted records: CSV, Parquet, Stata and SPSS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.analyses.base import data_frame
from halftruth_shared.analyses.microdata import MicrodataResult

from ..analyses.tabular import arrow, to_csv, to_parquet
from ..errors import NotAcceptable
from .codebook import codebook
from .scripts import scripts

#: Longest label of a variable in Stata, and of a file in SPSS.
_LONGEST_LABEL, _LONGEST_TITLE = 80, 64


def check_file(file: str) -> None:
    """Check that the name of a file says how to write it, and that this can be done here.

    Raises
    ------
    ParameterError
    NotAcceptable
        If a package is not installed.
    """
    suffix = Path(file).suffix
    if suffix not in WRITERS:
        raise ParameterError(
            f"out: expected a file that ends in one of {', '.join(WRITERS)}", field="out"
        )
    if suffix in (".dta", ".sav"):
        _pyreadstat()
    if suffix == ".parquet":
        arrow()


def write_records(result: MicrodataResult, file: str) -> list[Path]:
    """Write records, their codebook and scripts that read them, side by side.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    ParameterError
        If a file cannot be written.
    """
    check_file(file)
    path = Path(file)
    texts = {f"{path.stem}-codebook.txt": codebook(result)}
    texts |= {f"{path.stem}{suffix}": text for suffix, text in scripts(result, path.name)}
    try:
        WRITERS[path.suffix](result, path)
        for name, text in texts.items():
            path.with_name(name).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"out: expected a file that can be written: {reason}", field="out"
        ) from None
    return [path, *(path.with_name(name) for name in texts)]


class _Plain:
    """The rows of a result, without the columns that its files have beside them."""

    def __init__(self, result: MicrodataResult) -> None:
        self.columns, self.rows = result.columns, result.rows


def _write_csv(result: MicrodataResult, path: Path) -> None:
    path.write_text(to_csv(_Plain(result)), encoding="utf-8")


def _write_parquet(result: MicrodataResult, path: Path) -> None:
    path.write_bytes(to_parquet(_Plain(result)))


def _write_labelled(result: MicrodataResult, path: Path) -> None:
    """Write codes with labels, for Stata or SPSS."""
    pyreadstat = _pyreadstat()
    frame = data_frame(result, 0)
    for variable, codes in zip(
        result.variables, zip(*(row.codes for row in result.records), strict=True), strict=True
    ):
        frame[variable.name] = np.array(codes, dtype=np.int32)
    labels = {variable.name: variable.label[:_LONGEST_LABEL] for variable in result.variables}
    answers = {variable.name: dict(enumerate(variable.labels)) for variable in result.variables}
    title = f"No row is a person: weighted records of {result.survey}"[:_LONGEST_TITLE]
    write = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav}[path.suffix]
    # It overwrites nothing that it cannot, and says so by an error of its own.
    path.touch()
    write(frame, path, file_label=title, column_labels=labels, variable_value_labels=answers)


def _pyreadstat() -> Any:
    try:
        import pandas  # noqa: F401
        import pyreadstat
    except ImportError:
        raise NotAcceptable(
            "out: expected pandas and pyreadstat, which are not installed here"
            " (pip install 'halftruth-collector[microdata]')",
            field="out",
        ) from None
    return pyreadstat


#: How files are written, by the ends of their names.
WRITERS: dict[str, Callable[[MicrodataResult, Path], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".dta": _write_labelled,
    ".sav": _write_labelled,
}
