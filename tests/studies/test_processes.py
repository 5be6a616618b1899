"""Studies are worked out in several processes with the same results as in one."""

from fractions import Fraction

import numpy as np
from halftruth_collector.estimation import Counts
from halftruth_collector.executors import open_executor
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_studies.anonymization.comparison import CompareQuery, People, compare
from halftruth_studies.anonymization.hierarchies import hierarchy
from halftruth_studies.schemes.candidates import try_schemes
from halftruth_studies.schemes.experiment import Records

SCHEMA = Schema(
    [Attribute(name, list("abc")[:size]) for name, size in {"v": 2, "w": 2, "x": 3}.items()]
)
RECORDS = np.random.default_rng(5).integers(0, SCHEMA.shape, size=(3_000, 3))


def releases(map_pieces):
    people = np.zeros(SCHEMA.shape, dtype=np.int64)
    np.add.at(people, tuple(RECORDS.T), 1)
    query = CompareQuery(quasi=["v", "w"], sensitive="x", diversity=[2], repetitions=2)
    climbed = [hierarchy(attribute) for attribute in SCHEMA.attributes[:-1]]
    return compare(People(SCHEMA, people), query, climbed, map_pieces)


def schemes(map_pieces):
    truth = Counts.from_reports(Survey("x", "X", SCHEMA, GammaDiagonal("19")), RECORDS)
    records = Records.of(SCHEMA, truth, 0.05, 2)
    return try_schemes(records, Fraction(19), 1, steps=1, map_pieces=map_pieces)


def test_every_study_gives_the_same_numbers_in_processes():
    with open_executor(processes=2) as map_pieces:
        for study in (releases, schemes):
            assert study(map_pieces) == study(map)
