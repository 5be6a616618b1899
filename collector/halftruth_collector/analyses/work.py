"""Work of a query, estimated before the computation from survey and query alone."""

import math
from collections.abc import Sequence
from typing import Any

from halftruth_shared import DomainTooLarge, Survey
from halftruth_shared.analyses.base import MiningQuery

from ..estimation.estimator import TABLE_CELLS
from ..estimation.groups import survey_in_groups
from ..estimation.itemsets import MAX_SUBSETS, count_itemsets, schema_of_items
from ..estimation.model.fit import design_of, schema_of
from ..estimation.reconstruction import reconstruction
from .base import check_model_names, errors_naming, field_of_model, is_in_groups, model_attributes

#: Largest number of listed itemsets, about 17 MB of JSON, and of examined rules.
MOST_ITEMSETS, MOST_RULES = 100_000, 5_000_000


def check_cells(survey: Survey, attributes: Sequence[str]) -> None:
    """Refuse a table that is too large."""
    shape = survey.schema.shape
    cells = math.prod(shape[j] for j in survey.schema.positions(attributes))
    if cells > TABLE_CELLS:
        raise DomainTooLarge(
            f"attributes: a table of {cells} cells; expected at most {TABLE_CELLS}, so fewer"
            " attributes",
            field="attributes",
        )


def check_model(survey: Survey, query: Any) -> None:
    """Refuse a model of too many answers or interactions, before it is fitted."""
    check_model_names(survey, query)
    if is_in_groups(survey, query):
        survey = survey_in_groups(survey)
    with errors_naming(field_of_model(query)), errors_naming("interactions", "terms"):
        schema = schema_of(survey.schema, model_attributes(survey, query))
        design_of(survey, schema, further=query.interactions)


def check_lengths(survey: Survey, query: MiningQuery[Any], *, rules: bool = False) -> None:
    """Refuse itemsets, or rules, of more attributes than can be examined in time.

    A query without a maximum length stops before these.
    """
    longest = affordable_length(
        survey, query.min_support, rules=rules, all_answers=query.all_answers
    )
    if longest is not None and (query.max_length or 0) > longest:
        what = "rules" if rules else "itemsets"
        raise DomainTooLarge(
            f"max_length: longer {what} take too long among {len(survey.schema.names)} attributes;"
            f" expected max_length = {longest} at most, or a higher min_support",
            field="max_length",
        )


def affordable_length(
    survey: Survey, min_support: float, *, rules: bool = False, all_answers: bool = False
) -> int | None:
    """Return the length up to which all itemsets, or rules, can be examined; None without a limit.

    At most 1 / min_support cells of a table reach the threshold, for any reports.
    """
    survey = survey_in_groups(survey)
    schema, combinations, work = schema_of_items(survey.schema, all_answers), 0, 0.0
    family = reconstruction(survey).identified_sets
    for length in range(1, family.longest + 1):
        subsets = family.number(length)
        combinations += subsets
        itemsets = count_itemsets(schema, family, length)
        listed = min(itemsets, subsets / max(min_support, 1e-9))
        work += listed * (2.0**length - 2 if rules else 1)
        if combinations > MAX_SUBSETS or work > (MOST_RULES if rules else MOST_ITEMSETS):
            return max(1, length - 1)
    return None
