"""Tags of the languages of questionnaires, so that no text of any language is lost."""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence

from halftruth_shared import ParameterError
from halftruth_shared.texts import is_language

#: Largest number of languages of a survey.
_MAX_LANGUAGES = 64

#: Tag of a language that nobody has named.
UNDETERMINED = "und"


def tag_of_code(code: str) -> str:
    """Return the tag of a language by its code; a private tag if the code cannot be a tag.

    >>> [tag_of_code(code) for code in ("de", "pt_BR", "de-informal", "Ateso", "العربية")]
    ['de', 'pt-BR', 'de-informal', 'qaa-ateso', 'qaa-3a048499']
    """
    tag = code.strip().replace("_", "-")
    return tag if is_language(tag) else _private_tag(code)


def assign_tags(
    names: Mapping[str, Sequence[str]], texts: Iterable[Mapping[str, str]]
) -> dict[str, str]:
    """Return a tag for each name of a language: the first suitable one of those that are wanted.

    Names share a tag unless some text has different words in them. A name without a suitable tag
    has a private one.

    Parameters
    ----------
    names : mapping of str to sequence of str
        The wanted tags of each name.
    texts : iterable of mapping of str to str
        Texts by the names of their languages.

    Raises
    ------
    ParameterError
        If a survey cannot have so many languages.

    >>> both = [{"default": "Do you smoke?", "ar": "هل تدخن؟"}]
    >>> assign_tags({"ar": ["ar"], "default": ["ar", "en"]}, both)
    {'ar': 'ar', 'default': 'en'}
    >>> assign_tags({"ar": ["ar"], "default": ["ar", "en"]}, [])
    {'ar': 'ar', 'default': 'ar'}
    """
    translated = [text for text in texts if len(text) > 1]
    tags: dict[str, str] = {}

    def is_suitable(name: str, tag: str) -> bool:
        others = [other for other, taken in tags.items() if taken == tag]
        return not any(
            text.get(name) and text.get(other) and text[name] != text[other]
            for other in others
            for text in translated
        )

    for name, wanted in names.items():
        further = [_private_tag(name), f"qaa-{_checksum(name)}"]
        tags[name] = next(
            (tag for tag in (*wanted, *further) if is_suitable(name, tag)), further[-1]
        )
        if len(set(tags.values())) > _MAX_LANGUAGES:
            raise ParameterError(f"file: expected at most {_MAX_LANGUAGES} languages", field="file")
    return tags


def _private_tag(name: str) -> str:
    """Return a tag for a language that has none: ``qaa`` is reserved for private use."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    letters = re.sub(r"[^a-z0-9]", "", plain)
    # Shorter subtags would be scripts or regions.
    return f"qaa-{letters[:8] if len(letters) >= 5 else (letters + _checksum(name))[:8]}"


def _checksum(name: str) -> str:
    return f"{zlib.crc32(name.encode(errors='surrogatepass')):08x}"
