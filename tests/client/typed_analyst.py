"""What the types of `Analyst` accept and refuse; ``make check`` fails if they do otherwise.

mypy reports an ignored error that there is not, so that each wrong call has to be an error.
"""

from halftruth_client import Analyst, Survey
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.results.result import Result


def accepted(analyst: Analyst, survey: Survey, names: list[str]) -> list[object]:
    """Call methods by names, and by questions and answers."""
    itemsets: Result[ItemsetsQuery] = analyst.itemsets("health", 0.05, max_length=3)
    health = analyst.survey("health")
    q = health.questions
    return [
        itemsets,
        analyst.plan(survey, 900, half_width=0.03, groups=["smoker"], target="respondents"),
        analyst.itemsets("health", min_support=0.05, attribute=q.smoker),
        health.itemsets(0.05, decision="frequent"),
        health.comparison(answer=q.smoker.yes, groups=q.drinks, reference=q.drinks.never),
        health.comparison(answer={"smoker": "yes"}, groups="drinks", where=[q.smoker.no]),
        health.crosstab([q.smoker, "drinks"], where={"age": ["20", "30"], "sex": "female"}),
        health.table(names, merge={"drinks": ["weekly", "daily"]}),
        health.table(names, interactions=[["age", "smoker", "drinks"]]),
        health.weighted({q.smoker.yes: 0.25, q.smoker.no: 0.75}),
        health.weighted({"smoker": {"yes": 0.25, "no": 0.75}}, target="respondents"),
    ]


def refused(analyst: Analyst, survey: Survey) -> None:
    """Call methods with wrong parameters."""
    health = analyst.survey("health")
    analyst.itemsets("health", min_support="much")  # type: ignore[arg-type]
    analyst.itemsets("health", 0.05, max_lenght=3)  # type: ignore[call-arg]
    analyst.itemsets("health")  # type: ignore[call-arg]
    analyst.itemset("health", 0.05)  # type: ignore[attr-defined]
    analyst.plan(survey, 900, width=0.03)  # type: ignore[call-arg]
    health.itemsets("health", 0.05)  # type: ignore[call-arg, arg-type]
    health.crosstab("smoker")  # type: ignore[arg-type]
    health.comparison({"smoker": "yes"}, "drinks", target="people")  # type: ignore[arg-type]
