"""Two programs timed by turns, and the ratio of their times."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

#: Pairs of one run of ours and one of the peer's.
REPETITIONS = 21

Run = Callable[[], object]


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
    speed: bool
    target: float | None = None

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
        bound = "≥" if self.speed else "≤"
        verdict = ["", ""]
        if self.target is not None:
            verdict = [f"{bound} {self.target:g}", "NO" if self.missed else "yes"]
        return [self.name, *times, " / ".join(f"{ratio:.2f}" for ratio in ratios), *verdict]


def by_turns(ours: Run, peer: Run) -> tuple[list[float], list[float]]:
    """Seconds of each, run by turns so that a busy machine slows both; the first pair warms up."""
    gc.collect()
    gc.disable()
    pairs = [(_seconds(ours), _seconds(peer)) for _ in range(1 + REPETITIONS)][1:]
    gc.enable()
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _seconds(run: Run) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
