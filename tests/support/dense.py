"""Exact matrices of mechanisms, written from the formulas; rows are reports, columns records."""

import math
from fractions import Fraction
from itertools import product


def cells(shape):
    """Return all records in row-major order."""
    return list(product(*map(range, shape)))


def gamma_diagonal(n, gamma, r=Fraction(0)):
    """FRAPP eq. 17, and eq. 25 for r ≠ 0."""
    x = 1 / (gamma + n - 1)
    off = x - r / (n - 1)
    return [[gamma * x + r if u == v else off for u in range(n)] for v in range(n)]


def randomized_response(size, p):
    """Keep an answer with probability p, else report each other one with q = (1−p)/(d−1)."""
    q = (1 - p) / (size - 1)
    return [[p if u == v else q for u in range(size)] for v in range(size)]


def kronecker(factors):
    """P_1 ⊗ … ⊗ P_M, entry by entry."""
    shape = [len(factor) for factor in factors]
    return [
        [
            math.prod((P[a][b] for P, a, b in zip(factors, v, u, strict=True)), start=Fraction(1))
            for u in cells(shape)
        ]
        for v in cells(shape)
    ]
