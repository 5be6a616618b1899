"""A statement as text for a terminal, as a page, and as a PDF document."""

from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any

from halftruth_shared import ParameterError

from ..disclosure.sections import Section, Statement
from ..web.standalone import standalone
from .output import table

#: Widths of sentences, and of a column's header, on a terminal.
_COLUMNS = 100
_HEADER = 16

#: A column of a document is between so many letters wide.
_NARROW, _WIDE = 9, 24

#: Millimetres of margin and of a picture, and points of headings, text and tables.
_MARGIN, _PICTURE = 12, 130
_TITLE, _HEADING, _TEXT, _SMALL = 15, 11, 9, 8
_GREY = 90


def as_text(statement: Statement) -> str:
    """For a terminal."""
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
    """A page that needs nothing else, to be read and printed."""
    return standalone("audit.html", statement=statement).encode()


def as_pdf(statement: Statement) -> bytes:
    """An A4 document.

    Raises
    ------
    ParameterError
        If a library that writes it is not installed.
    """
    try:
        import matplotlib as mpl
        from fpdf import FPDF
    except ImportError:
        raise ParameterError(
            "pdf: needs fpdf2 and Matplotlib; expected halftruth-collector[pdf] to be installed",
            field="pdf",
        ) from None
    document = FPDF(format="A4")
    document.set_title(statement.title)
    document.set_lang("en")
    document.set_margin(_MARGIN)
    document.set_auto_page_break(True, _MARGIN)
    # Fonts that have all letters of most alphabets come with the library that draws charts.
    fonts = Path(mpl.get_data_path()) / "fonts" / "ttf"
    document.add_font("text", "", fonts / "DejaVuSans.ttf")
    document.add_font("text", "B", fonts / "DejaVuSans-Bold.ttf")
    document.add_page()
    _write(document, statement.title, _TITLE, "B")
    document.set_text_color(_GREY)
    _write(document, statement.lead, _TEXT)
    document.set_text_color(0)
    for section in statement.sections:
        _section(document, section)
    return bytes(document.output())


def _section(document: Any, section: Section) -> None:
    document.ln(2)
    document.start_section(section.title)
    _write(document, section.title, _HEADING, "B")
    for paragraph in section.paragraphs:
        _write(document, _bullet(section) + paragraph, _TEXT)
    for picture in section.pictures:
        document.image(BytesIO(picture), w=_PICTURE)
        document.ln(2)
    if section.table is not None:
        document.set_font("text", size=_SMALL)
        rows = [section.table.header, *section.table.rows]
        with document.table(
            line_height=_SMALL * 0.5,
            text_align="LEFT",
            borders_layout="HORIZONTAL_LINES",
            padding=0.6,
            col_widths=[
                min(max(_NARROW, *(len(row[j]) for row in section.table.rows)), _WIDE)
                for j in range(len(section.table.header))
            ],
        ) as lines:
            for row in rows:
                lines.row(row)
        document.ln(1.5)
    for note in section.notes:
        _write(document, note, _TEXT)


def _bullet(section: Section) -> str:
    return "• " if section.listed else ""


def _write(document: Any, text: str, size: float, style: str = "") -> None:
    document.set_font("text", style, size)
    document.multi_cell(0, size * 0.5, text, align="L", new_x="LMARGIN", new_y="NEXT")
    document.ln(size * 0.1)
