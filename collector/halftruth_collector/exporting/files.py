"""Files of weighted records: CSV and Parquet, with codebook and scripts."""

import io
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from halftruth_shared import ParameterError
from halftruth_shared.analyses.microdata import MicrodataResult

from ..analyses.tabular import arrow, to_csv, to_parquet
from .codebook import codebook
from .scripts import scripts


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
    if suffix == ".parquet":
        arrow()


def content(result: MicrodataResult, name: str) -> bytes:
    """Return the content of a file of records, by the end of its name.

    Those of `WRITERS` are the records alone; ".zip" after one of them is an archive of what
    `write_records` writes, and any other ending the codebook.

    Raises
    ------
    NotAcceptable
    """
    path = Path(name)
    if path.suffix in WRITERS:
        return WRITERS[path.suffix](result)
    if path.suffix != ".zip":
        return codebook(result).encode()
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as into:
        for file, part in _side_by_side(result, Path(path.stem)).items():
            into.writestr(file, part)
    return archive.getvalue()


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
    contents = {path.with_name(n): part for n, part in _side_by_side(result, path).items()}
    try:
        for each, part in contents.items():
            each.write_bytes(part)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"out: expected a file that can be written: {reason}", field="out"
        ) from None
    return list(contents)


def _side_by_side(result: MicrodataResult, path: Path) -> dict[str, bytes]:
    """Return the contents of a file of records, its codebook and scripts, by their names."""
    texts = {f"{path.stem}-codebook.txt": codebook(result)}
    texts |= {f"{path.stem}{suffix}": text for suffix, text in scripts(result, path.name)}
    records = WRITERS[path.suffix](result)
    return {path.name: records, **{name: text.encode() for name, text in texts.items()}}


class _Plain:
    """The rows of a result, without the columns that its files have beside them."""

    def __init__(self, result: MicrodataResult) -> None:
        self.columns, self.rows = result.columns, result.rows


def _csv(result: MicrodataResult) -> bytes:
    return to_csv(_Plain(result)).encode()


def _parquet(result: MicrodataResult) -> bytes:
    return to_parquet(_Plain(result))


#: How records are written, by the ends of files' names.
WRITERS: dict[str, Callable[[MicrodataResult], bytes]] = {
    ".csv": _csv,
    ".parquet": _parquet,
}
