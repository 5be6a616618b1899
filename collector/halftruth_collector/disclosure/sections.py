"""Parts of a statement: sections of sentences and tables."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Table with a caption, a header, and rows of texts."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """Section with a title, paragraphs or list items, and optionally a table with notes."""

    title: str
    paragraphs: tuple[str, ...]
    table: Table | None = None
    notes: tuple[str, ...] = ()
    listed: bool = False


@dataclass(frozen=True)
class Statement:
    """Statement of an audit."""

    title: str
    lead: str
    sections: tuple[Section, ...]
