"""Invitations for people: their links, as CSV and as cards to print with a QR code on each.

What follows the # of a link leaves the browser in the report itself alone, so no log of requests
has it. Nothing here is stored: who makes invitations has them this once.
"""

import csv
from collections.abc import Sequence
from io import StringIO

from halftruth_shared import ParameterError

from .standalone import standalone

#: Most cards of one document: each is some kilobytes of picture.
MOST_CARDS = 1_000


def check_cards(count: int) -> None:
    """Refuse more cards than a document may have.

    Raises
    ------
    ParameterError
    """
    if count > MOST_CARDS:
        raise ParameterError(f"count: expected at most {MOST_CARDS} cards at a time", field="count")


def links(form: str, invitations: Sequence[str]) -> list[str]:
    """Address of the form for each invitation.

    Parameters
    ----------
    form : str
        Address of a survey's hosted form.
    invitations : sequence of str

    Examples
    --------
    >>> links("https://example.org/s/health", ["00" * 16])
    ['https://example.org/s/health#invitation=00000000000000000000000000000000']
    """
    return [f"{form}#invitation={invitation}" for invitation in invitations]


def as_csv(form: str, invitations: Sequence[str]) -> str:
    """A table of invitations with their links."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["invitation", "link"])
    writer.writerows(zip(invitations, links(form, invitations), strict=True))
    return text.getvalue()


def cards(form: str, invitations: Sequence[str]) -> list[tuple[str, str]]:
    """The link of each invitation, and a picture of it for cameras."""
    # Imported here: few calls draw codes.
    import segno

    return [
        (link, segno.make(link, error="m", micro=False).svg_inline(omitsize=True, border=2))
        for link in links(form, invitations)
    ]


def as_document(title: str, form: str, invitations: Sequence[str]) -> str:
    """Cards as a page that needs nothing else, to be printed."""
    return standalone(
        "cards.html", ["cards.css"], title=title, cards=cards(form, invitations), again=None
    )
