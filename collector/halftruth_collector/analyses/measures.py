"""Association measures of two questions, and the map of all pairs."""

from itertools import chain, combinations
from typing import Any

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.results import (
    Block,
    EstimateColumns,
    Key,
    Labels,
    Result,
    Show,
    Texts,
    note,
)
from halftruth_shared.results.caveats import listed
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.quantities import quantity
from halftruth_shared.results.wording import number, percent

from ..estimation.answers import present_items
from ..estimation.association import (
    by_design,
    estimate_associations,
    estimate_measures,
    graded,
    rare_answers,
)
from ..estimation.estimator import Estimator
from ..estimation.measures import ALIASES, SCALE_NAMES, check_measures
from ..estimation.scales import are_scales, estimate_scales
from .base import Analysis, AnalysisContext
from .deciding import AtLevel, count_in_words, decide_rows, p_in_words, tested_by


def compute(counted: AnalysisContext, query: MeasuresQuery) -> Result[MeasuresQuery]:
    """Return measures of a table, or the map of the associations of all pairs."""
    estimator, names = counted.estimator, query.attributes
    if query.maps_pairs:
        names = list(estimator.schema.names) if names is None else names
        if not any(map(estimator.identified, combinations(names, 2))):
            raise ParameterError(
                "attributes: no report asks two of these together; expected others",
                field="attributes",
            )
        pairs = estimate_associations(estimator, names, query.confidence)
        caveats = [note("adjusted", rate=1 - query.confidence, what="pair")]
        if pairs.texts("quantity").equals("cramers_v").any():
            caveats.insert(0, note("cramers_v"))
        if pairs.texts("quantity").equals("polychoric").any():
            caveats.insert(0, note("polychoric"))
        rare = rare_answers(estimator, names)
        if rare:
            groups = [{name: group} for name in rare for group in rare[name]]
            caveats.insert(0, note("merged", groups=groups))
        linked = [pair for pair in combinations(names, 2) if by_design(estimator.schema, *pair)]
        if linked:
            caveats.append(note("by design", pairs=linked))
        every = [*combinations(names, 2)]
        asked_pairs = [place for place, pair in enumerate(every) if estimator.identified(pair)]
        if len(asked_pairs) < len(every):
            number_of = {"asked": len(asked_pairs), "possible": len(every)}
            caveats.insert(0, note("asked together", what="pairs", length=2, **number_of))
        keys = _keys([every[place] for place in asked_pairs])
        return counted.result(query, keys, pairs.take(asked_pairs), caveats=caveats)
    if names is None:
        raise ParameterError(
            "attributes: expected two or more, which the measures are of", field="attributes"
        )
    found = _of_table(estimator, names, query)
    present = present_items(estimator.schema, names, query.present)
    caveats = [note("presence", answers=present)] if present else []
    if set(SCALE_NAMES) & {*found.texts("quantity").levels}:
        caveats.append(note("polychoric"))
    if {"chi_squared", "g_squared"} & {*found.texts("quantity").levels}:
        caveats.append(note("association estimates"))
    # Measures of more than two attributes do not belong to a pair.
    pair = (names[0], names[1]) if len(names) == 2 else (None, None)
    return counted.result(query, _keys([pair] * len(found)), found, caveats=caveats)


def _of_table(estimator: Estimator, names: list[str], query: MeasuresQuery) -> EstimateColumns:
    """Return the requested measures of one table, in their order; by default all that apply."""
    check_measures([name for name in query.measures or () if name not in SCALE_NAMES])
    of_scales: tuple[str, ...] = SCALE_NAMES
    others: list[str] | None = None
    if query.measures is not None:
        others = [name for name in query.measures if name not in SCALE_NAMES]
        of_scales = tuple(name for name in query.measures if name in SCALE_NAMES)
    elif len(names) != 2 or not are_scales(estimator.survey.schema, names):
        of_scales = ()
    found = {}
    if others is None or others:
        table = estimator.table(names)
        measures = estimate_measures(estimator.schema, table, query.present, others)
        found = {each.of.name: graded(m, each, query.confidence) for m, each in measures}
    for name in of_scales:
        found[name] = estimate_scales(estimator, names, name).columns(query.confidence)
    return EstimateColumns.concatenate([found[name] for name in query.measures or found])


def _keys(pairs: list[Any]) -> list[Key]:
    return [
        Key(name=name, kind="question", values=Texts.of([pair[side] for pair in pairs]))
        for side, name in enumerate(("row", "column"))
    ]


