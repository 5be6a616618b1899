"""Association of every pair of attributes."""

from dataclasses import replace

from halftruth_shared.analyses.associations import AssociationsQuery, AssociationsResult
from halftruth_shared.analyses.charts import HeatMap
from halftruth_shared.analyses.wording import percent

from . import sentences
from .base import Analysis, Counted, asked


def compute(counted: Counted, query: AssociationsQuery) -> AssociationsResult:
    """Associations as ``Estimator.associations`` gives them."""
    associations = counted.estimator.associations(**asked(query))
    names = counted.estimator.schema.names if query.attributes is None else query.attributes
    return AssociationsResult(
        **counted.origin(), query=query, attributes=list(names), associations=associations
    )


def chart(result: AssociationsResult) -> HeatMap:
    """Heat map of the association of every ordered pair."""
    estimates = {(a.row, a.column): a for a in result.associations}
    names = tuple(result.attributes)
    cells = tuple(
        tuple(
            replace(sentences.drawn(f"{row} → {column}", estimates[row, column]), category=None)
            if row != column
            else None
            for column in names
        )
        for row in names
    )
    return HeatMap(
        title=f"What each attribute tells of the others in {result.survey}",
        notes=(
            *sentences.notes(result, [cell for row in cells for cell in row if cell]),
            *warnings(result),
            "Share by which the gini index of the column's attribute falls when the row's is"
            " known (concentration τ), without what chance adds.",
            "Pale with a dashed frame: not distinguishable from 0. About"
            f" {percent(1 - result.query.confidence)} of independent pairs would not be pale.",
        ),
        rows=names,
        columns=names,
        cells=cells,
    )


def warnings(result: AssociationsResult) -> list[str]:
    """Warn of associations that are too uncertain."""
    return sentences.too_uncertain(
        (f"{pair.row} → {pair.column}", pair) for pair in result.associations
    )


ANALYSIS = Analysis(
    query=AssociationsQuery,
    title="Associations",
    compute=compute,
    start=lambda _: AssociationsQuery(),
    grid=sentences.estimates_grid,
    chart=chart,
    warnings=warnings,
    together=2,
    place="Relate",
    order=45,
)
