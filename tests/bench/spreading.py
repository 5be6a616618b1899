"""All pairs and triples of forty questions, here, in two processes and on a cluster of two."""

import sys
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.every_table import every_table
from halftruth_collector.executors import Map, open_executor
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from measure import Comparison, by_turns

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from clusters import started

QUESTIONS, CATEGORIES, REPORTS = 40, 4, 200_000
REPETITIONS = 3


def counted() -> tuple[Survey, Counts]:
    """A simulated survey of many questions."""
    names = [f"q{number}" for number in range(1, QUESTIONS + 1)]
    schema = Schema([Attribute(name, list("abcdefgh")[:CATEGORIES]) for name in names])
    mechanism = SplitQuestionnaire.designed(schema, "19", (), {1: 1.0, 2: 1.0, 3: 1.0})
    survey = Survey("many", "Many questions", schema, mechanism)
    rng = np.random.default_rng(1)
    records = rng.integers(0, CATEGORIES, size=(REPORTS, QUESTIONS))
    return survey, Counts.from_reports(survey, mechanism.perturb_many(schema, records, rng))


def every(survey: Survey, counts: Counts, map_pieces: Map) -> None:
    """Estimate all of them, and keep none."""
    deque(every_table(survey, counts, [2, 3], map_pieces=map_pieces), maxlen=0)


def tables() -> Iterator[Comparison]:
    """Two workers against one."""
    survey, counts = counted()
    with TemporaryDirectory() as folder, started(Path(folder), workers=2) as cluster:
        for name, places in (
            ("two processes", {"processes": 2}),
            ("two workers of a cluster", {"scheduler": cluster.scheduler}),
        ):
            with open_executor(**places) as map_pieces:
                yield Comparison(
                    f"all pairs and triples of {QUESTIONS} questions, {name} : one process",
                    *by_turns(
                        partial(every, survey, counts, map_pieces),
                        partial(every, survey, counts, map),
                        REPETITIONS,
                    ),
                    lambda seconds: f"{seconds:.1f} s",
                    speed=True,
                    target=1.6,
                )
