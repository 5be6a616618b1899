"""Simulated respondents of ``work.toml``: ``python simulate.py``, after it was published.

Nobody real answers here, so everything is drawn from one seed, and everybody who follows
docs/analysing.md sees the same numbers. Real answers are drawn by the system's randomness alone.
"""

import os
from uuid import UUID

import numpy as np
from halftruth_collector.collector_store import Store
from halftruth_shared import read_survey
from halftruth_shared.protocol.reports import Report

PEOPLE = 8_000
rng = np.random.default_rng(7)

# Few of the young answer; bullying is commonest in the workshop, and drives people away.
age = rng.choice(3, PEOPLE, p=[0.15, 0.45, 0.4])
team = np.where(rng.random(PEOPLE) < 0.5, 0, np.where(age == 0, 1, rng.choice([1, 2], PEOPLE)))
bullied = rng.random(PEOPLE) < np.array([0.08, 0.24, 0.10])[team]
leaving = rng.random(PEOPLE) < 0.15 + 0.35 * bullied + 0.10 * (age == 0)
answers = np.stack([age, team, bullied, leaving], axis=1).astype(np.int64)

survey = read_survey("work.toml")
reports = survey.perturbation.reports(answers, rng)
with Store(os.environ.get("HALFTRUTH_DATABASE", "sqlite:///halftruth.db")) as store:
    for start in range(0, PEOPLE, 1_000):
        batch = [
            Report(id=UUID(bytes=rng.bytes(16)), values=values)
            for values in reports[start : start + 1_000].tolist()
        ]
        store.reports.add(survey.id, survey.digest, batch)
print(f"{PEOPLE} simulated people answered")
