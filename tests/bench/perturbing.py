"""Perturbing many records, and one, compared with two libraries of frequency oracles.

Both peers report one symbol by generalized randomized response, which over the cells of CENSUS is
the channel of the gamma-diagonal mechanism; the split questionnaire draws a view before its symbol.
The peers use a seeded generator, ours the operating system's randomness, and ours also splits and
reassembles records.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_shared import (
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
)
from measure import Comparison, by_turns
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient

EPSILON = math.log(19)
MECHANISMS = (
    GammaDiagonal(19),
    RandomizedGammaDiagonal(19, "1/2"),
    RandomizedResponse.for_amplification(SCHEMA, 19),
    SplitQuestionnaire.for_amplification(SCHEMA, 19, max_length=len(SCHEMA.names)),
)
#: By kind: target speed ratio for many records, and maximum time ratio for one.
MANY = {GammaDiagonal.kind: 10, SplitQuestionnaire.kind: 5}
ONE = {GammaDiagonal.kind: 15, SplitQuestionnaire.kind: 20}
CODES = census_codes()
CELLS = np.ravel_multi_index(tuple(CODES.T), SCHEMA.shape).tolist()


def many_records() -> Iterator[Comparison]:
    """Compare one call for all records with GRR_Client of multi-freq-ldpy."""
    for mechanism in MECHANISMS:
        yield Comparison(
            f"perturb_many, {mechanism.kind} : GRR_Client",
            *by_turns(
                partial(mechanism.bind(SCHEMA).reports, CODES),
                lambda: [GRR_Client(cell, SCHEMA.size, EPSILON) for cell in CELLS],
            ),
            lambda seconds: f"{len(CELLS) / seconds / 1e6:.2f} M records/s",
            speed=True,
            target=MANY.get(mechanism.kind),
        )


def one_record() -> Iterator[Comparison]:
    """Compare single records with DEClient of pure-ldp, whose values start at 1."""
    client = DEClient(epsilon=EPSILON, d=SCHEMA.size)
    records = [tuple(codes) for codes in CODES[::24].tolist()]
    values = [cell + 1 for cell in CELLS[::24]]
    for mechanism in MECHANISMS:
        perturb = mechanism.bind(SCHEMA).report
        yield Comparison(
            f"perturb, {mechanism.kind} : DEClient",
            *by_turns(
                lambda perturb=perturb: [perturb(record) for record in records],
                lambda: [client.privatise(value) for value in values],
            ),
            lambda seconds: f"{seconds / len(records) * 1e6:.2f} µs",
            speed=False,
            target=ONE.get(mechanism.kind),
        )
