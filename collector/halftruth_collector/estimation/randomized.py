"""Measures straight from randomized counts, and what they say of the answers (Guo ch. 4).

No parameter of the mechanism enters the numbers. The statements are about expected counts; the
standard errors are those of the sample of reports. They are taken as narrowly as they were found
to hold in trials on random tables, which in places is wider and in places narrower than the
source has it:

- χ² and G² never grow under any matrices (they are divergences, and distortion is processing);
- |φ|, |D| and |PS| never grow under any matrices of binary attributes (Result 4); D is the column
  risk difference, and the one along the rule is that of the transposed table;
- M, U and τ never grow where every wrong category of the attribute that they are normalized by
  is equally likely, or where it has two categories; a matrix that merges categories of it can
  raise them (Result 8 as printed does not say so);
- |F|, |AV|, |κ|, J and the distances of odds ratio, interest, conviction and collective strength
  from 1 never grow where answers are mostly kept (Result 5);
- the order of |PS| is kept among pairs distorted alike (Result 6); that of |D| where only the
  first attribute is distorted, that of |AV| and of the risk difference along the rule where only
  the second is (Result 7), and then that of Laplace too if the second is distorted by Warner's
  model.
"""

from collections.abc import Callable, Mapping, Sequence

from halftruth_shared import Reconstruction, Schema, UniformMixture
from halftruth_shared.analyses.base import MeasureEstimate
from halftruth_shared.analyses.randomized import RandomizedMeasure
from halftruth_shared.channels import Distortion
from halftruth_shared.mechanisms.records import ChannelTable

from .counts import Counts
from .delta_method import estimate_measures
from .measures import ALIASES, Measure, find_measure
from .partial import partial_correlation
from .presence import presence
from .table import Table

#: How each of some attributes is distorted, None where not each by itself.
Distortions = Callable[[Sequence[str], Sequence[int | None]], tuple[Distortion, ...] | None]

#: What does not grow: the measure itself, its size, or its distance from 1.
_SIZES = {
    "partial_correlation": "its size",
    "phi": "its size",
    "risk_difference": "its size",
    "column_risk_difference": "its size",
    "piatetsky_shapiro": "its size",
    "certainty": "its size",
    "added_value": "its size",
    "kappa": "its size",
    "odds_ratio": "its distance from 1",
    "interest": "its distance from 1",
    "conviction": "its distance from 1",
    "collective_strength": "its distance from 1",
}

_WITH_ANY_MATRIX = ("phi", "risk_difference", "column_risk_difference", "piatetsky_shapiro")
_WHERE_MOSTLY_KEPT = (
    "certainty",
    "added_value",
    "kappa",
    "odds_ratio",
    "interest",
    "conviction",
    "collective_strength",
    "j_measure",
)
_DIVERGENCES = ("chi_squared", "g_squared")

#: The attribute whose entropy or variation a measure is divided by.
_NORMALIZED_BY = {"mutual_information": 0, "uncertainty_coefficient": 1, "concentration": 1}

#: By measure, the only attribute of a pair that may be distorted for orders to be kept.
_ORDER_WITH_ONE = {
    "risk_difference": 1,
    "column_risk_difference": 0,
    "added_value": 1,
    "laplace": 1,
}


def randomized_table(
    reconstruction: Reconstruction, counts: Counts, attributes: Sequence[str]
) -> Table:
    """The table of the reports themselves, as if nothing had been distorted."""
    observed = reconstruction.randomized(counts, attributes)
    channel = UniformMixture(observed.shape, 1)
    return Table(ChannelTable(tuple(attributes), channel, observed, counts.reports))


