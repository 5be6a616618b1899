"""Regressions of reports against statsmodels on the answers themselves.

Who is a man, by age and hours of work, of the 48 842 people of CENSUS, each asked these three
questions. They are asked anew in every survey, so the truth is the same.
"""

import numpy as np
import statsmodels.api as sm
from halftruth_collector.cli.output import print_table
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.equation import equation
from halftruth_collector.estimation.regression import Regression, fit_regression
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    Mechanism,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)

GAMMA, SURVEYS = 19, 400
NAMES = ("age", "hours-per-week", "sex")
ASKED = Schema([SCHEMA.attributes[SCHEMA.position(name)] for name in NAMES])
PEOPLE = census_codes()[:, SCHEMA.positions(NAMES)]
MODEL = equation(
    ASKED, "sex", NAMES[:2], present={"sex": "Male"}, scores={"hours-per-week": "ranks"}
)


def likeliest() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of statsmodels, and White's standard errors, from the answers."""
    cells = np.ravel_multi_index(tuple(PEOPLE[:, :2].T), ASKED.shape[:2])
    fitted = sm.Logit(MODEL.outcome_scores[PEOPLE[:, 2]], MODEL.design[cells]).fit(
        disp=0, tol=1e-12, cov_type="HC0"
    )
    return fitted.params, fitted.bse * np.sqrt(len(PEOPLE) / (len(PEOPLE) - 1))


def fit(survey: Survey, records: np.ndarray, target: str) -> Regression:
    """The regression of some reports."""
    table = Estimator(survey, Counts.from_reports(survey, records)).table(NAMES)
    return fit_regression(table, MODEL.design, MODEL.outcome_scores, "logistic", target)


def unperturbed() -> Regression:
    """The regression of answers as they are."""
    public = Schema([Attribute(a.name, a.categories, sensitive=False) for a in ASKED.attributes])
    survey = Survey("open", "Open", public, RandomizedResponse(dict.fromkeys(NAMES, 1)))
    return fit(survey, PEOPLE, "population")


def row(mechanism: Mechanism) -> list[str]:
    """Mean and coverage over surveys of these people."""
    survey, fits = Survey("census", "CENSUS", ASKED, mechanism), []
    for seed in range(SURVEYS):
        reports = mechanism.perturb_many(ASKED, PEOPLE, np.random.default_rng(seed))
        fits.append(fit(survey, reports, "respondents"))
    fits = [found for found in fits if found.undefined is None]
    truth, _ = likeliest()
    found = np.array([one.coefficients for one in fits])
    errors = np.array([one.standard_error for one in fits])
    covered = np.mean(np.abs(found - truth) < 1.96 * errors, axis=0)
    cells = [
        f"{mean:.3f} ±{error:.3f} {100 * share:.1f} %"
        for mean, error, share in zip(found.mean(0), np.median(errors, 0), covered, strict=True)
    ]
    return [mechanism.kind, str(len(fits)), *cells]


def print_regressions() -> None:
    """Print both comparisons."""
    truth, errors = likeliest()
    found = unperturbed()
    print(
        "Unperturbed, largest difference from statsmodels:"
        f" {np.abs(found.coefficients - truth).max():.1e} of coefficients,"
        f" {np.abs(found.standard_error / errors - 1).max():.1e} of standard errors."
    )
    print(f"Mean, standard error and coverage in {SURVEYS} surveys, γ = {GAMMA}:")
    terms = [term.category or term.attribute or "intercept" for term in MODEL.terms]
    rows = [["statsmodels", "", *(f"{coefficient:.3f}" for coefficient in truth)]]
    for mechanism in (
        SplitQuestionnaire.for_amplification(ASKED, GAMMA),
        GammaDiagonal(GAMMA),
        RandomizedResponse.for_amplification(ASKED, GAMMA),
    ):
        rows.append(row(mechanism))
    print_table(["mechanism", "fitted", *terms], rows)
