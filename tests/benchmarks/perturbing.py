"""Perturbing many records, and one, against two libraries of frequency oracles.

Both peers report one symbol by generalized randomized response, which over the cells of CENSUS is
the channel of the gamma-diagonal mechanism. Theirs draw from a seeded generator, ours from the
operating system's randomness, and ours takes records apart and puts them together again.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_shared import GammaDiagonal, RandomizedGammaDiagonal, RandomizedResponse
from measure import Comparison, by_turns
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient

EPSILON = math.log(19)
#: The first has the peers' channel, and so the targets.
MECHANISMS = (
    GammaDiagonal(19),
    RandomizedGammaDiagonal(19, "1/2"),
    RandomizedResponse.for_amplification(SCHEMA, 19),
)
CODES = census_codes()
CELLS = np.ravel_multi_index(tuple(CODES.T), SCHEMA.shape).tolist()


def many_records() -> Iterator[Comparison]:
    """All records in one call, against GRR_Client of multi-freq-ldpy."""
    for mechanism in MECHANISMS:
        yield Comparison(
            f"perturb_many, {mechanism.kind} : GRR_Client",
            *by_turns(
                partial(mechanism.perturb_many, SCHEMA, CODES),
                lambda: [GRR_Client(cell, SCHEMA.size, EPSILON) for cell in CELLS],
            ),
            lambda seconds: f"{len(CELLS) / seconds / 1e6:.2f} M records/s",
            speed=True,
            target=10 if mechanism is MECHANISMS[0] else None,
        )


def one_record() -> Iterator[Comparison]:
    """One record in a call, against DEClient of pure-ldp, whose values count from 1."""
    client = DEClient(epsilon=EPSILON, d=SCHEMA.size)
    records = [tuple(codes) for codes in CODES[::24].tolist()]
    values = [cell + 1 for cell in CELLS[::24]]
    for mechanism in MECHANISMS:
        yield Comparison(
            f"perturb, {mechanism.kind} : DEClient",
            *by_turns(
                lambda perturb=mechanism.perturb: [perturb(SCHEMA, record) for record in records],
                lambda: [client.privatise(value) for value in values],
            ),
            lambda seconds: f"{seconds / len(records) * 1e6:.2f} µs",
            speed=False,
            target=15 if mechanism is MECHANISMS[0] else None,
        )
