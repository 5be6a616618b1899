"""Anatomy: separate tables of quasi-identifiers and sensitive values (Xiao & Tao 2006).

Each group consists of at least l people with different sensitive values. One table has the
quasi-identifiers and the group of every person, the other the sensitive values of each group, so
that the probability of a person's value is at most 1/l.
"""

from heapq import heapify, heappop, heappush

import numpy as np
import scipy
from halftruth_shared import ParameterError
from halftruth_shared.channels.axes import Array
from numpy.typing import NDArray


def anatomize(
    sensitive: NDArray[np.int64], diversity: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Assign people to groups of different sensitive values.

    As long as at least l values remain, the next group has one random person for each of the l most
    frequent remaining values; ties are broken at random. The other people are added to random
    groups without their value.

    Parameters
    ----------
    sensitive : ndarray of int, shape (N,)
        Sensitive value of each person.
    diversity : int
        l, at least 1.
    rng : Generator
        Seeded generator, for comparisons but not for a release.

    Returns
    -------
    ndarray of int, shape (N,)
        Number of each person's group.

    Raises
    ------
    ParameterError
        If more than 1/l of the people have the same value, so that no such groups exist.
    """
    people, most = len(sensitive), int(np.bincount(sensitive, minlength=1).max())
    if not 0 < most * diversity <= people:
        raise ParameterError(
            f"diversity: {most} of {people} people have the same sensitive value; expected at most"
            f" {people // max(most, 1)} for anatomy",
            field="diversity",
        )
    shuffled = rng.permutation(people)
    buckets = [shuffled[sensitive[shuffled] == v].tolist() for v in range(sensitive.max() + 1)]
    fullest = [
        (-len(bucket), rng.random(), value) for value, bucket in enumerate(buckets) if bucket
    ]
    heapify(fullest)
    groups, number = np.full(people, -1), 0
    while len(fullest) >= diversity:
        for size, _, value in [heappop(fullest) for _ in range(diversity)]:
            groups[buckets[value].pop()] = number
            if size < -1:
                heappush(fullest, (size + 1, rng.random(), value))
        number += 1
    for person in [person for bucket in buckets for person in bucket]:
        with_value = groups[sensitive == sensitive[person]]
        groups[person] = rng.choice(np.setdiff1d(np.arange(number), with_value))
    return groups


def anatomy_estimate(
    cells: NDArray[np.int64],
    sensitive: NDArray[np.int64],
    groups: NDArray[np.int64],
    shape: tuple[int, int],
) -> Array:
    """Estimate the joint table of quasi-identifiers and sensitive values.

    All values of a group are equally likely for its members: the share of a cell with value s is
    Σ_groups (people of the cell)·(share of s in the group).

    Parameters
    ----------
    cells, sensitive, groups : ndarray of int, shape (N,)
        Cell of the quasi-identifiers, sensitive value and group of each person.
    shape : tuple of int
        Number of cells, and of sensitive values.

    Returns
    -------
    ndarray of this shape
        Shares of all people.
    """
    (size, values), count = shape, groups.max() + 1
    quasi = scipy.sparse.csr_array((np.ones(len(cells)), (cells, groups)), shape=(size, count))
    shares = 1 / np.bincount(groups)[groups] / len(cells)
    held = scipy.sparse.csr_array((shares, (groups, sensitive)), shape=(count, values))
    return np.asarray((quasi @ held).todense())
