"""Two programs timed by turns, the ratio of their times, and how results are printed."""

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
    """Ours against a peer, in seconds; both at one position were timed one after the other.

    The ratio says how many times as fast ours is if `speed`, else how many times as long it takes.
    Its median must be at least, respectively at most, the target; None is for information.
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
        """The comparison in words, as a row of the table."""
        times = (self.shown(median(self.ours)), self.shown(median(self.peer)))
        ratios = (min(self.ratios), median(self.ratios), max(self.ratios))
        verdict = ["", ""]
        if self.target is not None:
            bound = "≥" if self.speed else "≤"
            verdict = [f"{bound} {self.target:g}", _verdict(self.missed)]
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
        return [self.name, f"{self.milliseconds:.3g}", f"≤ {self.target:g}", _verdict(self.missed)]


def _verdict(missed: bool) -> str:
    return "missed" if missed else "met"


def print_comparisons(comparisons: Sequence[Comparison], notes: Sequence[str]) -> None:
    """Print a table of comparisons, and what there is to say of them."""
    header = ["ours : peer", "ours", "peer", "ratio (min / median / max)", "target", ""]
    print_table(header, [comparison.row() for comparison in comparisons])
    print("", *notes, "", sep="\n")


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print a table of figures."""
    print_table([title, "ms", "target", ""], [figure.row() for figure in figures])


def by_turns(
    ours: Run, peer: Run, repetitions: int = REPETITIONS
) -> tuple[list[float], list[float]]:
    """Seconds of each, run by turns so that a busy machine slows both; the first pair warms up."""
    gc.collect()
    gc.disable()
    pairs = [(seconds_of(ours), seconds_of(peer)) for _ in range(1 + repetitions)][1:]
    gc.enable()
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def seconds_of(run: Run) -> float:
    """How long one run takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
