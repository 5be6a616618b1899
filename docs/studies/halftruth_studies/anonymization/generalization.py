"""Entropy l-diversity by full-domain generalization, found by Incognito's search.

Every quasi-identifier is generalized to one level of its hierarchy for all people. People with the
same generalized values are a group, and a table is entropy l-diverse if the sensitive values of
every group have an entropy of at least ln l (Machanavajjhala et al. 2007, Def. 4.1). The search
relies on the fact that merging groups does not reduce the smallest entropy (LeFevre, DeWitt &
Ramakrishnan 2005): a generalization of a diverse table is diverse, and so is a diverse table
without one of its attributes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product

import numpy as np
import scipy
from halftruth_shared import ParameterError
from halftruth_shared.channels.axes import Array
from numpy.typing import NDArray

from .hierarchies import Hierarchy

#: A level of each attribute, as its index in the hierarchy.
Levels = tuple[int, ...]

#: Tolerance for rounding of entropies below ln l.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Generalization:
    """A generalized table, and the estimate from it.

    Attributes
    ----------
    levels : tuple of int
        Level of each attribute.
    minimal : tuple of tuple of int
        All minimal generalizations, including this one: no attribute of them can be made finer.
    estimate : ndarray
        Estimated share of each cell of the original table, uniform within a group.
    """

    levels: Levels
    minimal: tuple[Levels, ...]
    estimate: Array


def generalize(
    table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], diversity: float
) -> Generalization:
    """Find the entropy l-diverse generalization with the largest likelihood of the people.

    Its estimate has the smallest Kullback-Leibler divergence from the original table of all minimal
    generalizations, and so of all diverse ones, since a uniform estimate within larger groups does
    not have a smaller divergence.

    Parameters
    ----------
    table : ndarray of int
        Counts, with an axis for each quasi-identifier and the last for the sensitive attribute.
    hierarchies : sequence of tuple of Level
        Hierarchy of each quasi-identifier.
    diversity : float
        l, at least 1.

    Raises
    ------
    ParameterError
        If the group of all people is not diverse.
    """
    minimal = minimal_generalizations(table, hierarchies, diversity)
    estimates = [_estimate(table, hierarchies, levels) for levels in minimal]
    likelihoods = [float(scipy.special.xlogy(table, estimate).sum()) for estimate in estimates]
    best = int(np.argmax(likelihoods))
    return Generalization(minimal[best], minimal, estimates[best])


def minimal_generalizations(
    table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], diversity: float
) -> tuple[Levels, ...]:
    """List all minimal diverse generalizations in order, by the Incognito algorithm.

    Subsets of the attributes are searched in order of size, each lattice from the bottom up.
    Generalizations are tested only if they are diverse in all smaller subsets and no finer one is
    diverse.

    Parameters
    ----------
    table, hierarchies, diversity
        As for :func:`generalize`.

    Raises
    ------
    ParameterError
        If the group of all people is not diverse.
    """
    everybody = float(entropies(table.sum(axis=tuple(range(table.ndim - 1)))))
    if everybody < math.log(diversity) - _ROUNDING:
        raise ParameterError(
            f"diversity: the sensitive values of everybody together have an entropy of"
            f" ln {math.exp(everybody):.4g}; expected at most that many",
            field="diversity",
        )
    axes = range(len(hierarchies))
    diverse: dict[tuple[int, ...], set[Levels]] = {(): {()}}
    for size in range(1, len(hierarchies) + 1):
        for subset in combinations(axes, size):
            others = tuple(axis for axis in axes if axis not in subset)
            chosen = [hierarchies[axis] for axis in subset]
            margin, found = table.sum(axis=others), set[Levels]()
            for levels in sorted(product(*(range(len(h)) for h in chosen)), key=sum):
                if any(
                    levels[:i] + levels[i + 1 :] not in diverse[subset[:i] + subset[i + 1 :]]
                    for i in range(size)
                ):
                    continue
                if any(finer in found for finer in _finer(levels)) or is_diverse(
                    grouped(margin, chosen, levels), diversity
                ):
                    found.add(levels)
            diverse[subset] = found
    whole = diverse[tuple(axes)]
    return tuple(sorted(n for n in whole if not any(finer in whole for finer in _finer(n))))


def is_diverse(groups: NDArray[np.int64], diversity: float) -> bool:
    """Check that the sensitive values of every non-empty group have an entropy of at least ln l.

    Parameters
    ----------
    groups : ndarray of int, shape (…, sensitive values)
        Counts.
    """
    present = groups.sum(axis=-1) > 0
    return bool((entropies(groups)[present] >= math.log(diversity) - _ROUNDING).all())


def entropies(groups: NDArray[np.int64]) -> Array:
    """Compute the entropy of the sensitive values of each group, in nats; 0 if it is empty."""
    people = groups.sum(axis=-1, keepdims=True)
    return np.asarray(scipy.special.entr(groups / np.maximum(people, 1)).sum(axis=-1))


def grouped(
    table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], levels: Levels
) -> NDArray[np.int64]:
    """Aggregate a table of counts to the groups of each attribute at its level."""
    for axis, (chosen, level) in enumerate(zip(hierarchies, levels, strict=True)):
        members = np.eye(len(chosen[level].names), dtype=np.int64)[list(chosen[level].group)]
        table = np.moveaxis(np.tensordot(table, members, axes=(axis, 0)), -1, axis)
    return table


def _estimate(table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], levels: Levels) -> Array:
    """Estimate the share of each cell, uniform within a group."""
    groups = [
        np.array(chosen[level].group) for chosen, level in zip(hierarchies, levels, strict=True)
    ]
    sizes = reduce(np.multiply.outer, [np.bincount(group)[group] for group in groups])
    counts = grouped(table, hierarchies, levels)[np.ix_(*groups)]
    return np.asarray(counts / (sizes[..., None] * table.sum()))


def _finer(levels: Levels) -> list[Levels]:
    """Return the generalizations with one attribute at the next finer level."""
    return [
        (*levels[:i], level - 1, *levels[i + 1 :]) for i, level in enumerate(levels) if level > 0
    ]
