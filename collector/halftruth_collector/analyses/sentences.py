"""Words common to the sentences of several analyses."""

import math
from typing import Any

from halftruth_shared.results import quantity
from halftruth_shared.results.caveats import listed as listed
from halftruth_shared.results.claims import Claim
from halftruth_shared.results.showing import of_reports as of_reports
from halftruth_shared.results.wording import percent
from halftruth_shared.results.wording import quoted as quoted


def named(measure: str) -> str:
    """Return the usual name of a measure."""
    return quantity(measure).title


def counted(result: Any) -> str:
    """Return the number of reports of a result in words."""
    return of_reports(result).partition(",")[0]


def lower_bound(claim: Claim) -> str:
    """Return the lower bound that is claimed, rounded down."""
    return percent(math.floor(1000 * (claim.bound or 0.0)) / 1000, 1)
