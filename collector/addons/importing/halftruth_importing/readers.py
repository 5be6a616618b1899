"""The formats of questionnaires, and what all readers have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from halftruth_collector.importers import Imported
from halftruth_shared import ParameterError

from .draft import SurveyDraft

#: Largest number of objects, lists, tags or cells of a file.
_MAX_ELEMENTS = 250_000

#: First bytes of a workbook in the .xls format.
_OLD_WORKBOOK = bytes.fromhex("d0cf11e0a1b11ae1")


@dataclass(frozen=True)
class Reader:
    """Reader of questionnaires of one program, an importer.

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

    def convert(self, content: bytes, file: str, id: str, gamma: str) -> Imported:
        """Convert the content of a file of this name to a survey."""
        # In memory, each element takes a hundred times its size in the file.
        marks = (b",", b"\n") if file.lower().endswith(".csv") else (b"{", b"[", b"<")
        if not content.startswith(b"PK") and sum(map(content.count, marks)) > _MAX_ELEMENTS:
            raise ParameterError(
                f"{file}: expected a questionnaire of at most {_MAX_ELEMENTS} elements",
                field="file",
            )
        if content.startswith(_OLD_WORKBOOK):
            raise ParameterError(
                f"{file}: a workbook of Excel 97 to 2003 (.xls); expected one that is saved as"
                " .xlsx",
                field="file",
            )
        draft = SurveyDraft()
        self.read(content, draft)
        if draft.missed_edges:
            # Read it again, with edges of bins at the numbers that conditions compare.
            draft = SurveyDraft(edges=draft.missed_edges)
            self.read(content, draft)
        return draft.build(id, gamma)


def _later(module: str) -> Callable[[bytes, SurveyDraft], None]:
    """Return the reader of a module, which is imported when it is used."""

    def read(content: bytes, draft: SurveyDraft) -> None:
        getattr(import_module(f".{module}", __package__), f"read_{module}")(content, draft)

    return read


#: An XLSForm is a workbook, or a table of all sheets with their names in the first column.
XLSFORM = Reader(
    "an XLSForm (.xlsx, .csv)",
    lambda file, start: (
        start.startswith((b"PK", _OLD_WORKBOOK)) or file.lower().endswith((".csv", ".xls"))
    ),
    _later("xlsform"),
)
LIMESURVEY = Reader(
    "a questionnaire of LimeSurvey (.lss)",
    lambda _, start: start.startswith(b"<"),
    _later("limesurvey"),
)
SURVEYJS = Reader(
    "a questionnaire of SurveyJS (JSON)",
    lambda _, start: start.startswith(b"{"),
    _later("surveyjs"),
)
