"""A panel that answers questions like those of CENSUS in several waves, and its reports.

Between waves a tenth of the people are replaced, and in wave 3 the share of people who work 40 to
59 hours a week rises by 3 percentage points. One other answer falls by as much; nothing else
changes.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_shared import SplitQuestionnaire
from halftruth_shared.mechanisms.vectorized import draw_many

WAVES, PEOPLE, GAMMA = 4, 5_000, 19
MOVED = 0.03
#: Question that changes, the answer that falls, the answer that rises, and the wave.
HOURS, FROM, TO, WHEN = SCHEMA.names.index("hours-per-week"), 1, 2, 3
#: Share of the people who are replaced between waves.
RENEWED = 0.1


@cache
def everybody():
    return census_codes()


def margins(records):
    """Return the share of each answer, question by question."""
    return np.concatenate(
        [np.bincount(records[:, j], minlength=size) for j, size in enumerate(SCHEMA.shape)]
    ) / len(records)


@cache
def true_levels():
    """Return the population shares of all answers in each wave, shape (waves, answers)."""
    levels = np.tile(margins(everybody()), (WAVES, 1))
    first = sum(SCHEMA.shape[:HOURS])
    levels[WHEN - 1 :, first + FROM] -= MOVED
    levels[WHEN - 1 :, first + TO] += MOVED
    return levels


def lives(rng, people=PEOPLE):
    """Return records of the same people in all waves, shape (waves, people, questions)."""
    pool = everybody()
    moving = MOVED / np.mean(pool[:, HOURS] == FROM)

    def drawn(count, wave):
        fresh = pool[rng.integers(0, len(pool), count)].copy()
        return moved(fresh) if wave >= WHEN else fresh

    def moved(records):
        chosen = (records[:, HOURS] == FROM) & (rng.random(len(records)) < moving)
        records[chosen, HOURS] = TO
        return records

    records = [drawn(people, 1)]
    for wave in range(2, WAVES + 1):
        now = records[-1].copy()
        if wave == WHEN:
            now = moved(now)
        new = rng.random(people) < RENEWED
        now[new] = drawn(int(new.sum()), wave)
        records.append(now)
    return np.stack(records)


def design(gamma):
    """Return a split questionnaire for shares of single answers and of pairs."""
    return SplitQuestionnaire.designed(SCHEMA, str(gamma), (), {1: 1.0, 2: 1.0})


@dataclass(frozen=True)
class Sender:
    """Generates reports about given views, with the exact sampler's draws of symbols."""

    mechanism: SplitQuestionnaire

    @cached_property
    def views(self):
        return self.mechanism.bind(SCHEMA).views

    def draw_views(self, rng, count):
        weights = np.array([view.weight for view in self.views], float)
        return rng.choice(len(weights), count, p=weights / weights.sum())

    def cells(self, records, views):
        found = np.zeros(len(records), dtype=np.int64)
        for number, view in enumerate(self.views):
            rows = np.flatnonzero(views == number)
            own = tuple(records[rows, j] for j in view.positions)
            found[rows] = np.ravel_multi_index(own, view.shape)
        return found

    def reports(self, records, views, rng):
        found, cells = np.zeros(len(records), dtype=np.int64), self.cells(records, views)

        def draw(below, count):
            return rng.integers(0, below, count)

        for number, view in enumerate(self.views):
            rows = np.flatnonzero(views == number)
            if rows.size:
                answer = draw_many(view.response, cells[rows, None], draw)[:, 0]
                found[rows] = view.first + answer
        return found[:, None]

    def remembered(self, waves, rng):
        """RAPPOR's permanent response: repeat the first report until its cell changes."""
        views = self.draw_views(rng, waves.shape[1])
        sent = [self.reports(waves[0], views, rng)]
        cells = [self.cells(records, views) for records in waves]
        for (before, now), records in zip(pairwise(cells), waves[1:], strict=True):
            changed = before != now
            again = sent[-1].copy()
            again[changed] = self.reports(records, views, rng)[changed]
            sent.append(again)
        return sent
