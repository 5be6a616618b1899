"""Ratios of the times of two programs, and how results are printed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from halftruth_collector.cli.output import print_table

Run = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Ours against a peer, in seconds; both at one position were timed one after the other.

    The ratio says how many times as fast ours is. Its median must be at least the target; None is
    for information.
    """

    name: str
    ours: list[float]
    peer: list[float]
    shown: Callable[[float], str]
    target: float | None = None

    @property
    def ratios(self) -> list[float]:
        return [peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)]

    @property
    def missed(self) -> bool:
        return self.target is not None and median(self.ratios) < self.target

    def row(self) -> list[str]:
        """The comparison in words, as a row of the table."""
        times = (self.shown(median(self.ours)), self.shown(median(self.peer)))
        ratios = (min(self.ratios), median(self.ratios), max(self.ratios))
        verdict = ["", ""]
        if self.target is not None:
            verdict = [f"≥ {self.target:g}", "NO" if self.missed else "yes"]
        return [self.name, *times, " / ".join(f"{ratio:.2f}" for ratio in ratios), *verdict]


@dataclass(frozen=True)
class Figure:
    """A number of milliseconds without a peer, and the most that it may be."""

    name: str
    milliseconds: float
    target: float

    @property
    def missed(self) -> bool:
        return self.milliseconds > self.target

    def row(self) -> list[str]:
        """The figure in words, as a row of the table."""
        verdict = "NO" if self.missed else "yes"
        return [self.name, f"{self.milliseconds:.3g}", f"≤ {self.target:g}", verdict]


def print_comparisons(comparisons: Sequence[Comparison], notes: Sequence[str]) -> None:
    """Print a table of comparisons, and what there is to say of them."""
    header = ["ours : peer", "ours", "peer", "ratio (min / median / max)", "target", "met"]
    print_table(header, [comparison.row() for comparison in comparisons])
    print("", *notes, "", sep="\n")


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print a table of figures."""
    print_table([title, "ms", "target", "met"], [figure.row() for figure in figures])


def seconds_of(run: Run) -> float:
    """How long one run takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
