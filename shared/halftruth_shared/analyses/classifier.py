"""Classifiers as messages, learned from reconstructed tables.

Both follow scikit-learn's conventions as far as these apply to a model that was never fitted to
records: `classes_`, `feature_names_in_`, `predict`, `predict_proba`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from halftruth_shared.analyses.wording import items as words

from ..errors import RecordError, listing
from ..protocol.base import Message
from .base import (
    AttributeName,
    CategoryName,
    Confidence,
    FilteredQuery,
    Items,
    MethodOf,
    Result,
    TypicalError,
)
from .estimate import Columns

ClassifierKind = Literal["naive-bayes", "decision-tree"]

Array = NDArray[np.float64]
Record = Mapping[str, str]

#: Answers, the share of people with these, and a number for each class.
Part = tuple[Items, float | None, list[float]]


class Feature(Message, frozen=True, kw_only=True):
    """An attribute to predict from: its categories, and their share within each class."""

    name: AttributeName
    categories: list[CategoryName]
    shares: list[list[float]]


class _Classifier(Message, frozen=True, kw_only=True):
    target: AttributeName
    classes: list[CategoryName]
    warnings: list[Items] = msgspec.field(default_factory=list)

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The categories of the target."""
        return np.array(self.classes)

    def predict_proba(self, records: Sequence[Record]) -> Array:
        """Estimate the probability of each class, shape (records, classes).

        Parameters
        ----------
        records : sequence of mappings of str to str
            Categories by attribute; other attributes are ignored.

        Raises
        ------
        RecordError
            If an attribute is missing or has no such category; it never quotes an answer.
        """
        return np.array([self._of(index, record) for index, record in enumerate(records)]).reshape(
            len(records), len(self.classes)
        )

    def predict(self, records: Sequence[Record]) -> NDArray[np.str_]:
        """Return the most probable class of each record.

        Raises
        ------
        RecordError
            As :meth:`predict_proba`.
        """
        return np.asarray(self.classes_[self.predict_proba(records).argmax(axis=1)])

    def _of(self, index: int, record: Record) -> Array:
        raise NotImplementedError


class NaiveBayes(_Classifier, frozen=True, kw_only=True, tag="naive-bayes"):
    """P(class | record) ∝ P(class) ∏ P(answer | class), from reconstructed tables of pairs.

    `warnings` are the needed cells that are not significantly above zero.
    """

    prior: list[float]
    features: list[Feature]

    @property
    def feature_names_in_(self) -> NDArray[np.str_]:
        """The attributes that a record needs."""
        return np.array([feature.name for feature in self.features])

    def parts(self) -> Iterator[Part]:
        """Iterate over the prior of the classes, then the likelihoods of each answer by class."""
        yield {}, None, self.prior
        for feature in self.features:
            for code, category in enumerate(feature.categories):
                yield {feature.name: category}, None, [row[code] for row in feature.shares]

    def _of(self, index: int, record: Record) -> Array:
        weights = np.log(self.prior)
        for feature in self.features:
            code = _code(index, record, feature.name, feature.categories)
            weights = weights + np.log(np.array(feature.shares)[:, code])
        weights = np.exp(weights - weights.max())
        return np.asarray(weights / weights.sum())


class TreeNode(Message, frozen=True, kw_only=True):
    """A node of a decision tree; a leaf if it has no attribute.

    `share` is the estimated share of the people at this node, `probabilities` are those of the
    classes among them, and `gain` is how much the split lowers the gini index. `uncertain` says
    that one of the cells behind these numbers is not significantly above zero, or that the split is
    not significant: independence of the class is not rejected in this group.
    """

    share: float
    probabilities: list[float]
    uncertain: bool
    attribute: AttributeName | None = None
    gain: float | None = None
    children: dict[str, "TreeNode"] = msgspec.field(default_factory=dict)


class DecisionTree(_Classifier, frozen=True, kw_only=True, tag="decision-tree"):
    """A tree that asks one attribute after the other, from reconstructed tables.

    `warnings` are the answers that lead to uncertain nodes.
    """

    features: list[AttributeName]
    root: TreeNode

    @property
    def feature_names_in_(self) -> NDArray[np.str_]:
        """The attributes that a record may need."""
        return np.array(self.features)

    def parts(self) -> Iterator[Part]:
        """Iterate over the leaves: path, share of all people, and class probabilities."""
        yield from _leaves(self.root, {})

    def _of(self, index: int, record: Record) -> Array:
        node = self.root
        while node.attribute is not None:
            categories = list(node.children)
            node = node.children[categories[_code(index, record, node.attribute, categories)]]
        return np.array(node.probabilities)


def _leaves(node: TreeNode, path: Items) -> Iterator[Part]:
    if node.attribute is None:
        yield path, node.share, node.probabilities
    for category, child in node.children.items():
        yield from _leaves(child, {**path, str(node.attribute): category})


def _code(index: int, record: Record, name: str, categories: list[str]) -> int:
    try:
        return categories.index(record[name])
    except KeyError:
        what = "missing"
    except ValueError:
        what = f"expected one of: {listing(categories)}"
    raise RecordError(f"record {index}: '{name}': {what}", field=name)


class ClassifierResult(Result, frozen=True, kw_only=True):
    """A classifier learned from reconstructed tables; its `model` predicts.

    `typical` is the typical error of best guesses of pairs, if it is learned from these.
    """

    query: "ClassifierQuery"
    model: NaiveBayes | DecisionTree
    typical: TypicalError | None = None

    @property
    def columns(self) -> Columns:
        return [("where", str), ("share", float), ("class", str), ("probability", float)]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows: each class, for each part of the model."""
        for where, share, probabilities in self.model.parts():
            for name, probability in zip(self.model.classes, probabilities, strict=True):
                yield words(where), share, name, probability


class ClassifierQuery(FilteredQuery[ClassifierResult], frozen=True, kw_only=True):
    """A classifier of one attribute by others, learned from reconstructed tables."""

    predict: Annotated[AttributeName, Meta(description="The attribute to predict.")]
    kind: Annotated[ClassifierKind, Meta(description="Which kind of classifier.")] = "naive-bayes"
    features: (
        Annotated[
            list[AttributeName],
            Meta(
                min_length=1,
                description="Attributes to predict from; by default all but the one predicted.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    max_depth: Annotated[
        int, Meta(ge=1, description="Most questions that a decision tree asks of one record.")
    ] = 3
    min_support: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            examples=[0.05],
            description="Least share of the people at a node that a decision tree splits.",
        ),
    ] = 0.05
    confidence: Confidence = 0.95
    estimate: MethodOf = "likelihood"
