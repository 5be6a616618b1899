"""A survey with collapsed answers, one view of several questions, and one of each alone."""

from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey, ViewClass

INCOME = Attribute(
    "income",
    ("0 to 999", "1000 to 1999", "2000 to 2999", "3000 or more"),
    ordered=True,
    missing=("refused",),
    collapsed={
        "low": ("0 to 999", "1000 to 1999"),
        "high": ("2000 to 2999", "3000 or more"),
    },
)
SMOKER = Attribute("smoker", ("no", "yes"))
ALONE = (ViewClass(attributes=(("income", "smoker"),), choose=(1,), weight=1),)
TOGETHER = (*ALONE, ViewClass(attributes=(("income", "smoker"),), weight=2))


def survey(views: tuple[ViewClass, ...] = TOGETHER) -> Survey:
    return Survey("collapsed", "C", Schema((INCOME, SMOKER)), SplitQuestionnaire("19", views))
