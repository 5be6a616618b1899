"""Entropy l-diversity by full-domain generalization, found by Incognito's search.

Every attribute of the quasi-identifier is generalized to one level of its hierarchy for all people
alike. Those who then look the same are a group, and a table is entropy l-diverse if the
sensitive values of every group have an entropy of at least ln l (Machanavajjhala et al. 2007, Def.
4.1). Entropy never falls when groups are merged, which is what the search lives on (LeFevre, DeWitt
& Ramakrishnan 2005): what generalizes a diverse table is diverse, and so is what leaves an
attribute out.
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

#: A level of each attribute, by its place in the hierarchy.
Levels = tuple[int, ...]

#: An entropy that is short of ln l by so much is short by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Generalization:
    """A generalized table, and what an analyst makes of it.

    Attributes
    ----------
    levels : tuple of int
        Of each attribute.
    minimal : tuple of tuple of int
        All minimal generalizations, of which this is one: none can be made finer anywhere.
    estimate : ndarray
        Estimated share of each cell of the original table, uniform within a group.
    """

    levels: Levels
    minimal: tuple[Levels, ...]
    estimate: Array


def generalize(
    table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], diversity: float
) -> Generalization:
    """The entropy l-diverse generalization under which the people are likeliest.

    Of all minimal generalizations it is the one whose estimate has the smallest Kullback-Leibler
    divergence from the original table. That makes it the best of all diverse ones by this
    measure, since an estimate that is uniform within larger groups never comes nearer.

    Parameters
    ----------
    table : ndarray of int
        Counts: one axis for each attribute of the quasi-identifier, the last for the sensitive.
    hierarchies : sequence of tuple of Level
        Of each attribute of the quasi-identifier.
    diversity : float
        l, at least 1.

    Raises
    ------
    ParameterError
        If not even everybody together is diverse.
    """
    minimal = minimal_generalizations(table, hierarchies, diversity)
    estimates = [_estimate(table, hierarchies, levels) for levels in minimal]
    likelihoods = [float(scipy.special.xlogy(table, estimate).sum()) for estimate in estimates]
    best = int(np.argmax(likelihoods))
    return Generalization(minimal[best], minimal, estimates[best])


def minimal_generalizations(
    table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], diversity: float
) -> tuple[Levels, ...]:
    """Incognito: every diverse generalization of which nothing finer is diverse, in order.

    Subsets of the attributes are searched before those that hold them, each lattice from the
    bottom up. Only what is diverse in all smaller subsets is looked at, and nothing above what was
    found to be diverse.

    Parameters
    ----------
    table, hierarchies, diversity
        As for :func:`generalize`.

    Raises
    ------
    ParameterError
        If not even everybody together is diverse.
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
    """Whether the sensitive values of every group with people have an entropy of at least ln l.

    Parameters
    ----------
    groups : ndarray of int, shape (…, sensitive values)
        Counts.
    """
    present = groups.sum(axis=-1) > 0
    return bool((entropies(groups)[present] >= math.log(diversity) - _ROUNDING).all())


def entropies(groups: NDArray[np.int64]) -> Array:
    """Entropy of the sensitive values of each group, in nats; 0 where there is nobody."""
    people = groups.sum(axis=-1, keepdims=True)
    return np.asarray(scipy.special.entr(groups / np.maximum(people, 1)).sum(axis=-1))


def grouped(
    table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], levels: Levels
) -> NDArray[np.int64]:
    """Counts of the groups of each attribute at its level, one axis for each as before."""
    for axis, (chosen, level) in enumerate(zip(hierarchies, levels, strict=True)):
        members = np.eye(len(chosen[level].names), dtype=np.int64)[list(chosen[level].group)]
        table = np.moveaxis(np.tensordot(table, members, axes=(axis, 0)), -1, axis)
    return table


def _estimate(table: NDArray[np.int64], hierarchies: Sequence[Hierarchy], levels: Levels) -> Array:
    """Share of each cell if every group is spread evenly over its cells."""
    groups = [
        np.array(chosen[level].group) for chosen, level in zip(hierarchies, levels, strict=True)
    ]
    sizes = reduce(np.multiply.outer, [np.bincount(group)[group] for group in groups])
    found = grouped(table, hierarchies, levels)[np.ix_(*groups)]
    return np.asarray(found / (sizes[..., None] * table.sum()))


def _finer(levels: Levels) -> list[Levels]:
    """What one attribute at the level below makes of it."""
    return [
        (*levels[:i], level - 1, *levels[i + 1 :]) for i, level in enumerate(levels) if level > 0
    ]
