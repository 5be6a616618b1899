"""FRAPP's comparison of schemes on CENSUS, once more, compared with mechanisms of halftruth."""

import math
from dataclasses import replace
from fractions import Fraction

from halftruth_collector.demo.census import SCHEMA, census_counts
from halftruth_shared import GammaDiagonal, Survey
from halftruth_shared.results.wording import number, percent
from halftruth_studies.schemes.baskets import BasketScheme
from halftruth_studies.schemes.candidates import candidates, make_basket_scheme, try_schemes
from halftruth_studies.schemes.charts import RIVAL_CHARTS, RIVAL_MEASURES, RivalMeasure
from halftruth_studies.schemes.cut_and_paste import CutAndPaste
from halftruth_studies.schemes.experiment import Records, errors_of
from halftruth_studies.schemes.health import HEALTH
from halftruth_studies.schemes.mask import Mask
from halftruth_studies.schemes.results import LengthErrors
from page import Page

GAMMA, MIN_SUPPORT = Fraction(19), 0.02
#: Simulated surveys with each scheme, without levels, and with RAN-GD for each α.
SURVEYS, SURVEYS_BY_THEMSELVES, SURVEYS_OF_ALPHA, STEPS = 12, 5, 40, 8
PUBLISHED = CutAndPaste(3, Fraction("0.494"))

#: What FRAPP prints of its extract of CENSUS.
FREQUENT = (19, 102, 203, 165, 64, 10)


def study(page: Page) -> None:
    """Fill the page."""
    records = Records.of(SCHEMA, census_counts(), MIN_SUPPORT)
    result = try_schemes(
        records,
        GAMMA,
        SURVEYS,
        others={"cut-and-paste, as published": make_basket_scheme(records, PUBLISHED)},
        surveys_of_alpha=SURVEYS_OF_ALPHA,
        steps=STEPS,
    )
    _parameters(page)
    _health(page)
    lengths = [str(length) for length in records.lengths]
    frequent = [errors.frequent for errors in result.schemes[0].lengths]
    page.table("frequent", ["length", *lengths], [["FRAPP", *FREQUENT], ["this file", *frequent]])
    for name, chart in RIVAL_CHARTS.items():
        page.figure(name, chart(result))
    for name, measure in RIVAL_MEASURES.items():
        rows = [
            [scheme.scheme, *(_written(measure, of) for of in scheme.lengths)]
            for scheme in result.schemes
        ]
        page.table(f"{name}-table", ["scheme", *lengths], rows)
    by_itself, (schemes, _) = replace(records, levels=False), candidates(records, GAMMA)
    rows = []
    for name in ("gamma-diagonal", "MASK", "randomized response", "split questionnaire"):
        errors = errors_of(name, schemes[name], by_itself, SURVEYS_BY_THEMSELVES)[0].lengths
        rows.append([f"{name}, σ⁻", *(percent(of.false_negatives, 0) for of in errors)])
        rows.append([f"{name}, σ⁺", *(percent(of.false_positives, 0) for of in errors)])
    page.table("no-levels", ["scheme", *lengths], rows)
    page.table(
        "randomization-table",
        ["α", "posterior", *(f"length {length}" for length in lengths)],
        [
            [
                number(point.alpha),
                f"{percent(point.lower, 0)} to {percent(point.upper, 0)}",
                *(percent(errors.root_mean_square, 2) for errors in point.errors.lengths),
            ]
            for point in result.randomized
        ],
    )


def _parameters(page: Page) -> None:
    mask, extended = Mask.for_amplification(SCHEMA, GAMMA), Mask.extended(SCHEMA, GAMMA)
    cut = {"cut-and-paste, as published": PUBLISHED}
    for cutoff in (3, 6):
        cut[f"cut-and-paste, K = {cutoff}"] = CutAndPaste.for_amplification(SCHEMA, GAMMA, cutoff)
    kept = f"p = {float(extended.ones):.4f} of a 1, {float(extended.zeros):.4f} of a 0"
    rows: list[tuple[str, str, BasketScheme]] = [
        ("MASK", f"p = {float(mask.ones):.4f}", mask),
        ("EMASK", kept, extended),
        *(
            (name, f"K = {scheme.cutoff}, ρ = {float(scheme.rate):.4f}", scheme)
            for name, scheme in cut.items()
        ),
    ]
    page.table(
        "parameters",
        ["scheme", "parameters", "amplification"],
        [
            [name, parameters, f"{float(scheme.amplification(SCHEMA)):.3f}"]
            for name, parameters, scheme in rows
        ],
    )


def _health(page: Page) -> None:
    """Condition numbers of HEALTH, which need its schema alone."""
    attributes = len(HEALTH.shape)
    perturbation = Survey("health", "HEALTH", HEALTH, GammaDiagonal(GAMMA)).perturbation
    lengths = range(1, attributes + 1)
    channels = (perturbation.channel(HEALTH.names[:length]) for length in lengths)
    schemes: dict[str, BasketScheme] = {
        "MASK": Mask.for_amplification(HEALTH, GAMMA),
        "cut-and-paste, as published": PUBLISHED,
        "cut-and-paste, K = 7": CutAndPaste.for_amplification(HEALTH, GAMMA, attributes),
    }
    rows = [
        ["gamma-diagonal", *(number(c.condition_number, 1) for c in channels if c is not None)],
        *(
            [name, *(_condition(scheme, length) for length in lengths)]
            for name, scheme in schemes.items()
        ),
    ]
    page.table("health", ["scheme", *map(str, lengths)], rows)


def _condition(scheme: BasketScheme, length: int) -> str:
    value = scheme.condition_number(len(HEALTH.shape), length)
    return number(value, 0) if math.isfinite(value) else "–"


def _written(measure: RivalMeasure, errors: LengthErrors) -> str:
    value = measure.of(errors)
    if value is None:
        return "–"
    places = 0 if value > 1 else 2
    return percent(value, places) if measure.axis.shares else number(value, places)
