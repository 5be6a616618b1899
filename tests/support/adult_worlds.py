"""Surveys of the people of Adult: their income by five groups, among twelve questions."""

from functools import cache

from adult import ANSWERS, adult_people, adult_questions
from halftruth_shared import Schema, SplitQuestionnaire
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from reference import REFERENCE, absent
from worlds import DEFAULT, RealWorld

#: Files of the population.
FILES = ("data/adult.data", "data/adult.test")

OUTCOME, GROUPS = "income", ("sex", "education", "age", "workclass", "marital")


def wanted(schema: Schema) -> SplitQuestionnaire:
    """Return the split questionnaire at γ = 19 for the tables of income by each group."""
    tables = [WantedTables(of=(OUTCOME,), by=GROUPS)]
    return SplitQuestionnaire.designed(schema, 19, (), tables)


def all_pairs(schema: Schema) -> SplitQuestionnaire:
    """Return the split questionnaire at γ = 19 for all pairs of questions."""
    return SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0})


@cache
def adult_worlds() -> tuple[RealWorld, ...]:
    """Return the populations; none without the files."""
    if absent(FILES):
        return ()
    everybody = adult_people(REFERENCE / "data")
    shape = tuple(map(len, ANSWERS.values()))
    return tuple(
        RealWorld(
            f"Adult, {what}, {respondents:_}".replace("_", " "),
            shape,
            design,
            respondents,
            strength=1.0,
            parts=DEFAULT,
            attributes=tuple(adult_questions(collapsed)),
            everybody=everybody,
        )
        for respondents in (3_000, 20_000)
        for what, design, collapsed in (
            ("all pairs", all_pairs, False),
            ("wanted tables", wanted, False),
            ("wanted tables of groups", wanted, True),
        )
    )
