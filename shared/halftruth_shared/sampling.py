"""Uniform random integers for many records, as arrays of machine words.

For a single record, randomness is a function ``randbelow(k)`` that returns a uniform integer below
k, so that a test can enumerate all outcomes. Both are unbiased: they use no floating point, and
words that are out of range are drawn again (rejection sampling).
"""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .responses import RandBelow

#: Largest number of equally likely outcomes of vectorized draws.
MAX_VECTOR_OUTCOMES = 2**62


class DrawBelow(Protocol):
    """Draw of N independent uniform integers below `outcomes`, as int64 of shape (N,)."""

    def __call__(self, outcomes: int, count: int) -> NDArray[np.int64]: ...


def draw_below_from_os(outcomes: int, count: int) -> NDArray[np.int64]:
    """Draw `count` integers below 1 to `MAX_VECTOR_OUTCOMES` from the system's randomness."""
    # Use 32-bit words if they suffice, since reading randomness takes most of the time.
    width = 32 if outcomes <= 2**24 else 64
    kind = np.dtype(f"u{width // 8}")
    # A word above the largest multiple of `outcomes` would favour small remainders.
    most = kind.type(2**width - 2**width % outcomes - 1)
    words = np.frombuffer(os.urandom(kind.itemsize * count), dtype=kind)
    rejected = np.flatnonzero(words > most)
    if rejected.size:
        words = words.copy()
    while rejected.size:
        words[rejected] = np.frombuffer(os.urandom(kind.itemsize * rejected.size), dtype=kind)
        rejected = rejected[words[rejected] > most]
    return np.asarray(words % kind.type(outcomes), dtype=np.int64)


def simulated_draw_below(rng: np.random.Generator) -> DrawBelow:
    """Return draws from a seeded generator, for simulations only."""

    def draw(outcomes: int, count: int) -> NDArray[np.int64]:
        return rng.integers(0, outcomes, size=count, dtype=np.int64)

    return draw


def simulated_randbelow(rng: np.random.Generator) -> RandBelow:
    """Return a seeded ``randbelow``, for simulations only."""

    def randbelow(outcomes: int) -> int:
        bits = outcomes.bit_length()
        count = (bits + 7) // 8
        while True:
            word = int.from_bytes(rng.bytes(count)) >> (8 * count - bits)
            if word < outcomes:
                return word

    return randbelow
