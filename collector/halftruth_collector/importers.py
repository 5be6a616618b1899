"""Questionnaires of other programs, which add-ons convert to surveys."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec
from halftruth_shared import ParameterError, Survey
from halftruth_shared.addons import added


@dataclass(frozen=True)
class Imported:
    """Survey converted from a questionnaire.

    Parameters
    ----------
    id : str
        Id of the survey.
    questions : int
        Number of its questions.
    text : str
        The survey as a TOML file, with a comment on each question that was changed or left out.
    left_out : tuple of str
        Sentences about each part of the questionnaire that was left out or changed.
    summary : tuple of str
        The same sentences grouped by kind, with the names of the first questions.
    counts : str
        Sentence with the numbers of unchanged, changed and left out questions.
    names : mapping of str to dict
        For each name in expressions of the questionnaire, the ``name`` of the question or option,
        and its ``answers`` by value.
    """

    id: str
    questions: int
    text: str
    left_out: tuple[str, ...]
    summary: tuple[str, ...]
    counts: str
    names: Mapping[str, Mapping[str, Any]]

    @cached_property
    def survey(self) -> Survey:
        """The survey of the file.

        Raises
        ------
        HalftruthError
            If the file has to be changed first, for instance because its views are too many.
        """
        return Survey.from_toml(self.text)


class Importer(Protocol):
    """Converts questionnaires of one program; an entry point of the group ``halftruth.importers``.

    Attributes
    ----------
    title : str
        The program and its kind of file, as in messages.
    """

    @property
    def title(self) -> str: ...

    def recognizes(self, file: str, start: bytes) -> bool:
        """Return true if a file may be such a questionnaire, by its name and first bytes.

        Space before the first bytes is left out.
        """
        ...

    def convert(self, content: bytes, file: str, id: str, gamma: str) -> Imported:
        """Convert the content of a file of this name to a survey.

        Raises
        ------
        msgspec.MsgspecError
            If the file is not of this format.
        HalftruthError
            If the questionnaire cannot be converted.
        """
        ...


@cache
def importers() -> list[Importer]:
    """Return the importers of all installed packages, sorted by name."""
    return [importer for _, importer in added("importers")]


def import_questionnaire(file: str, id: str | None = None, gamma: str = "19") -> Imported:
    """Convert a questionnaire in a format that an installed package reads to a survey.

    Parameters
    ----------
    file : str
        Name of the file.
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
    return bool(_recognizing(content, file))


def _recognizing(content: bytes, file: str) -> list[Importer]:
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:16]
    return [importer for importer in importers() if importer.recognizes(file, start)]


def read_questionnaire(
    content: bytes, file: str, id: str | None = None, gamma: str = "19"
) -> Imported:
    """Convert the content of a file of this name, as :func:`import_questionnaire` does."""
    for importer in _recognizing(content, file):
        try:
            return importer.convert(content, file, id or Path(file).stem, gamma)
        # Importers validate the format, so that any other error is a fault of theirs.
        except (msgspec.MsgspecError, RecursionError):
            continue
    expected = " or ".join([importer.title for importer in importers()])
    if not expected:
        expected = "halftruth-importing to be installed, which reads questionnaires"
    raise ParameterError(f"{file}: expected {expected}", field="file")
