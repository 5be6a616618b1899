"""Import of questionnaires from other programs, with notes on everything that is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.addons import added

from .draft import Imported, SurveyDraft

__all__ = ["Imported", "Reader", "import_questionnaire", "is_questionnaire", "read_questionnaire"]

#: Largest number of objects, lists, tags or cells of a file.
_MAX_ELEMENTS = 250_000

#: First bytes of a workbook in the .xls format.
_OLD_WORKBOOK = bytes.fromhex("d0cf11e0a1b11ae1")


@dataclass(frozen=True)
class Reader:
    """Reader of questionnaires of one program.

    Other packages add readers by the entry points ``halftruth.importers``.

    Attributes
    ----------
    title : str
        The program and its kind of file, as in messages.
    recognizes : callable
        Whether a file may be one of its questionnaires, by its name and the first bytes of its
        content after any space.
    read : callable
        Adds the questions of a content to a draft. It raises a msgspec error for a file of another
        format.
    """

    title: str
    recognizes: Callable[[str, bytes], bool]
    read: Callable[[bytes, SurveyDraft], None]


def _later(module: str) -> Callable[[bytes, SurveyDraft], None]:
    """Return the reader of a module, which is imported when it is used."""

    def read(content: bytes, draft: SurveyDraft) -> None:
        getattr(import_module(f".{module}", __name__), f"read_{module}")(content, draft)

    return read


_OWN = (
    Reader(
        "an XLSForm (.xlsx, .csv)",
        lambda file, start: start.startswith(b"PK") or file.lower().endswith((".csv", ".xls")),
        _later("xlsform"),
    ),
    Reader(
        "a questionnaire of LimeSurvey (.lss)",
        lambda _, start: start.startswith(b"<"),
        _later("limesurvey"),
    ),
    Reader(
        "a questionnaire of SurveyJS (JSON)",
        lambda _, start: start.startswith(b"{"),
        _later("surveyjs"),
    ),
)


@cache
def readers() -> list[Reader]:
    """Return all readers in the order in which they are asked, those of other packages first."""
    return [*(reader for _, reader in added("importers")), *_OWN]


def import_questionnaire(file: str, id: str | None = None, gamma: str = "19") -> Imported:
    """Convert a questionnaire of SurveyJS (JSON), LimeSurvey (.lss) or an XLSForm to a survey.

    Parameters
    ----------
    file : str
        An XLSForm is a workbook (.xlsx), or a table (.csv) of all sheets with their names in the
        first column.
    id : str, optional
        Id of the survey; by default derived from the name of the file.
    gamma : str
        Amplification of the survey.

    Raises
    ------
    HalftruthError
        If the file cannot be read, its format is not supported, or no question can be asked.
    """
    try:
        content = Path(file).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not the name of a file"
        raise ParameterError(f"{file}: cannot be read: {reason}", field="file") from None
    return read_questionnaire(content, file, id, gamma)


def is_questionnaire(content: bytes, file: str) -> bool:
    """Return true if a file may be a questionnaire, by its name and first bytes."""
    return _reader(content, file) is not None


def _reader(content: bytes, file: str) -> Reader | None:
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:16]
    return next((reader for reader in readers() if reader.recognizes(file, start)), None)


def read_questionnaire(
    content: bytes, file: str, id: str | None = None, gamma: str = "19"
) -> Imported:
    """Convert the content of a file of this name, as :func:`import_questionnaire` does."""
    # In memory, each element takes a hundred times its size in the file.
    marks = (b",", b"\n") if file.lower().endswith(".csv") else (b"{", b"[", b"<")
    if not content.startswith(b"PK") and sum(map(content.count, marks)) > _MAX_ELEMENTS:
        raise ParameterError(
            f"{file}: expected a questionnaire of at most {_MAX_ELEMENTS} elements", field="file"
        )
    if content.startswith(_OLD_WORKBOOK):
        raise ParameterError(
            f"{file}: a workbook of Excel 97 to 2003 (.xls); expected one that is saved as .xlsx",
            field="file",
        )
    reader, draft = _reader(content, file), SurveyDraft()
    try:
        if reader is None:
            raise msgspec.DecodeError
        reader.read(content, draft)
        if draft.missed_edges:
            # Read it again, with edges of bins at the numbers that conditions compare.
            draft = SurveyDraft(edges=draft.missed_edges)
            reader.read(content, draft)
    # The readers validate the format, so that any other error is a fault of this program.
    except (msgspec.MsgspecError, RecursionError):
        raise ParameterError(
            f"{file}: expected {' or '.join(each.title for each in reversed(readers()))}",
            field="file",
        ) from None
    return draft.build(id or Path(file).stem, gamma)
