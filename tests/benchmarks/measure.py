"""Two programs timed by turns, and the ratio of their times."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

#: Pairs of one run of ours and one of the peer's.
REPETITIONS = 15


@dataclass(frozen=True)
class Comparison:
    """Ours against a peer, repetition by repetition.

    Attributes
    ----------
    name : str
    ours, peer : list of float
        Seconds; those at the same position were taken one after the other.
    shown : callable
        Writes seconds in the unit of this comparison.
    speed : bool
        Whether the ratio says how many times as fast ours is, instead of how many times as long
        it takes; the target is its least or largest value accordingly.
    target : float, optional
        Without one, the comparison is for information.
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
    def met(self) -> bool | None:
        """Whether the median ratio reaches the target; None without a target."""
        if self.target is None:
            return None
        ratio = median(self.ratios)
        return ratio >= self.target if self.speed else ratio <= self.target

    def row(self) -> list[str]:
        """The comparison in words, as a row of the table."""
        low, middle, high = min(self.ratios), median(self.ratios), max(self.ratios)
        return [
            self.name,
            self.shown(median(self.ours)),
            self.shown(median(self.peer)),
            f"{low:.2f} / {middle:.2f} / {high:.2f}",
            "" if self.target is None else f"{'≥' if self.speed else '≤'} {self.target:g}",
            {True: "yes", False: "NO", None: ""}[self.met],
        ]


def by_turns(
    ours: Callable[[], object], peer: Callable[[], object]
) -> tuple[list[float], list[float]]:
    """Seconds of each, run by turns so that a busy machine slows both; the first pair warms up."""
    pairs = [(_seconds(ours), _seconds(peer)) for _ in range(1 + REPETITIONS)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        run()
        return time.perf_counter() - started
    finally:
        gc.enable()
