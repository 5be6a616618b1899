"""Texts in one language or in several."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import TypeVar

#: Between groups of digits, and before a percent sign.
NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", re.ASCII)
_MAX_LANGUAGES = 64

_Value = TypeVar("_Value", covariant=True)


class Frozen(Mapping[str, _Value]):
    """Immutable, hashable mapping; its order is kept but not compared."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, _Value]) -> None:
        self._members = dict(members)

    def __getitem__(self, key: str) -> _Value:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __hash__(self) -> int:
        return hash(frozenset(self._members.items()))

    def __repr__(self) -> str:
        return repr(self._members)


#: Text, or text by language (``{"en": …, "de": …}``); the first is the fallback.
Text = str | Mapping[str, str]


def choose_language(text: Text, *languages: str) -> str:
    """Return a text in the first available of some languages, or else in its first language.

    A region falls back to its language: ``de-AT`` to ``de``.

    >>> choose_language({"en": "Do you smoke?", "de": "Rauchen Sie?"}, "de-AT")
    'Rauchen Sie?'
    >>> choose_language({"en": "Do you smoke?", "de": "Rauchen Sie?"}, "fr")
    'Do you smoke?'
    """
    if isinstance(text, str):
        return text
    texts = {language.lower(): words for language, words in text.items()}
    for language in languages:
        tag = language.lower()
        while tag:
            if tag in texts:
                return texts[tag]
            tag = tag.rpartition("-")[0]
    return next(iter(text.values()))


#: Largest number of characters of a shortened text.
_SHORT = 32


def fits(text: str) -> bool:
    """Return whether a text is short enough for tables, charts and sentences."""
    return len(" ".join(text.split())) <= _SHORT


def shorten(text: str, *, ends: bool = False) -> str:
    """Shorten a text to its beginning, or its beginning and end, of at most 32 characters.

    >>> shorten("Have you ever taken something home that was not yours?")
    'Have you ever taken something…'
    >>> shorten("Have you ever taken something home that was not yours?", ends=True)
    'Have you ever… was not yours?'
    """
    words = " ".join(text.split())
    if fits(words):
        return words
    most = _SHORT // 2 if ends else _SHORT
    begin = (words[:most].rpartition(" ")[0] or words[: most - 1]).rstrip(",;:–-") + "…"
    last = words[1 - most :]
    return f"{begin} {last.partition(' ')[2] or last}" if ends else begin


def freeze_text(text: object, most: int) -> Text | None:
    """Return a text, or texts by language as an immutable mapping; None if it is invalid.

    Parameters
    ----------
    most : int
        Largest number of characters of each text.
    """
    if isinstance(text, Mapping):
        valid = 1 <= len(text) <= _MAX_LANGUAGES and all(
            is_language(language) and is_text(words, most) and words
            for language, words in text.items()
        )
        return Frozen(text) if valid else None
    return text if isinstance(text, str) and is_text(text, most) else None


def describe_accepted_text(most: int) -> str:
    """Describe the texts that `freeze_text` accepts, for messages."""
    return (
        f"text of at most {most} characters, or such texts by language, as in"
        ' { en = "Yes", de = "Ja" }'
    )


def list_languages(text: Text) -> tuple[str, ...]:
    """Return the languages of a text; an empty tuple for a plain text."""
    return () if isinstance(text, str) else tuple(text)


def group_digits(number: int) -> str:
    r"""Format a whole number with narrow spaces between groups of three digits.

    >>> group_digits(1234567)
    '1\u202f234\u202f567'
    """
    return f"{number:,}".replace(",", NARROW_SPACE)


def is_language(value: object) -> bool:
    """Return true for a language tag, such as ``de`` or ``pt-BR``."""
    return isinstance(value, str) and _LANGUAGE.fullmatch(value) is not None


def is_text(value: object, most: int) -> bool:
    """Return true for text of at most `most` characters that can be encoded as UTF-8."""
    return (
        isinstance(value, str)
        and len(value) <= most
        and not any(unicodedata.category(character) == "Cs" for character in value)
    )
