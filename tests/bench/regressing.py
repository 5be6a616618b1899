"""Regressions of reports, compared with statsmodels on the answers themselves.

A regression of sex on age and hours of work of the 48 842 people of CENSUS, from the unbiased table
of these three questions; every survey asks all people, so the truth is constant. And regressions by
one model of all answers in simulated populations in which a logistic equation holds (*main*), no
predictor has an effect (*null*), or two predictors interact, so that neither equation nor model
holds (*three*).

Usage: nice -n 19 .venv/bin/python tests/bench/regressing.py [SURVEYS [WORLD [SETTING,…]]].
"""

import sys
import time
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import statsmodels.api as sm
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.cli.output import print_table
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.equation import equation
from halftruth_collector.estimation.regression import Regression, fit_table
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    Mechanism,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.regression import RegressionQuery

GAMMA, SURVEYS = 19, 400
NAMES = ("age", "hours-per-week", "sex")
ASKED = Schema([SCHEMA.attributes[SCHEMA.position(name)] for name in NAMES])
PEOPLE = census_codes()[:, SCHEMA.positions(NAMES)]
MODEL = equation(
    ASKED,
    RegressionQuery(
        outcome="sex",
        predictors=NAMES[:2],
        present={"sex": "Male"},
        scores={"hours-per-week": "ranks"},
    ),
)
IS_MAN, COLUMNS = MODEL.outcome.scores, MODEL.predictors.everywhere().columns


def likeliest() -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of statsmodels and White's standard errors from the answers."""
    cells = np.ravel_multi_index(tuple(PEOPLE[:, :2].T), ASKED.shape[:2])
    fitted = sm.Logit(IS_MAN[PEOPLE[:, 2]], COLUMNS[cells]).fit(disp=0, tol=1e-12, cov_type="HC0")
    return fitted.params, fitted.bse * np.sqrt(len(PEOPLE) / (len(PEOPLE) - 1))


def fit(survey: Survey, records: np.ndarray, target: str) -> Regression:
    """Return the regression of these reports."""
    counts = Counts.from_reports(survey, records)
    return fit_table(Estimator(survey, counts, target=target).table(NAMES), MODEL)


def unperturbed() -> Regression:
    """Return the regression of unperturbed answers."""
    public = Schema([Attribute(a.name, a.categories, sensitive=False) for a in ASKED.attributes])
    survey = Survey("open", "Open", public, RandomizedResponse(dict.fromkeys(NAMES, 1)))
    return fit(survey, PEOPLE, "population")


def row(mechanism: Mechanism) -> list[str]:
    """Return mean and coverage over surveys of these people."""
    survey, fits = Survey("census", "CENSUS", ASKED, mechanism), []
    for seed in range(SURVEYS):
        reports = mechanism.bind(ASKED).reports(PEOPLE, np.random.default_rng(seed))
        fits.append(fit(survey, reports, "respondents"))
    fits = [found for found in fits if found.undefined is None]
    if not fits:
        return [mechanism.kind, "0"]
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
    terms = [
        (term[0].category or term[0].attribute) if term else "intercept"
        for term in MODEL.predictors.terms
    ]
    rows = [["statsmodels", "", *(f"{coefficient:.3f}" for coefficient in truth)]]
    for mechanism in (
        SplitQuestionnaire.for_amplification(ASKED, GAMMA),
        GammaDiagonal(GAMMA),
        RandomizedResponse.for_amplification(ASKED, GAMMA),
    ):
        rows.append(row(mechanism))
    print_table(["mechanism", "fitted", *terms], rows)


#: Numbers of categories of the predictors and outcome, the mechanism, and the number of reports.
SETTINGS = (
    ((2, 2, 2), "randomized-response", 2_000),
    ((2, 2, 2), "split of pairs", 20_000),
    ((6, 6, 6), "gamma-diagonal", 20_000),
    ((6, 6, 2), "split of triples", 20_000),
    ((2, 2, 2, 2, 2), "split of pairs", 2_000),
    ((2, 2, 2, 6, 6), "randomized-response", 20_000),
    ((2,) * 8, "split of triples", 20_000),
    ((2, 2, 2, 2, 2, 2, 6, 6), "split of pairs", 20_000),
    # With an identified table of all answers, which corrected scores need.
    ((2, 3), "gamma-diagonal", 5_000),
    ((3, 3), "split of triples", 20_000),
    ((2, 3, 2), "gamma-diagonal", 20_000),
)


def mechanism_of(kind: str, schema: Schema) -> Mechanism:
    """Return the mechanism of a setting."""
    if kind == "gamma-diagonal":
        return GammaDiagonal(GAMMA)
    if kind == "randomized-response":
        return RandomizedResponse.for_amplification(schema, GAMMA)
    lengths = (1, 2) if kind == "split of pairs" else (1, 2, 3)
    return SplitQuestionnaire.designed(schema, GAMMA, (), dict.fromkeys(lengths, 1.0))


