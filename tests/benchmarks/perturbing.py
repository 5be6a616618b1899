"""Perturbing many records, and one, against two libraries of frequency oracles.

Both peers report one symbol by generalized randomized response, which over the cells of CENSUS is
the channel of the gamma-diagonal mechanism. Theirs draw from a seeded generator, ours from the
operating system's randomness, and ours takes records apart and puts them together again.
"""

import math
from collections.abc import Iterator

import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_shared import GammaDiagonal, RandomizedGammaDiagonal, RandomizedResponse
from measure import Comparison, by_turns
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient

GAMMA = 19
EPSILON = math.log(GAMMA)
MECHANISMS = (
    GammaDiagonal(GAMMA),
    RandomizedGammaDiagonal(GAMMA, "1/2"),
    RandomizedResponse.for_amplification(SCHEMA, GAMMA),
)
CODES = census_codes()
CELLS = np.ravel_multi_index(tuple(CODES.T), SCHEMA.shape).tolist()

#: Every how many-th person is perturbed one by one.
STEP = 24


def many_records() -> Iterator[Comparison]:
    """All records in one call, against GRR_Client of multi-freq-ldpy."""
    for mechanism in MECHANISMS:
        ours, peer = by_turns(
            lambda mechanism=mechanism: mechanism.perturb_many(SCHEMA, CODES),
            lambda: [GRR_Client(cell, SCHEMA.size, EPSILON) for cell in CELLS],
        )
        yield Comparison(
            f"perturb_many, {mechanism.kind} : GRR_Client",
            ours,
            peer,
            lambda seconds: f"{len(CELLS) / seconds / 1e6:.2f} M records/s",
            speed=True,
            target=10 if type(mechanism) is GammaDiagonal else None,
        )


def one_record() -> Iterator[Comparison]:
    """One record in a call, against DEClient of pure-ldp, whose values count from 1."""
    client = DEClient(epsilon=EPSILON, d=SCHEMA.size)
    records = [tuple(codes) for codes in CODES[::STEP].tolist()]
    values = [cell + 1 for cell in CELLS[::STEP]]
    for mechanism in MECHANISMS:
        ours, peer = by_turns(
            lambda mechanism=mechanism: [mechanism.perturb(SCHEMA, record) for record in records],
            lambda: [client.privatise(value) for value in values],
        )
        yield Comparison(
            f"perturb, {mechanism.kind} : DEClient",
            ours,
            peer,
            lambda seconds: f"{seconds / len(records) * 1e6:.2f} µs",
            speed=False,
            target=15 if type(mechanism) is GammaDiagonal else None,
        )
