"""What a batch of shuffled reports hides, and what reports of a larger amplification show."""

from fractions import Fraction

import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_collector.estimation import Counts
from halftruth_shared import SplitQuestionnaire
from halftruth_shared.protocol.relay import Relay
from halftruth_shared.relayed import Relayed
from halftruth_shared.results.wording import number
from halftruth_studies.schemes.candidates import make_mechanism_scheme
from halftruth_studies.schemes.experiment import Records, errors_of
from page import Page

BATCHES, GAMMAS = (500, 1_000, 5_000, 40_000), (19, 50, 100, 330)
#: Simulated surveys of each number of people and γ.
SURVEYS = 4


def study(page: Page) -> None:
    """Fill the page."""
    rows, errors = [], []
    for batch in BATCHES:
        relay = Relay(
            url="https://relay.example.edu", key="1" * 64, sealing_key="2" * 64, batch=batch
        )
        for gamma in map(Fraction, GAMMAS):
            found = Relayed.of(relay, gamma)
            losses = found.losses
            figures = [number(x, 2) for x in (losses.epsilon, losses.tail, losses.local_epsilon)]
            of_hundred = [str(found.apart), str(found.together)]
            rows.append([number(batch), number(int(gamma)), *figures, *of_hundred])
            errors.append([number(batch), number(int(gamma)), *_errors(batch, gamma)])
    page.table(
        "bounds",
        ["n", "γ", "ε", "tail", "ln γ", "of 100, apart", "of 100, together"],
        rows,
    )
    page.table("census", ["n", "γ", *map(str, range(1, 7))], errors)


def _errors(people: int, gamma: Fraction) -> list[str]:
    """Root mean square errors on CENSUS by length, in percentage points."""
    cells, counts = np.unique(census_codes(people), axis=0, return_counts=True)
    truth = Counts(SCHEMA.names, SCHEMA.shape, cells, counts)
    records = Records.of(SCHEMA, truth, 0.02)
    views = dict.fromkeys(records.lengths, 1.0)
    scheme = make_mechanism_scheme(records, SplitQuestionnaire.designed(SCHEMA, gamma, (), views))
    [found] = errors_of("split questionnaire", scheme, records, SURVEYS)
    return [number(100 * (each.root_mean_square or 0), 2) for each in found.lengths]
