"""Estimated quantities: their names, possible values, and formats."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

#: Formats of numbers: shares in percent, their differences in percentage points, numbers of people
#: as whole numbers.
Style = Literal["share", "points", "number", "count"]


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


def _share(name: str, label: str = "") -> Quantity:
    return Quantity(name, label, "share", 0.0, 1.0)


def _difference(name: str, label: str = "", style: Style = "points") -> Quantity:
    ends = (-1.0, 1.0) if style == "points" else (-math.inf, math.inf)
    return Quantity(name, label, style, *ends, no_effect=0.0)


def _ratio(name: str, label: str = "") -> Quantity:
    return Quantity(name, label, lower=0.0, ratio=True, logarithmic=True, no_effect=1.0)


#: All quantities of results, besides measures of association, by name.
QUANTITIES = {
    each.name: each
    for each in (
        _share("share"),
        _share("support"),
        _share("confidence"),
        _share("cumulative_share", "cumulative share"),
        _share("unweighted", "unweighted share"),
        _share("base", "share of everybody"),
        _share("prior", "share among equal quasi-identifiers"),
        _share("quasi_linked", "quasi-identifiers linked"),
        _share("posterior", "answer linked"),
        _share("risk", "risk column by column"),
        _share("whole_risk", "risk of whole reports"),
        *(
            _share(f"{way}{name}", label)
            for way in ("", "whole_")
            for name, label in (
                ("above_limit", "people above the limit"),
                ("median_risk", "median risk"),
                ("risk_p90", "90th percentile of risk"),
                ("risk_p99", "99th percentile of risk"),
                ("largest_risk", "largest risk"),
            )
        ),
        _share("missing", "share of everybody"),
        _difference("difference"),
        _ratio("risk_ratio", "risk ratio"),
        _ratio("odds_ratio", "odds ratio"),
        *map(_ratio, ("interest", "lift", "conviction", "collective_strength")),
        _difference("trend", "change from one group to the next"),
        Quantity("people", "people, about", "count", lower=0.0),
        Quantity("reports", style="count", lower=0.0),
        Quantity("effective_reports", "effective sample size", "count", lower=0.0),
        Quantity("weight", lower=0.0),
        Quantity("mean"),
        Quantity("mean_number", "options chosen on average", lower=0.0),
        Quantity("deviation", "standard deviation", lower=0.0),
        _difference("mean_difference", "difference of means", "number"),
        Quantity("percentile"),
        Quantity("intercept"),
        replace(_ratio("odds"), no_effect=None),
        _difference("coefficient", style="number"),
        Quantity("marginal_effect", "average change", "points", no_effect=0.0),
        Quantity("design_effect", "design effect", lower=0.0),
        _difference("share_difference", "difference"),
        _difference("share_change", "change"),
        _difference("share_trend", "trend per wave"),
        _difference("mean_change", "change", "number"),
        _difference("mean_trend", "trend per wave", "number"),
    )
}


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
    "tau_b": "Kendall’s τ_b",
    "somers_d": "Somers’ d",
}
