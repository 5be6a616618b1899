"""Import of questionnaires from other programs, with notes on everything that is lost."""

from pathlib import Path

import msgspec
from halftruth_shared import ParameterError

from .draft import Imported, SurveyDraft

__all__ = ["Imported", "import_questionnaire", "is_questionnaire", "read_questionnaire"]

#: Largest number of objects, lists, tags or cells of a file.
_MAX_ELEMENTS = 250_000

#: First bytes of a workbook in the .xls format.
_OLD_WORKBOOK = bytes.fromhex("d0cf11e0a1b11ae1")


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
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:2]
    return start == b"PK" or start[:1] in (b"{", b"<") or file.lower().endswith((".csv", ".xls"))


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
    draft = SurveyDraft()
    try:
        _read(content, file, draft)
        if draft.missed_edges:
            # Read it again, with edges of bins at the numbers that conditions compare.
            draft = SurveyDraft(edges=draft.missed_edges)
            _read(content, file, draft)
    # The readers validate the format, so that any other error is a fault of this program.
    except (msgspec.MsgspecError, RecursionError):
        raise ParameterError(
            f"{file}: expected a questionnaire of SurveyJS (JSON) or of LimeSurvey (.lss), or an"
            " XLSForm (.xlsx, .csv)",
            field="file",
        ) from None
    return draft.build(id or Path(file).stem, gamma)


def _read(content: bytes, file: str, draft: SurveyDraft) -> None:
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    # Import only the reader of this format.
    if content.startswith(b"PK") or file.lower().endswith(".csv"):
        from .xlsform import read_xlsform

        read_xlsform(content, draft)
    elif start.startswith(b"<"):
        from .limesurvey import read_limesurvey

        read_limesurvey(content, draft)
    else:
        from .surveyjs import read_surveyjs

        read_surveyjs(content, draft)
