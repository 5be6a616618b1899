"""Estimated quantities: their names, possible values, and formats."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .estimate import Estimate

#: Formats of numbers: shares in percent, their differences in percentage points, numbers of people
#: as whole numbers.
Style = Literal["share", "points", "number", "count"]

#: Relative tolerance for rounding beyond the possible range.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Quantity:
    """Kind of an estimated number.

    Attributes
    ----------
    name : str
        Name in files and programs.
    label : str
        Name for people.
    style : str
        Format of its values.
    lower, upper : float
        Smallest and largest possible value.
    unit : float
        Length of the scale for judging margins of error, such as the range of the scores of a mean.
    ratio : bool
        Whether margins are factors, and axes logarithmic.
    logarithmic : bool
        Whether the standard error is that of the logarithm.
    no_effect : float or None
        Value without an effect, if there is one.
    """

    name: str
    label: str = ""
    style: Style = "number"
    lower: float = -math.inf
    upper: float = math.inf
    unit: float = 1.0
    ratio: bool = False
    logarithmic: bool = False
    no_effect: float | None = None

    @property
    def title(self) -> str:
        """Label for people; the name, if there is no other."""
        return self.label or self.name.replace("_", " ")

    def possible(self, estimate: Estimate) -> float | None:
        """Return the possible value closest to an estimate, which tables and charts show.

        An estimate outside its own interval is outside the range of its quantity, which can depend
        on the survey, as that of a mean: the interval ends where the range does.

        >>> QUANTITIES["share"].possible(Estimate(value=-0.06, interval=(0.0, 0.01)))
        0.0
        """
        if estimate.value is None:
            return None
        lower, upper = estimate.interval or (None, None)
        lower = self.lower if lower is None else max(lower, self.lower)
        upper = self.upper if upper is None else min(upper, self.upper)
        return min(max(estimate.value, lower), upper)

    def is_outside(self, estimate: Estimate) -> bool:
        """Return whether an estimate is outside the possible range, but for rounding."""
        shown = self.possible(estimate)
        if shown is None or estimate.value is None:
            return False
        return abs(shown - estimate.value) > _ROUNDING * max(1.0, abs(shown))

    def within(self, lower: float, upper: float, unit: float = 1.0) -> "Quantity":
        """Return the quantity with another range of values."""
        return replace(self, lower=lower, upper=upper, unit=unit)

    def contrast(self, name: str, weights: Sequence[float]) -> "Quantity":
        """Return the quantity of a contrast: a weighted sum with weights that add up to 0.

        >>> QUANTITIES["share"].contrast("difference", [1, -1]).upper
        1.0
        """
        ends = [(w * self.lower, w * self.upper) for w in weights if w]
        style: Style = "points" if self.style == "share" else self.style
        lower, upper = sum(map(min, ends)), sum(map(max, ends))
        base = QUANTITIES.get(name, Quantity(name))
        return replace(base, style=style, lower=lower, upper=upper, unit=self.unit, no_effect=0.0)


def share(name: str, label: str = "") -> Quantity:
    """Return a quantity that is a share."""
    return Quantity(name, label, "share", 0.0, 1.0)


def difference(name: str, label: str = "", style: Style = "points") -> Quantity:
    """Return a quantity that is a difference, of shares by default."""
    ends = (-1.0, 1.0) if style == "points" else (-math.inf, math.inf)
    return Quantity(name, label, style, *ends, no_effect=0.0)


def ratio(name: str, label: str = "") -> Quantity:
    """Return a quantity that is a ratio, with errors on the logarithmic scale."""
    return Quantity(name, label, lower=0.0, ratio=True, logarithmic=True, no_effect=1.0)


def by_name(*quantities: Quantity) -> dict[str, Quantity]:
    """Return quantities by name."""
    return {each.name: each for each in quantities}


#: Quantities by name: of several analyses, and what each analysis declares. Measures of association
#: need no further properties.
QUANTITIES = by_name(
    share("share"),
    share("support"),
    share("confidence"),
    share("cumulative_share", "cumulative share"),
    share("base", "share of everybody"),
    share("missing", "share of everybody"),
    share("number_chosen", "share of everybody"),
    difference("difference"),
    difference("departure", "departure from independence"),
    ratio("risk_ratio", "risk ratio"),
    ratio("odds_ratio", "odds ratio"),
    *map(ratio, ("interest", "lift", "conviction", "collective_strength")),
    difference("trend", "change from one group to the next"),
    *(
        Quantity(name, label, lower=0.0, upper=1.0)
        for name, label in (
            ("cramers_v", "Cramér’s V"),
            ("concentration", ""),
            ("mutual_information", ""),
            ("uncertainty_coefficient", ""),
        )
    ),
    Quantity("people", "people, about", "count", lower=0.0),
    Quantity("reports", style="count", lower=0.0),
    Quantity("effective_reports", "effective sample size", "count", lower=0.0),
    Quantity("weight", lower=0.0),
    Quantity("mean"),
    Quantity("mean_number", "options chosen on average", lower=0.0),
    Quantity("deviation", "standard deviation", lower=0.0),
    difference("mean_difference", "difference of means", "number"),
    Quantity("percentile"),
    Quantity("polychoric", "polychoric correlation", lower=-1.0, upper=1.0, no_effect=0.0),
    Quantity(
        "score_correlation",
        "correlation of ranks (test for trend)",
        lower=-1.0,
        upper=1.0,
        no_effect=0.0,
    ),
)


def quantity(name: str) -> Quantity:
    """Return a quantity by name; an unknown name gives a number without further properties."""
    return QUANTITIES.get(name) or Quantity(name, _SYMBOLS.get(name, ""))


_SYMBOLS = {
    "phi": "φ",
    "kappa": "κ",
    "chi_squared": "χ²",
    "g_squared": "G²",
    "piatetsky_shapiro": "Piatetsky-Shapiro",
    "j_measure": "J-measure",
    "goodman_kruskal_gamma": "Goodman and Kruskal’s γ",
    "tau_b": "Kendall’s τ-b",
    "somers_d": "Somers’ d",
}
