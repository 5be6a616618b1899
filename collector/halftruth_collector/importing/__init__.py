"""Import of questionnaires of other programs as surveys, with notes on what is lost."""

from pathlib import Path

import msgspec
from halftruth_shared import ParameterError

from .draft import Draft, Imported

__all__ = ["Imported", "import_questionnaire", "read_questionnaire"]

#: Most objects, lists or tags of a file.
_MOST_PARTS = 250_000


def import_questionnaire(file: str, id: str | None = None, gamma: str = "19") -> Imported:
    """Turn a questionnaire of SurveyJS (JSON) or LimeSurvey (.lss) into a survey.

    Parameters
    ----------
    file : str
    id : str, optional
        Id of the survey; by default made of the file's name.
    gamma : str
        Amplification of the survey.

    Raises
    ------
    HalftruthError
        If the file cannot be read, or as :func:`read_questionnaire`.
    """
    try:
        content = Path(file).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not the name of a file"
        raise ParameterError(f"{file}: cannot be read: {reason}", field="file") from None
    return read_questionnaire(content, file, id, gamma)


def read_questionnaire(
    content: bytes, file: str, id: str | None = None, gamma: str = "19"
) -> Imported:
    """Turn the content of such a file into a survey.

    Raises
    ------
    HalftruthError
        If that is no such questionnaire, or has no question that can be asked.
    """
    # Each takes a hundred times the memory that it takes in the file.
    if sum(map(content.count, (b"{", b"[", b"<"))) > _MOST_PARTS:
        raise ParameterError(
            f"{file}: expected a questionnaire of at most {_MOST_PARTS} elements", field="file"
        )
    # Imported here: a questionnaire is of one of them.
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        from .limesurvey import read_limesurvey as read
    else:
        from .surveyjs import read_surveyjs as read
    draft = Draft()
    try:
        read(content, draft)
    except (
        *(msgspec.MsgspecError, RecursionError, ValueError),
        # Members that are not of the type that these programs write.
        *(AttributeError, LookupError, TypeError),
    ):
        raise ParameterError(
            f"{file}: expected a questionnaire of SurveyJS (JSON) or of LimeSurvey (.lss)",
            field="file",
        ) from None
    return draft.survey(id or Path(file).stem, gamma)
