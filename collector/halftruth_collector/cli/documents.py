"""A statement as text for a terminal, and as a page."""

from textwrap import fill

from ..disclosure.sections import Section, Statement
from ..web.standalone import standalone
from .output import table

#: Widths of sentences, and of a column's header, on a terminal.
_COLUMNS = 100
_HEADER = 16


def as_text(statement: Statement) -> str:
    """Return a statement as text for a terminal."""
    parts = [statement.title, fill(statement.lead, _COLUMNS)]
    for section in statement.sections:
        parts += ["", section.title, "-" * len(section.title)]
        parts += [
            fill(
                _bullet(section) + paragraph,
                _COLUMNS,
                subsequent_indent=" " * len(_bullet(section)),
            )
            for paragraph in section.paragraphs
        ]
        if section.table is not None:
            header = [fill(name, _HEADER) for name in section.table.header]
            parts.append(table(header, section.table.rows))
        parts += [fill(note, _COLUMNS) for note in section.notes]
    return "\n".join(parts)


def as_html(statement: Statement) -> bytes:
    """Return a page that needs nothing else, to be read and printed."""
    return standalone("audit.html", ["print.css"], statement=statement).encode()


def _bullet(section: Section) -> str:
    return "• " if section.listed else ""
