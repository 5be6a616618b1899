"""Links of invitations, as CSV and as cards with QR codes for printing.

The fragment of a link, after #, is sent only inside the report, so it never appears in access logs.
Invitations are not stored, and can be shown only once.
"""

import csv
from collections.abc import Sequence
from io import StringIO

from halftruth_shared import ParameterError

from .standalone import standalone

#: Largest number of cards of one document; each has some kilobytes.
MOST_CARDS = 1_000


def check_cards(count: int) -> None:
    """Refuse more cards than a document may have."""
    if count > MOST_CARDS:
        raise ParameterError(f"count: expected at most {MOST_CARDS} cards at a time", field="count")


def links(form: str, invitations: Sequence[str]) -> list[str]:
    """Return the link of each invitation to the hosted form of a survey.

    >>> links("https://example.org/s/health", ["00" * 16])
    ['https://example.org/s/health#invitation=00000000000000000000000000000000']
    """
    return [f"{form}#invitation={invitation}" for invitation in invitations]


def as_csv(form: str, invitations: Sequence[str]) -> str:
    """Return a CSV table of invitations with their links."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["invitation", "link"])
    writer.writerows(zip(invitations, links(form, invitations), strict=True))
    return text.getvalue()


def cards(form: str, invitations: Sequence[str]) -> list[tuple[str, str]]:
    """Return the link of each invitation with its QR code."""
    # Import here, since few requests draw codes.
    import segno

    return [
        (link, segno.make(link, error="m", micro=False).svg_inline(omitsize=True, border=2))
        for link in links(form, invitations)
    ]


def as_document(title: str, form: str, invitations: Sequence[str]) -> str:
    """Return a self-contained page of cards for printing."""
    return standalone(
        "cards.html", ["cards.css"], title=title, cards=cards(form, invitations), again=None
    )
