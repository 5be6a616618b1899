"""What a result claims: the findings that its headline states, and the tests that they rest on."""

from typing import Annotated, Literal

from msgspec import Meta, field

from ..protocol.base import Message

#: Kinds of claims. *associated*, *different*, *effect* and *changed* reject that there is none;
#: *frequent* itemsets are above the threshold; the *largest* share is above all others; *at least*
#: is a lower bound; *estimate*, *margin* and *counted* state numbers without a decision; *none
#: found* and *untested* claim nothing of the estimates.
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
    """Test that claims rest on.

    `p_value` is adjusted for the number of `hypotheses` of which the most significant one is
    tested (Bonferroni); null where it is undefined, which `undefined` says why.
    """

    name: str
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    hypotheses: Annotated[int, Meta(ge=0)] = 1
    undefined: str | None = None


class Claim(Message, frozen=True, kw_only=True):
    """Finding that the headline of a result states in one sentence.

    `rows` are the places of the estimates that it is about, in the order of the result's rows; none
    where it is about the whole table. `test` is the place of the test that it rests on. `rate` is
    the chance that such a claim is made where there is nothing to find, or of a claim of several
    rows (`by_rate`) the expected share of false ones among them; 0 where nothing can be false.
    `direction` is the sign of what was found, `bound` the number that it is about, and `count` the
    number of rows or hypotheses that were decided on. Where the estimate was selected among
    several, `interval` is its interval at the level that holds whichever of them it is
    (Bonferroni), which the headline states in place of that of the row.
    """

    kind: ClaimKind
    rows: list[int] = field(default_factory=list)
    test: int | None = None
    rate: float = 0.0
    by_rate: bool = False
    direction: Literal["more", "less"] | None = None
    bound: float | None = None
    count: int | None = None
    interval: tuple[float | None, float | None] | None = None
