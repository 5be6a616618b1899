"""All errors that halftruth raises deliberately.

The client adds its own branches in ``halftruth_client.errors``, the collector in
``halftruth_collector.errors``. A message names the offending field and the accepted values. A
message about a record never contains an answer from it.
"""

from collections.abc import Sequence


class HalftruthError(Exception):
    """Base of all errors of this project.

    Parameters
    ----------
    message : str
        One line for people: the field, the error, and the accepted values.
    field : str, optional
        Name of the offending field, for programs.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        # Quoted text can contain control characters, but a message is one line.
        if not message.isprintable():
            message = "".join(
                c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in message
            )
        super().__init__(message)
        self.field = field


class SchemaError(HalftruthError):
    """An attribute or a schema that cannot be used."""


class RecordError(HalftruthError):
    """A record that does not fit its schema; the message never contains an answer."""


class ParameterError(HalftruthError):
    """A parameter outside its range."""


class DomainTooLarge(ParameterError):
    """The domain has too many cells for the computation."""


class SurveyError(HalftruthError):
    """A survey document that cannot be read."""


class ReportError(HalftruthError):
    """A report that does not fit its survey.

    Parameters
    ----------
    index : int, optional
        Position of the report in its batch, from 0.
    """

    def __init__(self, message: str, *, field: str | None = None, index: int | None = None) -> None:
        super().__init__(message, field=field)
        self.index = index


class SignatureError(HalftruthError):
    """A survey without a valid signature of a trusted operator."""


class KeyFileError(HalftruthError):
    """A file of private keys that cannot be used; the message never contains a key."""


class EstimateError(HalftruthError):
    """A result that cannot be computed from these counts."""


class NoReports(EstimateError):
    """No reports have been counted yet, so nothing can be estimated."""


class NotReportedYet(EstimateError):
    """No report is about these questions yet, as each is about a few drawn at random."""


def listing(options: Sequence[str], limit: int = 8) -> str:
    """List names of accepted values, cut after `limit` entries.

    >>> listing(["no", "yes"])
    'no, yes'
    """
    shown = ", ".join(options[:limit])
    return shown if len(options) <= limit else f"{shown}, … ({len(options)} in all)"
