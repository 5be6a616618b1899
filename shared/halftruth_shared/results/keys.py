"""Keys: the columns that identify the estimates of a result."""

from collections.abc import Mapping
from typing import Any, Literal

from ..columns import Column
from ..protocol.base import Message
from .wording import items

#: Types of the values of a key: answers to a question, names of questions, sets of answers,
#: numbers, such as those of waves, or other texts.
KeyKind = Literal["answer", "question", "answers", "number", "text"]


class Key(Message, frozen=True, kw_only=True):
    """Column that identifies estimates.

    The values of a key of kind *answer* are answers to `question` or, if that is null, to the
    question in the row's key of kind *question*. `label` is the name for people, and `blank` the
    text for missing values.
    """

    name: str
    kind: KeyKind = "text"
    question: str | None = None
    label: str = ""
    blank: str = ""
    values: Column

    @property
    def title(self) -> str:
        """Name for people."""
        return self.label or self.name.replace("_", " ")

    def text(self, row: int) -> str:
        """Format the value in a row for people."""
        return key_text(self.values[row]) or self.blank


def key_text(value: Any) -> str | None:
    """Format the value of a key as text.

    >>> key_text({"sex": "male", "vote": "left"})
    'sex=male, vote=left'
    """
    return items(value) if isinstance(value, Mapping) else value
