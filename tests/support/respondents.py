"""People whose true answers are at hand, and simulated surveys of them under three mechanisms."""

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
    """Answers of so many people, a column for each question; how they vote depends on the rest."""
    rng = np.random.default_rng(2)
    sex, town = rng.random(count) < 0.4, rng.random(count) < 0.3
    vote = (rng.random(count) < 0.45 + 0.2 * sex + 0.25 * town) + (rng.random(count) < 0.2) * 1
    return answers(np.stack([sex, vote, town], axis=1))


def independent_people():
    """Answers of 3 000 people of whom every combination has the product of its shares, exactly."""
    shares = np.multiply.outer(np.multiply.outer([0.6, 0.4], [0.5, 0.3, 0.2]), [0.7, 0.3])
    cells = np.stack(np.indices(SCHEMA.shape), axis=-1).reshape(-1, 3)
    return answers(np.repeat(cells, np.rint(3_000 * shares.ravel()).astype(int), axis=0))


def answers(codes, schema=SCHEMA):
    """Records of codes as a data frame of answers."""
    return pd.DataFrame(
        {
            attribute.name: pd.Categorical.from_codes(column, attribute.categories)
            for attribute, column in zip(schema.attributes, codes.T.astype(int), strict=True)
        }
    )


def codes_of(asked, schema=SCHEMA):
    """The same people as rows of codes."""
    return np.stack([asked[name].cat.codes for name in schema.names], axis=1)


def estimators(survey, asked, surveys=400, target="population", seed=3):
    """Estimates of simulated surveys.

    For *population* each is of as many people drawn from these, for *respondents* of these.
    """
    rng = np.random.default_rng(seed)
    codes = codes_of(asked, survey.schema)
    for _ in range(surveys):
        sample = rng.choice(codes, len(codes)) if target == "population" else codes
        yield estimator_of(survey, sample, rng)


def drawn_counts(survey, shares, people, surveys, target="population", seed=3):
    """Counts of simulated surveys, drawn from the probabilities of every report; and the truth.

    Parameters
    ----------
    survey : Survey
    shares : ndarray
        Of every record, shape of the schema.

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
