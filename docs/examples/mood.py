"""Simulated respondents of ``mood-1.toml`` to ``mood-3.toml``: ``python mood.py``.

The same people answer three times; nobody real does, so all is drawn from one seed.
"""

import os
from uuid import UUID

import numpy as np
from halftruth_collector.collector_store import Store
from halftruth_shared import read_survey
from halftruth_shared.protocol.reports import Report

PEOPLE = 6_000
rng = np.random.default_rng(11)

team = rng.choice(3, PEOPLE, p=[0.45, 0.35, 0.2])
sleep = rng.choice(3, PEOPLE, p=[0.25, 0.45, 0.3])
exhausted = rng.random(PEOPLE) < np.array([0.5, 0.3, 0.15])[sleep]
leaving = rng.random(PEOPLE) < 0.15

with Store(os.environ.get("HALFTRUTH_DATABASE", "sqlite:///halftruth.db")) as store:
    for wave in (1, 2, 3):
        if wave == 3:
            # Shifts became longer in the workshop.
            exhausted |= (team == 1) & (rng.random(PEOPLE) < 0.4)
        # Some change their minds, as always.
        other = rng.random(PEOPLE) < 0.1
        leaving[other] = rng.random(other.sum()) < 0.15
        answers = np.stack([team, sleep, exhausted, leaving], axis=1).astype(np.int64)
        survey = read_survey(f"mood-{wave}.toml")
        reports = survey.perturbation.reports(answers, rng).tolist()
        drawn = [Report(id=UUID(bytes=rng.bytes(16)), values=values) for values in reports]
        for start in range(0, PEOPLE, 1_000):
            store.reports.add(survey.id, survey.digest, drawn[start : start + 1_000])
print(f"{PEOPLE} simulated people answered three times")