def decide(result: Result[MeasuresQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which pairs of the map are associated; otherwise choose the first usable measure."""
    if not result.query.maps_pairs:
        known = np.flatnonzero(np.isfinite(result.estimates.value)).tolist()
        known = [row for row in known if result.rows[row].reliability != "not usable"] or known
        return [], [Claim(kind="estimate", rows=known[:1]) if known else Claim(kind="untested")]
    # Pairs that are associated by design are not tested.
    linked = [each.values["pairs"] for each in result.caveats if each.code == "by design"]
    untested = {tuple(pair) for pair in chain(*linked)}
    pairs = zip(*(key.values for key in result.keys), strict=True)
    places = [place for place, pair in enumerate(pairs) if pair not in untested]
    rate = 1 - result.query.confidence
    return decide_rows(
        result, at_level, "associated", places, name="score", rate=rate, candidates=len(places)
    )


def state(result: Result[MeasuresQuery], claim: Claim, labels: Labels) -> str:
    """State a measure, an associated pair, or the number of associated pairs."""
    if not result.query.maps_pairs:
        about = listed([labels.quoted(name) for name in result.query.attributes or ()])
        if claim.kind == "untested":
            return f"No measure of {about} is known."
        measure = result.rows[claim.rows[0]]
        return f"{about}: {quantity(measure.quantity).title} {in_words(measure)}."
    if claim.kind == "untested":
        return "No association can be tested with these reports."
    if claim.kind == "none found":
        return (
            f"No significant association among {number(claim.count or 0)} pairs of questions (false"
            f" discovery rate {percent(1 - result.query.confidence)})."
        )
    if claim.by_rate:
        return count_in_words(claim, "associations of pairs")
    pair = result.rows[claim.rows[0]]
    return (
        f"{labels.quoted(pair['row'])} and {labels.quoted(pair['column'])} are associated"
        f" ({p_in_words(tested_by(result, claim))})."
    )


#: Measures that are comparable on one axis, and their value at independence.
_SCALES: dict[str, tuple[float | None, tuple[str, ...]]] = {
    "Correlations and differences: at most 1, and 0 when independent": (
        0,
        (
            "phi",
            "kappa",
            "certainty",
            "added_value",
            "risk_difference",
            "column_risk_difference",
            "piatetsky_shapiro",
            "goodman_kruskal_gamma",
            "tau_b",
            "somers_d",
        ),
    ),
    "Ratios: 1 when independent": (
        1,
        ("odds_ratio", "interest", "conviction", "collective_strength"),
    ),
    "Overlap and confidence: no fixed value when independent": (
        None,
        ("jaccard", "cosine", "laplace"),
    ),
    "Information and explained variation: never negative in truth, and 0 when independent": (
        0,
        (
            "cramers_v",
            "mutual_information",
            "uncertainty_coefficient",
            "concentration",
            "j_measure",
        ),
    ),
    "Measures that grow with the number of reports (not tests)": (
        None,
        ("chi_squared", "g_squared"),
    ),
    "Standardized residual: 0 when independent; grows with the root of the reports": (
        0,
        ("standardized_residual",),
    ),
}


#: Measures of the map of pairs, with their labels and the titles of their blocks.
_MAPS = (
    (
        "polychoric",
        "correlation",
        "Associations of scales: polychoric correlation, from −1 to 1",
    ),
    (
        "cramers_v",
        "Cramér’s V",
        "Associations of {which} pairs: Cramér’s V, from 0 (none) to 1 (one answer determines the"
        " other)",
    ),
)


def layout(result: Result[Any], _: Labels) -> list[Block]:
    """Arrange the map of pairs, or the measures by the scales on which they can be compared."""
    if result.query.maps_pairs:
        parts = ["value", "interval", "adjusted_p_value"]
        known = result.estimates.texts("quantity").levels
        return [
            Block(
                title=title.format(which="other" if "polychoric" in known else "all"),
                lines=["row", "column"],
                shows=[Show(quantity=name, label=label, parts=parts)],
                picture="heat map",
                symmetric=True,
            )
            for name, label, title in _MAPS
            if name in known
        ]
    return by_scale(result)


def of_scales(result: Result[Any]) -> list[Block]:
    """Arrange the correlations of two scales with their tests; empty if there are none."""
    known = result.estimates.texts("quantity").levels
    parts = ["value", "interval", "p_value"]
    shows = [Show(quantity=name, parts=parts) for name in SCALE_NAMES if name in known]
    if not shows:
        return []
    return [
        Block(
            title="Correlation of two scales: from −1 to 1, and 0 when independent",
            shows=shows,
            stacked=True,
            picture="dots",
            reference=0,
            reference_label="independent",
        )
    ]


def by_scale(result: Result[Any]) -> list[Block]:
    """Arrange the measures of a result by the scales on which they can be compared."""
    known = result.estimates.texts("quantity").levels
    blocks = of_scales(result)
    for title, (independent, names) in _SCALES.items():
        shows = [Show(quantity=name) for name in known if ALIASES.get(name, name) in names]
        if shows:
            blocks.append(
                Block(
                    title=title,
                    shows=shows,
                    stacked=True,
                    picture="dots",
                    reference=independent,
                    reference_label="independent",
                )
            )
    return blocks


ANALYSIS = Analysis(
    query=MeasuresQuery,
    title="Measures of association",
    compute=compute,
    start=lambda _: MeasuresQuery(),
    layout=layout,
    decide=decide,
    state=state,
    min_order=2,
    place="Relate",
    order=45,
)
