"""People with known true answers, and simulated surveys of them under three mechanisms."""

import numpy as np
import pandas as pd
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.report_model import report_probabilities
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from sources import estimator_of

SCHEMA = Schema(
    (
        Attribute("sex", ("female", "male")),
        Attribute("vote", ("left", "right", "none")),
        Attribute("town", ("big", "small")),
    )
)
SURVEYS = {
    mechanism.kind: Survey("s", "S", SCHEMA, mechanism)
    for mechanism in (
        SplitQuestionnaire.designed(SCHEMA, "19", (), {1: 1.0, 2: 1.0, 3: 1.0}),
        RandomizedResponse({"sex": "0.9", "vote": "0.8", "town": "0.85"}),
        GammaDiagonal("19"),
    )
}


def people(count=3_000):
    """Return answers of `count` people, with votes that depend on the other answers."""
    rng = np.random.default_rng(2)
    sex, town = rng.random(count) < 0.4, rng.random(count) < 0.3
    vote = (rng.random(count) < 0.45 + 0.2 * sex + 0.25 * town) + (rng.random(count) < 0.2) * 1
    return answers(np.stack([sex, vote, town], axis=1))


def independent_people():
    """Return answers of 3 000 people in which the questions are exactly independent."""
    shares = np.multiply.outer(np.multiply.outer([0.6, 0.4], [0.5, 0.3, 0.2]), [0.7, 0.3])
    cells = np.stack(np.indices(SCHEMA.shape), axis=-1).reshape(-1, 3)
    return answers(np.repeat(cells, np.rint(3_000 * shares.ravel()).astype(int), axis=0))


def answers(codes, schema=SCHEMA):
    """Convert records of codes to a data frame of answers."""
    return pd.DataFrame(
        {
            attribute.name: pd.Categorical.from_codes(column, attribute.categories)
            for attribute, column in zip(schema.attributes, codes.T.astype(int), strict=True)
        }
    )


def codes_of(asked, schema=SCHEMA):
    """Convert a data frame of answers to rows of codes."""
    return np.stack([asked[name].cat.codes for name in schema.names], axis=1)


def estimators(survey, asked, surveys=400, target="population", seed=3):
    """Yield estimates of simulated surveys.

    For *population* each survey samples these people, for *respondents* it asks all of them.
    """
    rng = np.random.default_rng(seed)
    codes = codes_of(asked, survey.schema)
    for _ in range(surveys):
        sample = rng.choice(codes, len(codes)) if target == "population" else codes
        yield estimator_of(survey, sample, rng)


def drawn_counts(survey, shares, people, surveys, target="population", seed=3):
    """Return counts of simulated surveys, drawn from the report probabilities, and the truth.

    Parameters
    ----------
    survey : Survey
    shares : ndarray
        Share of each record, shape of the schema.

    Returns
    -------
    truth : ndarray
        `shares`, or for *respondents* those of the people who are the same in every survey.
    counts : iterator of Counts
    """
    rng = np.random.default_rng(seed)
    space = survey.report_space
    cells = np.stack(np.indices(space.shape), axis=-1).reshape(-1, len(space.shape))
    records = np.eye(shares.size).reshape(-1, *shares.shape)
    chances = np.stack(
        [report_probabilities(survey.perturbation, record).ravel() for record in records]
    )
    assert np.allclose(chances.sum(axis=1), 1)
    if target == "population":
        truth, found = shares, rng.multinomial(people, shares.ravel() @ chances, size=surveys)
    else:
        same = rng.multinomial(people, shares.ravel())
        truth = same.reshape(shares.shape) / people
        drawn = (rng.multinomial(n, p, size=surveys) for n, p in zip(same, chances, strict=True))
        found = sum(drawn)
    return truth, (Counts.from_cells(survey, cells[n > 0], n[n > 0]) for n in found)