def population(sizes: tuple[int, ...], world: str) -> np.ndarray:
    """Return shares of pairwise dependent predictors and the outcome."""
    rng, codes = np.random.default_rng(3), np.indices(sizes)
    log = sum(np.linspace(0, -0.8, size)[each] for size, each in zip(sizes, codes, strict=True))
    for i, j in combinations(range(len(sizes)), 2):
        log = log + (0.5 * rng.standard_normal((sizes[i], sizes[j])))[codes[i], codes[j]]
    shares = np.exp(log) / np.exp(log).sum()
    logit = np.full(sizes, -0.4)
    if world != "null":
        for size, each in zip(sizes, codes, strict=True):
            signs = rng.choice([-1, 1], size - 1)
            logit = logit + np.append(0, signs * rng.uniform(0.2, 1.0, size - 1))[each]
        logit -= (shares * logit).sum() + 0.3
    if world == "three":
        logit += 1.5 * ((codes[0] > 0) & (codes[1] > 0)) - 0.7
    yes = 1 / (1 + np.exp(-logit))
    return np.stack([shares * (1 - yes), shares * yes], axis=-1)


def plain(sizes: tuple[int, ...], people: np.ndarray) -> np.ndarray:
    """Return coefficients and standard errors of statsmodels from a table of true answers."""
    codes = np.indices(sizes).reshape(len(sizes), -1)
    columns = [np.ones(codes.shape[1])]
    columns += [each == c for each, size in zip(codes, sizes, strict=True) for c in range(1, size)]
    yes_and_no = people.reshape(-1, 2)[:, ::-1]
    came = yes_and_no.sum(axis=1) > 0
    family = sm.families.Binomial()
    found = sm.GLM(yes_and_no[came], np.stack(columns, axis=1)[came], family=family).fit()
    return np.array([found.params, found.bse])


def print_setting(number: int, world: str, surveys: int) -> None:
    """Print coverage and half-width by estimate, and the rejection rate of 0."""
    sizes, kind, reports = SETTINGS[number]
    names = [f"x{j}" for j in range(len(sizes))]
    schema = Schema(
        [
            Attribute(name, [str(code) for code in range(size)])
            for name, size in zip([*names, "y"], (*sizes, 2), strict=True)
        ]
    )
    survey = Survey("s", "S", schema, mechanism_of(kind, schema))
    shares = population(sizes, world)
    truth, _ = plain(sizes, shares * 1e9)
    cells = np.indices(shares.shape).reshape(shares.ndim, -1).T
    found: dict[str, list[np.ndarray]] = {"model": [], "moment": [], "plain": []}
    started = time.process_time()
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        people = rng.choice(shares.size, reports, p=shares.ravel())
        counts = np.bincount(people, minlength=shares.size).reshape(shares.shape)
        found["plain"].append([*plain(sizes, counts), np.zeros(len(truth))])
        sent = survey.perturbation.reports(cells[people], rng)
        counted = AnalysisContext(
            survey, Counts.from_reports(survey, sent), datetime.now(UTC), min_reports=1
        )
        for estimate in ("model", *(["moment"] if number >= 8 else [])):
            query = RegressionQuery(outcome="y", predictors=names, estimate=estimate)
            result = answer(ANALYSES["regression"], counted, query)
            if "no coefficients" not in {each.code for each in result.caveats}:
                rows = [
                    (row.value, row.standard_error, row.p_value)
                    for row in result.rows
                    if row.quantity in ("intercept", "coefficient")
                ]
                found[estimate].append(np.array(rows, float).T)
    seconds = (time.process_time() - started) / surveys
    for estimate, each in found.items():
        if not each:
            continue
        values, errors, p = np.moveaxis(np.array(each)[:, :, 1:], 1, 0)
        covered = (np.abs(values - truth[1:]) < 1.96 * errors).mean(axis=0)
        rejected = (p < 0.05).mean() if estimate != "plain" else np.nan
        print(
            f"{world} {sizes} {kind} {reports}: {estimate}, {len(each)} of {surveys}:"
            f" {100 * covered.mean():.1f} % ({100 * covered.min():.0f} to"
            f" {100 * covered.max():.0f}), ±{np.median(1.96 * errors):.2f},"
            f" p < 5 % in {100 * rejected:.1f} %, {seconds:.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    given = sys.argv[3].split(",") if len(sys.argv) > 3 else range(len(SETTINGS))
    for place in given:
        wanted = sys.argv[2] if len(sys.argv) > 2 else "main"
        print_setting(int(place), wanted, int(sys.argv[1]) if len(sys.argv) > 1 else SURVEYS)