def randomized_measures(
    schema: Schema,
    table: Table,
    distortions: Distortions,
    present: Mapping[str, str],
    names: Sequence[str] | None,
    confidence: float,
) -> list[RandomizedMeasure]:
    """Measures of the reports themselves, each with what holds of the answers.

    Parameters
    ----------
    schema : Schema
    table : Table
        Of two or more attributes, from :func:`randomized_table`.
    distortions : callable
        Which attributes are distorted, and in which way.
    present, names, confidence
        As for :func:`~halftruth_collector.estimation.delta_method.estimate_measures`.

    Raises
    ------
    ParameterError
        As there.
    """
    estimates = estimate_measures(schema, table, present, names, confidence, "population")
    codes = presence(schema, table.attributes, present)
    known = distortions(table.attributes, codes)
    result = []
    for estimate in estimates:
        measure = find_measure(estimate.name)
        shrinks = known is not None and never_grows(measure, known, table.support.shape)
        ordered = known is not None and keeps_order(measure, known)
        result.append(
            RandomizedMeasure(
                estimate=estimate,
                never_grows=shrinks,
                order_preserved=ordered,
                statement=_statement(estimate, known, shrinks, ordered),
            )
        )
    return result


def randomized_partial_correlation(
    schema: Schema,
    table: Table,
    distortions: Distortions,
    present: Mapping[str, str],
    confidence: float,
) -> RandomizedMeasure:
    """Partial correlation in the reports themselves, with what holds of the answers.

    Parameters
    ----------
    schema : Schema
    table : Table
        Of the two attributes and those given, from :func:`randomized_table`.
    distortions : callable
    present, confidence
        As for :func:`~halftruth_collector.estimation.partial.partial_correlation`.
    """
    estimate = partial_correlation(schema, table, present, confidence, "population")
    codes = presence(schema, table.attributes, present)
    known = distortions(table.attributes, codes)
    # Results 10, 11: what is conditioned on has to be true, and presence of its own kind.
    shrinks = known is not None and (
        not any(d.distorted for d in known[2:]) and all(d.presence for d in known[:2])
    )
    return RandomizedMeasure(
        estimate=estimate,
        never_grows=shrinks,
        order_preserved=known is not None and not any(d.distorted for d in known),
        statement=_statement(estimate, known, shrinks, False),
    )


def never_grows(measure: Measure, known: Sequence[Distortion], shape: tuple[int, ...]) -> bool:
    """Whether distortion can only bring this measure nearer to that of independence."""
    if not any(d.distorted for d in known):
        return True
    if measure.name in _DIVERGENCES:
        return True
    if measure.scope == "categories":
        normalizing = known[_NORMALIZED_BY[measure.name]]
        categories = shape[_NORMALIZED_BY[measure.name]]
        return normalizing.symmetric or not normalizing.distorted or categories == 2
    if len(known) != 2 or not all(d.presence for d in known):
        return False
    if measure.name in _WITH_ANY_MATRIX:
        return True
    return measure.name in _WHERE_MOSTLY_KEPT and all(d.mostly_kept for d in known)


def keeps_order(measure: Measure, known: Sequence[Distortion]) -> bool:
    """Whether pairs of attributes distorted like this pair keep the order of this measure."""
    if len(known) != 2 or measure.scope == "categories":
        return not any(d.distorted for d in known)
    if not any(d.distorted for d in known):
        return True
    if not all(d.presence for d in known):
        return False
    if measure.name == "piatetsky_shapiro":
        return True
    only = _ORDER_WITH_ONE.get(measure.name)
    if only is None or known[1 - only].distorted:
        return False
    return measure.name != "laplace" or (known[only].mostly_kept and known[only].warner)


def _statement(
    estimate: MeasureEstimate, known: Sequence[Distortion] | None, shrinks: bool, ordered: bool
) -> str:
    """What an analyst may conclude, in one sentence."""
    name = ALIASES.get(estimate.name, estimate.name)
    if estimate.undefined is not None:
        return "nothing can be concluded: it is undefined for the reports"
    if known is None:
        return (
            "nothing can be concluded: the mechanism changes whole records at once, so that even"
            " independent answers give dependent reports"
        )
    if not any(d.distorted for d in known):
        return "these attributes are sent as they are: this is the measure of the answers"
    parts = []
    if shrinks:
        parts.append(f"{_SIZES.get(name, 'it')} is at least as large for the answers")
    if ordered:
        by = "" if name == "laplace" else " by size"
        parts.append(f"pairs distorted alike are in the order that the answers have{by}")
    return "; ".join(parts) or "nothing can be concluded of the answers"
