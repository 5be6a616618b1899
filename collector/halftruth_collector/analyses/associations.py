"""Association of every pair of attributes."""

from dataclasses import replace

from halftruth_shared.analyses.associations import (
    Association,
    AssociationsQuery,
    AssociationsResult,
)
from halftruth_shared.analyses.charts import HeatMap
from halftruth_shared.analyses.wording import number, p_value, percent

from . import sentences
from .base import Analysis, Counted, Grid, asked


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
            replace(
                sentences.drawn(f"{row} → {column}", estimates[row, column]),
                doubtful=False,
                category=None if proven(result, estimates[row, column]) else "not proven",
            )
            if row != column
            else None
            for column in names
        )
        for row in names
    )
    return HeatMap(
        title=sentences.title(result, "Associations of all pairs"),
        notes=(
            *sentences.notes(result, [cell for row in cells for cell in row if cell]),
            *warnings(result),
            "Share by which the gini index of the column's attribute falls when the row's is"
            " known (concentration τ), without what chance adds.",
            f"Pale with a dashed frame: not proven. {_together(result)}",
        ),
        rows=names,
        columns=names,
        cells=cells,
    )


def proven(result: AssociationsResult, pair: Association) -> bool:
    """Return true if the association is significant, with all pairs taken together."""
    return pair.p_value is not None and pair.p_value < 1 - result.query.confidence


def strongest(result: AssociationsResult) -> list[Association]:
    """Each pair of questions once, as the one that tells more of the other; proven ones first.

    Those whose strength is not known come last of these, the clearest first.
    """
    larger: dict[frozenset[str], Association] = {}
    for pair in sorted(result.associations, key=lambda each: -(each.value or 0.0)):
        larger.setdefault(frozenset((pair.row, pair.column)), pair)

    def place(pair: Association) -> tuple[bool, float, float]:
        clear = 1.0 if pair.p_value is None else pair.p_value
        return not proven(result, pair), -(pair.value or 0.0), clear

    return sorted(larger.values(), key=place)


def grid(result: AssociationsResult) -> Grid:
    """Pairs of questions by the strength of their association, proven ones first."""
    level = sentences.level(result.query.confidence)
    return Grid(
        [
            "question",
            "tells of",
            "association",
            "share of it (τ)",
            level,
            "p-value of all pairs together",
        ],
        [
            [
                pair.row,
                pair.column,
                "proven" if proven(result, pair) else "not proven",
                pair.undefined or sentences.share_cells(pair)[0],
                sentences.share_cells(pair)[1],
                p_value(pair.p_value),
            ]
            for pair in strongest(result)
        ],
    )


def headline(result: AssociationsResult) -> str:
    """Number of significantly associated pairs, and the strongest one."""
    pairs = strongest(result)
    associated = [pair for pair in pairs if proven(result, pair)]
    if not associated:
        return f"No association was found among {number(len(pairs))} pairs of questions."
    first, one = associated[0], len(associated) == 1
    return (
        f"{number(len(associated))} of {number(len(pairs))} pairs of questions"
        f" {'is' if one else 'are'} proven to be associated, most"
        f" {'clearly' if first.value is None else 'strongly'}"
        f" {sentences.quoted(first.row)} and {sentences.quoted(first.column)}."
    )


def _together(result: AssociationsResult) -> str:
    return (
        f"The chance that any proven one is none is at most {percent(1 - result.query.confidence)}."
    )


def warnings(result: AssociationsResult) -> list[str]:
    """Warn of proven associations whose strength is too uncertain."""
    sure = [pair for pair in strongest(result) if proven(result, pair)]
    vague = sum(pair.reliability == "not usable" for pair in sure)
    if not vague:
        return []
    return [f"The strength of {number(vague)} of {number(len(sure))} proven ones is not usable."]


def interpretation(result: AssociationsResult) -> list[str]:
    """Describe what proven means."""
    return [f"{_together(result)} Others may be associated, too: perturbation hides what is weak."]


ANALYSIS = Analysis(
    query=AssociationsQuery,
    title="Associations",
    compute=compute,
    start=lambda _: AssociationsQuery(),
    grid=grid,
    headline=headline,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Relate",
    order=45,
)
