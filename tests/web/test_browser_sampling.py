"""The client's sampler in the browser, against the channel."""

from itertools import product

import numpy as np
import pytest
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from scipy.stats import chisquare

RECORDS = 20_000
SHAPE = (2, 3, 2)
SCHEMA = Schema(
    [
        Attribute(name, [f"{name}{code}" for code in range(size)])
        for name, size in zip("abc", SHAPE, strict=True)
    ]
)
TRUE = (1, 0, 1)

PERTURB = """
async ([url, id, record, count]) => {
  const { Client } = await import(url + "/js/index.js");
  const client = new Client(url, { maxGamma: 1000 });
  const survey = await client.survey(id);
  return Array.from({ length: count }, () => survey.perturb(record));
}
"""


def gamma_diagonal(gamma):
    """Distribution of the report of one record, from FRAPP eq. 17."""
    cells = int(np.prod(SHAPE))
    expected = np.full(SHAPE, 1 / (gamma + cells - 1))
    expected[TRUE] *= gamma
    return expected


def randomized_response(keep):
    """The same from Warner's model, attribute by attribute."""
    expected = np.ones(SHAPE)
    for report in product(*map(range, SHAPE)):
        for size, true, code in zip(SHAPE, TRUE, report, strict=True):
            expected[report] *= keep if code == true else (1 - keep) / (size - 1)
    return expected


MECHANISMS = {
    "gamma-diagonal": (GammaDiagonal("19/2"), gamma_diagonal(9.5)),
    "randomized-response": (
        RandomizedResponse(dict.fromkeys("abc", "0.7")),
        randomized_response(0.7),
    ),
}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_records_perturbed_in_the_browser_follow_the_channel(live, store, visit, kind):
    mechanism, expected = MECHANISMS[kind]
    store.surveys.publish(Survey("fit", "Fit", SCHEMA, mechanism))
    page = visit(live.url).page
    reports = np.array(page.evaluate(PERTURB, [live.url, "fit", SCHEMA.decode(TRUE), RECORDS]))
    counts = np.zeros(SHAPE)
    np.add.at(counts, tuple(reports.T), 1)
    # The browser's randomness has no seed: a false alarm in one of a million runs.
    assert chisquare(counts.ravel(), RECORDS * expected.ravel()).pvalue > 1e-6
