"""Precision of changes over four waves: a series, new people, one shared γ, and memoization.

Usage: PYTHONPATH=tests/support .venv/bin/python tests/bench/panels.py [PANELS]. Half-widths of 95 %
intervals in percentage points, as 1.96 root mean square errors over all answers.
"""

import sys

import numpy as np
from census_waves import GAMMA, SCHEMA, WAVES, Sender, design, lives, true_levels
from halftruth_collector.cli.output import print_table
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import Survey

TIME = np.arange(WAVES) - (WAVES - 1) / 2


def of_the_same(sender, waves, rng):
    """Return reports of the same people in each wave."""
    return [sender.reports(each, sender.draw_views(rng, len(each)), rng) for each in waves]


def of_others(sender, waves, rng):
    """Return reports of other people in each wave."""
    fresh = [lives(rng)[wave] for wave in range(WAVES)]
    return [sender.reports(each, sender.draw_views(rng, len(each)), rng) for each in fresh]


def memoized(sender, waves, rng):
    """Return reports that are repeated until their cell changes."""
    return sender.remembered(waves, rng)


def half_widths(gamma, send, panels):
    """Return the half-widths of levels, changes and trends in percentage points."""
    mechanism, truth = design(gamma), true_levels()
    survey, sender = Survey("panel", "Panel", SCHEMA, mechanism), Sender(mechanism)
    errors = []
    for seed in range(panels):
        rng = np.random.default_rng(seed)
        sent = send(sender, lives(rng), rng)
        found = [Estimator(survey, Counts.from_reports(survey, each)) for each in sent]
        shares = [[each.table([name]).value for name in SCHEMA.names] for each in found]
        errors.append(np.array([np.concatenate(each) for each in shares]) - truth)
    level = np.array(errors)
    slope = np.einsum("t,ptc->pc", TIME, level) / (TIME**2).sum()
    return [
        f"{196 * np.sqrt((error**2).mean()):.1f}"
        for error in (level, np.diff(level, axis=1), slope)
    ]


def main(panels):
    fourth = f"{int(1000 * GAMMA ** (1 / WAVES))}/1000"
    rows = [
        ["a series of four waves", GAMMA, of_the_same],
        ["other people in each wave", GAMMA, of_others],
        ["a series with the γ of one survey in all", fourth, of_the_same],
        ["memoization of one report with the γ of one survey", GAMMA, memoized],
        ["memoization of one report with the whole total", GAMMA**WAVES, memoized],
    ]
    print_table(
        ["", "level", "change", "trend, per wave"],
        [[name, *half_widths(gamma, send, panels)] for name, gamma, send in rows],
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
