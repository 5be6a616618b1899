"""Claims of a result: the findings in its headline, and the tests on which they are based."""

from typing import Annotated, Literal

from msgspec import Meta, field

from ..protocol.base import Message
from .estimate import Interval, SetKind

#: Kinds of claims. *associated*, *different*, *effect* and *changed* reject the null hypothesis of
#: no effect; *frequent* itemsets are above the threshold; the *largest* share is above all others;
#: *at least* is a lower bound; *estimate*, *margin* and *counted* state numbers without a decision;
#: *none found* and *untested* make no claim about the estimates.
ClaimKind = Literal[
    "associated",
    "different",
    "effect",
    "changed",
    "frequent",
    "largest",
    "at least",
    "estimate",
    "margin",
    "counted",
    "none found",
    "untested",
]


class Test(Message, frozen=True, kw_only=True):
    """Test on which claims are based.

    `p_value` is that of the most significant of `hypotheses`, adjusted for their number
    (Bonferroni); if it is null, `undefined` is the reason. `undone_by` is how many false reports
    would undo a rejection; null if no number of them would.
    """

    name: str
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    hypotheses: Annotated[int, Meta(ge=0)] = 1
    undefined: str | None = None
    undone_by: float | None = None


class SelectedSet(Message, frozen=True, kw_only=True, omit_defaults=True):
    """Confidence set of a row at the level of its selection, as in an `Estimate`."""

    interval: tuple[float | None, float | None] | None = None
    set: SetKind = "interval"
    gap: Interval | None = None


class Claim(Message, frozen=True, kw_only=True):
    """Finding that the headline of a result states in one sentence.

    Attributes
    ----------
    rows : list of int
        Indices of the rows of the result; empty for a claim about the whole table.
    test : int or None
        Index of the test on which the claim is based.
    rate : float
        Probability of the claim under the null hypothesis; with `by_rate`, the expected share of
        false rows in a claim about several rows (false discovery rate). 0 without a decision.
    direction : str or None
        Direction of the effect.
    bound : float or None
        The number that the claim states.
    count : int or None
        Number of rows or hypotheses that were decided on.
    sets : list of SelectedSet
        Simultaneous confidence sets (Bonferroni) of all `rows` if they were selected among several
        candidates; the headline states them instead of those of the rows. Empty without selection.
    """

    kind: ClaimKind
    rows: list[int] = field(default_factory=list)
    test: int | None = None
    rate: float = 0.0
    by_rate: bool = False
    direction: Literal["more", "less"] | None = None
    bound: float | None = None
    count: int | None = None
    sets: list[SelectedSet] = field(default_factory=list)
