"""Examples of every call: what is sent, and what the program itself computes from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.messages import (
    AssociationsQuery,
    ClassifierQuery,
    ItemsetsQuery,
    LoglinearQuery,
    MeasuresQuery,
    PartialQuery,
    PlanQuery,
    PlanRequest,
    PublishedSurvey,
    RandomizedQuery,
    Receipt,
    Report,
    ReportBatch,
    Request,
    RuleQuery,
    RulesQuery,
    SealedBatch,
    SealedReport,
    SignedTerms,
    SurveyList,
    SurveySummary,
    TableQuery,
    Terms,
)

from ... import results
from ...estimate import Counts
from ...planner import plan
from ..operations import Health

#: Of every cell of the survey, how many people are in it.
_PEOPLE = [[[330, 240], [410, 350], [120, 150]], [[60, 40], [190, 160], [280, 170]]]
_AS_OF = datetime(2026, 1, 31, 12, tzinfo=UTC)

#: Bytes of a sealed report besides the report: the encapsulated key and the authentication tag.
_ENCAPSULATED, _TAG = 32, 16

_REPORT_ID = UUID("6f0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a11")

SURVEY = Survey(
    "health",
    "Health at work",
    Schema(
        (
            Attribute("smoker", ("no", "yes"), label="Do you smoke?"),
            Attribute("drinks", ("never", "weekly", "daily")),
            Attribute("shift", ("day", "night")),
        )
    ),
    GammaDiagonal("19"),
)


@dataclass(frozen=True)
class Example:
    """One call with its answer.

    Attributes
    ----------
    answer : message, optional
        None where the answer is no message.
    query : message
    bodies : dict of str to message
        By the name of its message type.
    """

    answer: msgspec.Struct | None
    query: Request = field(default_factory=Request)
    bodies: Mapping[str, Any] = field(default_factory=dict)


def counts() -> Counts:
    """Reports of the people of the example, as many of each as are expected."""
    schema = SURVEY.schema
    channel = SURVEY.mechanism.channel(schema, schema.names)
    expected = np.rint(channel.forward(np.array(_PEOPLE, dtype=np.float64))).astype(np.int64)
    return Counts.from_cells(schema, np.argwhere(expected >= 0), expected.ravel())


@cache
def examples() -> dict[str, Example]:
    """An example of every call, by its id."""
    published = PublishedSurvey(survey=msgspec.Raw(SURVEY.canonical_json), digest=SURVEY.digest)
    summary = SurveySummary(
        id=SURVEY.id, title=SURVEY.title, digest=SURVEY.digest, status=published.status
    )
    invited = Terms(invitations=True)
    question = PlanQuery(respondents=5000, lengths=[1, 2], half_width=0.02)
    return {
        "listSurveys": Example(SurveyList(surveys=[summary])),
        "getSurvey": Example(published),
        "addReports": Example(
            Receipt(accepted=1, duplicates=0),
            bodies={
                "ReportBatch": ReportBatch(
                    digest=SURVEY.digest, reports=[Report(id=_REPORT_ID, values=[0, 2, 1])]
                ),
                "SealedBatch": _sealed(),
            },
        ),
        "getCounts": Example(results.counts_result(SURVEY, counts(), _AS_OF)),
        "getItemsets": _estimate(
            results.itemsets_result, ItemsetsQuery(min_support=0.3, max_length=2)
        ),
        "getRules": _estimate(
            results.rules_result,
            RulesQuery(min_support=0.2, min_confidence=0.7, measures=["lift"], limit=2),
        ),
        "getRule": _estimate(
            results.rule_result,
            RuleQuery(
                antecedent={"smoker": "yes"}, consequent={"drinks": "daily"}, measures=["lift"]
            ),
        ),
        "getTable": _estimate(results.table_result, TableQuery(attributes=["smoker", "shift"])),
        "getMeasures": _estimate(
            results.measures_result,
            MeasuresQuery(
                attributes=["smoker", "drinks"],
                present={"drinks": "daily"},
                measures=["phi", "lift"],
            ),
        ),
        "getAssociations": _estimate(
            results.associations_result, AssociationsQuery(attributes=["smoker", "drinks"])
        ),
        "getPartialCorrelation": _estimate(
            results.partial_result,
            PartialQuery(
                attributes=["smoker", "drinks"], given=["shift"], present={"drinks": "daily"}
            ),
        ),
        "getRandomized": _estimate(
            results.randomized_result,
            RandomizedQuery(attributes=["smoker", "shift"], measures=["phi"]),
        ),
        "getLoglinear": _estimate(
            results.loglinear_result, LoglinearQuery(terms=[["smoker", "drinks"], ["shift"]])
        ),
        "getClassifier": _estimate(
            results.classifier_result, ClassifierQuery(predict="smoker", features=["drinks"])
        ),
        "planSurvey": Example(
            plan(SURVEY, question),
            bodies={
                "PlanRequest": PlanRequest(
                    survey=msgspec.Raw(SURVEY.canonical_json), **msgspec.structs.asdict(question)
                )
            },
        ),
        "publishSurvey": Example(published, bodies={"SurveyDocument": SURVEY.document()}),
        "closeSurvey": Example(msgspec.structs.replace(published, status="closed")),
        "setTerms": Example(
            msgspec.structs.replace(published, terms=invited),
            bodies={"SignedTerms": SignedTerms(terms=invited)},
        ),
        "getHealth": Example(Health(status="ok")),
        "getReadiness": Example(Health(status="ready")),
        "getMetrics": Example(None),
        "getDescription": Example(None),
    }


def _estimate(compute: Callable[..., msgspec.Struct], query: Request) -> Example:
    return Example(compute(SURVEY, counts(), _AS_OF, query), query)


def _sealed() -> SealedBatch:
    """A batch of the right shape; what it seals, only a collector could read."""
    shape = SURVEY.mechanism.report_shape(SURVEY.schema)
    sealed = bytes(range(_ENCAPSULATED + shape.packed_size + _TAG))
    return SealedBatch(digest=SURVEY.digest, reports=[SealedReport(id=_REPORT_ID, sealed=sealed)])
