"""Weighted records, for programs that analyse surveys."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from ..results import Result
from ..results.caveats import Sentences, listed
from ..results.wording import number
from .base import (
    AttributeName,
    AttributeNames,
    Interactions,
    Modelled,
    Query,
    numbers,
    texts,
)
from .weighted import Margins


class Variable(Message, frozen=True, kw_only=True):
    """Variable of weighted records.

    `name` is the name of the attribute, restricted to letters, digits and `_` for R and Python.
    `labels` are the texts of its categories in a form, and `missing` its missing categories.
    `midpoints` are the midpoints of the bins of a number, which precede its missing categories.
    """

    name: str
    attribute: AttributeName
    label: str
    categories: list[str]
    labels: list[str]
    missing: list[str]
    midpoints: list[float] | None = None


#: Text in every row, because files are shared without their documentation.
NO_PERSON = "a combination of answers, no person"


class MicrodataResult(Result[Any], frozen=True, kw_only=True):
    """Weighted records with replicate weights; a record is a combination of answers, not a person.

    Each row is a combination of answers with its *weight*, by decreasing weight, and `replicates`
    are its columns of replicate weights. The variance of a statistic is `scale` times the sum of
    the squared differences between it and the same statistic with each of these columns.
    `interactions` is the largest number of answers in an interaction of the model. `drawn` is true
    if the rows are a sample of the combinations. The files for R and Python have the same table.
    """

    query: "MicrodataQuery"
    variables: list[Variable]
    replicates: list[list[float]]
    scale: float
    interactions: int
    converged: bool
    drawn: bool

    @property
    def columns(self) -> list[tuple[str, type]]:
        replicates = (f"rep{number}" for number in range(1, len(self.replicates) + 1))
        names = [variable.name for variable in self.variables]
        return [*texts("record", *names), *numbers("weight", *replicates)]

    @property
    def index(self) -> int:
        return 0

    def column_lists(self) -> list[Sequence[Any]]:
        fit, what = self.model_fit, NO_PERSON
        if self.contradictions or (fit is not None and fit.contradicted):
            what += ", by a model that the reports contradict"
        weights = self.estimates.value.tolist()
        answers = [list(key.values) for key in self.keys]
        return [[what] * len(weights), *answers, weights, *self.replicates]


class MicrodataQuery(Query[MicrodataResult], frozen=True, kw_only=True):
    """Weighted records with replicate weights, for R or Python; no record is a person.

    Each row is a combination of answers with the estimated number of respondents who give it, by
    one loglinear model of all answers.
    """

    # Other queries have fields of these names.
    estimate: ClassVar = "model"
    target: ClassVar = "population"

    attributes: (
        Annotated[AttributeNames, Meta(description="Questions to include; by default all.")] | None
    ) = None
    margins: Margins | None = None
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    max_rows: Annotated[
        int,
        Meta(
            ge=100,
            le=100_000,
            description="Largest number of rows; if there are more combinations of answers, the"
            " rows are a sample of them.",
        ),
    ] = 10_000


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "no person": lambda _: (
        "No row is a person: each is a combination of answers, with the estimated number of"
        " respondents who give it. All values are computed from perturbed reports."
    ),
    "replicate weights": lambda _, scale: (
        f"The variance of a statistic is {number(scale, 2)} times the sum of the squared"
        " differences between its replicates and its value."
    ),
    "known margins": lambda labels, questions: (
        f"Weighted to known margins of {listed([*map(labels.quoted, questions)])}."
    ),
    "drawn": lambda _, length: (
        f"These rows represent more combinations of answers. Tables of {length} questions are"
        " exact; other statistics have an additional error that the replicate weights do not"
        " include."
    ),
}
