"""Measures straight from randomized counts, and what they say of the answers (Guo ch. 4).

No parameter of the mechanism enters the numbers. What is claimed is about expected counts; the
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

from collections.abc import Mapping, Sequence

from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.answers import presence
from halftruth_collector.estimation.association import estimate_measures
from halftruth_collector.estimation.measures import Measure, find_measure
from halftruth_shared import EstimateError, UniformMixture
from halftruth_shared.analyses.base import MeasureEstimate
from halftruth_shared.mechanisms import TableEstimate
from halftruth_shared.mechanisms.records import ChannelTable, RecordReconstruction
from msgspec.structs import asdict

from .distortion import Distortion

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


class RandomizedMeasure(MeasureEstimate, frozen=True, kw_only=True):
    """Measure of the reports themselves, and its implications for the answers.

    `never_grows`: distortion can only have brought it nearer to its value at independence.
    `order_preserved`: pairs of attributes with equal distortion keep the order that they have among
    the answers.
    """

    never_grows: bool
    order_preserved: bool


def table_of_reports(estimator: Estimator, attributes: Sequence[str]) -> TableEstimate:
    """The table of the reports themselves, as if nothing had been distorted.

    Raises
    ------
    EstimateError
        If a report is no record, or estimates are within a domain: who is in it is known of answers
        alone.
    """
    tables = estimator.tables
    tables.check(attributes)
    if tables.restricted:
        field, none = ("where", "none") if tables.restriction.where else ("missing", "keep")
        raise EstimateError(
            f"{field}: who is in the group is known of answers, and not of single reports;"
            f" expected {none} where reports themselves are looked at",
            field=field,
        )
    observed = _of_records(estimator).randomized(tables.counts, attributes)
    channel = UniformMixture(observed.shape, 1)
    return ChannelTable(tuple(attributes), channel, observed, tables.counts.reports)


def _of_records(estimator: Estimator) -> RecordReconstruction:
    reconstruction = estimator.tables.reconstruction
    if not isinstance(reconstruction, RecordReconstruction):
        raise EstimateError(
            "survey: its reports are no records but symbols that stand for many of them, so that"
            " they have no table of their own; ask for a reconstructed one",
            field="survey",
        )
    return reconstruction


def distortions_of(
    estimator: Estimator, attributes: Sequence[str], categories: Sequence[int | None]
) -> tuple[Distortion, ...] | None:
    """Return the distortion of each of some attributes, None where not each by itself."""
    factors = _of_records(estimator).factors(attributes)
    if factors is None:
        return None
    pairs = zip(factors, categories, strict=True)
    return tuple([Distortion.by_matrix(factor.dense(), code) for factor, code in pairs])


def randomized_measures(
    estimator: Estimator,
    attributes: Sequence[str],
    present: Mapping[str, str] | None = None,
) -> list[RandomizedMeasure]:
    """Measures of the reports themselves, each with what holds of the answers (Guo ch. 4).

    Of the mechanism nothing is used but which attributes it distorts and how symmetrically.

    Parameters
    ----------
    attributes, present
        As of :meth:`Estimator.measures`.

    Raises
    ------
    ParameterError
        As there.
    EstimateError
        If a report is no record.
    """
    schema, table, present = (
        estimator.schema,
        table_of_reports(estimator, attributes),
        present or {},
    )
    estimates = estimate_measures(schema, table, present, None, 0.95, "population")
    known = distortions_of(estimator, attributes, presence(schema, attributes, present))
    result = []
    for estimate in estimates:
        measure = find_measure(estimate.name)
        shrinks = known is not None and never_grows(measure, known, table.support.shape)
        result.append(
            RandomizedMeasure(
                **asdict(estimate),
                never_grows=shrinks,
                order_preserved=known is not None and keeps_order(measure, known),
            )
        )
    return result


def correlation_given_others_never_grows(
    estimator: Estimator,
    attributes: Sequence[str],
    given: Sequence[str],
    present: Mapping[str, str] | None = None,
) -> bool:
    """Return whether distortion can only bring a correlation of two, given others, nearer to 0.

    What is conditioned on has to be true, and presence of each of the two distorted by a matrix of
    its own (Results 10, 11). Of a group nothing is known: who is in it, single reports do not tell.
    """
    names = [*attributes, *given]
    codes = presence(estimator.schema, names, present or {})
    known = distortions_of(estimator, names, codes)
    return (
        known is not None
        and not estimator.tables.restricted
        and not any(d.distorted for d in known[2:])
        and all(d.presence for d in known[:2])
    )


def never_grows(measure: Measure, known: Sequence[Distortion], shape: tuple[int, ...]) -> bool:
    """Return whether distortion can only bring this measure nearer to independence."""
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
    return measure.name in _WHERE_MOSTLY_KEPT and all(d.diagonally_dominant for d in known)


def keeps_order(measure: Measure, known: Sequence[Distortion]) -> bool:
    """Return whether pairs distorted like this one keep the order of this measure."""
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
    own = known[only]
    return measure.name != "laplace" or (own.diagonally_dominant and own.symmetric_binary)
