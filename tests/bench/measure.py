"""Alternating timing of two programs, the ratio of their times, and printing of results."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from halftruth_collector.cli.output import print_table

Run = Callable[[], object]

#: Pairs of one run of ours and one of the peer's.
REPETITIONS = 21


@dataclass(frozen=True)
class Comparison:
    """Ours against a peer, in seconds; runs at the same position were timed one after the other.

    The ratio is one of speeds if `speed`, else of times. Its median must be at least, respectively
    at most, the target; without a target it is only informative.
    """

    name: str
    ours: list[float]
    peer: list[float]
    shown: Callable[[float], str]
    target: float | None = None
    speed: bool = True

    @property
    def ratios(self) -> list[float]:
        pairs = zip(self.ours, self.peer, strict=True)
        return [peer / ours if self.speed else ours / peer for ours, peer in pairs]

    @property
    def missed(self) -> bool:
        if self.target is None:
            return False
        ratio = median(self.ratios)
        return ratio < self.target if self.speed else ratio > self.target

    def row(self) -> list[str]:
        """The comparison as a row of the table."""
        times = (self.shown(median(self.ours)), self.shown(median(self.peer)))
        ratios = (min(self.ratios), median(self.ratios), max(self.ratios))
        verdict = ["", ""]
        if self.target is not None:
            bound = "≥" if self.speed else "≤"
            verdict = [f"{bound} {self.target:g}", _verdict(self.missed)]
        return [self.name, *times, " / ".join(f"{ratio:.2f}" for ratio in ratios), *verdict]


@dataclass(frozen=True)
class Figure:
    """A figure in milliseconds without a peer, and its upper limit."""

    name: str
    milliseconds: float
    target: float

    @property
    def missed(self) -> bool:
        return self.milliseconds > self.target

    def row(self) -> list[str]:
        """The figure as a row of the table."""
        return [self.name, f"{self.milliseconds:.3g}", f"≤ {self.target:g}", _verdict(self.missed)]


def _verdict(missed: bool) -> str:
    return "missed" if missed else "met"


def print_comparisons(comparisons: Sequence[Comparison], notes: Sequence[str]) -> None:
    """Print a table of comparisons, and notes."""
    header = ["ours : peer", "ours", "peer", "ratio (min / median / max)", "target", ""]
    print_table(header, [comparison.row() for comparison in comparisons])
    print("", *notes, "", sep="\n")


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print a table of figures."""
    print_table([title, "ms", "target", ""], [figure.row() for figure in figures])


def by_turns(
    ours: Run, peer: Run, repetitions: int = REPETITIONS
) -> tuple[list[float], list[float]]:
    """Time alternating runs, so that load affects both; the first pair is a warm-up."""
    gc.collect()
    gc.disable()
    pairs = [(seconds_of(ours), seconds_of(peer)) for _ in range(1 + repetitions)][1:]
    gc.enable()
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def seconds_of(run: Run) -> float:
    """Return the duration of one run."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
