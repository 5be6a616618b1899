"""Classifiers learned from reconstructed tables (Guo Results 13, 14).

Neither the order of gini indices nor naive Bayes' posteriors survive distortion, so that learning
from the reports themselves would learn something else. These learn from an estimate of the whole
table inside the simplex, and say which of the cells they need are not known to be above 0.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.analyses.classifier import DecisionTree, Feature, NaiveBayes, TreeNode
from numpy.typing import NDArray

from .bounds import Array

#: Support of a table's cells, and lower ends of their intervals, for attributes in some order.
Tables = Callable[[Sequence[str]], tuple[Array, Array]]

#: p-value of a test that the classes do not differ by a feature, in a group with some answers.
PValue = Callable[[Items, str], float | None]

#: Level of the tests that a split of a tree is no chance, by Bonferroni over its candidates.
_ALPHA = 0.05

#: Reports added to every cell, so that no answer rules a class out.
_SMOOTHING = 1.0

#: Gains below this are rounding, or next to nothing.
MIN_GAIN = 1e-3


def check_features(schema: Schema, target: str, features: Sequence[str] | None) -> list[str]:
    """The attributes to predict from: those named, or all but the target.

    Raises
    ------
    SchemaError
        If an attribute is unknown or named twice.
    ParameterError
        If the target is one of the features, or there are none.
    """
    schema.position(target, "predict")
    chosen = [name for name in schema.names if name != target]
    if features is not None:
        chosen = list(features)
        if chosen:
            schema.positions(chosen, "features")
    if target in chosen:
        raise ParameterError(
            f"features: '{target}' is what is to be predicted; expected other attributes",
            field="features",
        )
    if not chosen:
        raise ParameterError("features: expected one attribute or more", field="features")
    return chosen


def naive_bayes(
    schema: Schema, tables: Tables, target: str, features: Sequence[str], reports: int
) -> NaiveBayes:
    """Learn a naive Bayes classifier from the tables of the target with each feature.

    Parameters
    ----------
    reports : int
        N, by which the smoothing of one report for each cell is weighed.
    """
    classes = schema.attributes[schema.position(target)].categories
    warnings: list[Items] = []
    learned = []
    for name in features:
        categories = schema.attributes[schema.position(name)].categories
        support, lower = tables([target, name])
        counts = reports * np.maximum(support, 0.0) + _SMOOTHING
        shares = counts / counts.sum(axis=1, keepdims=True)
        learned.append(Feature(name=name, categories=list(categories), shares=shares.tolist()))
        warnings += [
            {target: classes[i], name: categories[j]} for i, j in np.argwhere(~(lower > 0)).tolist()
        ]
    support, lower = tables([target])
    prior = reports * np.maximum(support, 0.0) + _SMOOTHING
    warnings = [
        *({target: classes[i]} for i in np.flatnonzero(~(lower > 0)).tolist()),
        *warnings,
    ]
    return NaiveBayes(
        target=target,
        classes=list(classes),
        prior=(prior / prior.sum()).tolist(),
        features=learned,
        warnings=warnings,
    )


def decision_tree(
    schema: Schema,
    tables: Tables,
    target: str,
    features: Sequence[str],
    max_depth: int,
    min_support: float,
    p_value: PValue,
) -> DecisionTree:
    """Grow a decision tree by the largest decrease of the gini index.

    Parameters
    ----------
    max_depth : int
        Most questions in a row, at least 1.
    min_support : float
        A node with a smaller estimated share of all people is not split.
    p_value : callable
        By which it is tested that the classes differ by a feature, chosen among others, in the
        group that gives some answers. Where that is not significant, the node is `uncertain`.
    """
    grower = _Grower(schema, tables, target, max_depth, min_support, p_value)
    root = grower.node({}, list(features), None)
    return DecisionTree(
        target=target,
        classes=list(schema.attributes[schema.position(target)].categories),
        features=list(features),
        root=root,
        warnings=list(_uncertain(root, {})),
    )


@dataclass(frozen=True)
class _Grower:
    """Grows nodes from the tables of what was asked before them."""

    schema: Schema
    tables: Tables
    target: str
    max_depth: int
    min_support: float
    p_value: PValue

    def node(
        self, path: dict[str, int], features: list[str], above: list[float] | None
    ) -> TreeNode:
        """The node that these answers lead to, with all below it.

        Parameters
        ----------
        path : dict of str to int
            Codes of the answers that lead here.
        features : list of str
            What was not asked yet.
        above : list of float or None
            Probabilities at the node above, for one that nobody reaches.
        """
        support, lower = self._at(path, [self.target])
        share = float(support.sum())
        if share <= 0:
            assert above is not None  # noqa: S101 - not everybody can be nobody
            return TreeNode(share=0.0, probabilities=above, uncertain=True)
        probabilities = (support / share).tolist()
        uncertain = bool((~(lower > 0)).any())
        leaf = TreeNode(share=share, probabilities=probabilities, uncertain=uncertain)
        if len(path) == self.max_depth or share < self.min_support or not features:
            return leaf
        gains = [self._gain(path, name) for name in features]
        best = int(np.argmax(gains))
        if gains[best] < MIN_GAIN:
            return leaf
        name = features[best]
        categories = self.schema.attributes[self.schema.position(name)].categories
        left = [other for other in features if other != name]
        group = {
            asked: self.schema.attributes[self.schema.position(asked)].categories[code]
            for asked, code in path.items()
        }
        return TreeNode(
            share=share,
            probabilities=probabilities,
            uncertain=uncertain or not self._separates(group, name, len(features)),
            attribute=name,
            gain=gains[best],
            children={
                category: self.node({**path, name: code}, left, probabilities)
                for code, category in enumerate(categories)
            },
        )

    def _separates(self, group: Items, feature: str, candidates: int) -> bool:
        """Return whether the classes differ by a feature, chosen among some, in a group."""
        p_value = self.p_value(group, feature)
        return p_value is not None and p_value < _ALPHA / candidates

    def _gain(self, path: dict[str, int], name: str) -> float:
        """Decrease of the gini index by asking this attribute next."""
        support, _ = self._at(path, [name, self.target])
        total = support.sum()
        branches = support.sum(axis=1)
        reached = branches > 0
        within = support[reached] / branches[reached, None]
        after = (branches[reached] / total * _gini(within)).sum()
        return float(_gini(support.sum(axis=0) / total) - after)

    def _at(self, path: dict[str, int], names: list[str]) -> tuple[Array, Array]:
        support, lower = self.tables([*path, *names])
        place = tuple(path.values())
        return np.maximum(support[place], 0.0), lower[place]


def _gini(probabilities: Array) -> NDArray[np.float64]:
    """1 − Σ p², the chance that two people of a group differ in their class."""
    return np.asarray(1 - (probabilities**2).sum(axis=-1))


def _uncertain(node: TreeNode, path: Items) -> Iterator[Items]:
    if node.uncertain:
        yield path
    for category, child in node.children.items():
        yield from _uncertain(child, {**path, str(node.attribute): category})
