"""Enumeration of all random outcomes of a sampler."""

import math
from collections import defaultdict
from fractions import Fraction


def walked(sample):
    """Return the exact distribution of the result of ``sample(randbelow)``.

    Depth first over the tree of draws: each run replays the choices of `path` and takes the first
    branch of each draw beyond them.
    """
    distribution = defaultdict(Fraction)
    path = []
    while True:
        depth = 0

        def randbelow(outcomes):
            nonlocal depth
            if depth == len(path):
                assert type(outcomes) is int
                assert outcomes >= 1
                path.append([0, outcomes])
            choice, known = path[depth]
            assert outcomes == known
            depth += 1
            return choice

        result = sample(randbelow)
        assert depth == len(path)
        distribution[result] += Fraction(1, math.prod(outcomes for _, outcomes in path))
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return dict(distribution)
        path[-1][0] += 1
