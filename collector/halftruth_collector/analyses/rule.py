"""A single association rule."""

from halftruth_shared import Survey
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.rule import RuleQuery, RuleResult
from halftruth_shared.analyses.wording import interval_in_words

from . import rules, sentences, verdicts
from .base import Analysis, Counted, Grid, asked, clearest, middle_answer


def compute(counted: Counted, query: RuleQuery) -> RuleResult:
    """Estimate a rule by ``Estimator.rule``."""
    rule = counted.estimator.rule(**asked(query))
    return RuleResult(**counted.origin(), query=query, rule=rule)


def grid(result: RuleResult) -> Grid:
    """The rule's own numbers, then its measures, one below the other."""
    confidence = result.query.confidence
    own = zip(rules.header(confidence), rules.row(result.rule), strict=True)
    return Grid(
        ["", sentences.VALUE, sentences.level(confidence)],
        [
            *([name, value, ""] for name, value in own),
            [
                "Chebyshev interval of the confidence",
                "",
                interval_in_words(result.rule.mean or Estimate(), as_share=True),
            ],
            *sentences.measure_rows(result.rule.measures),
        ],
    )


def headline(result: RuleResult) -> str:
    """The rule with its confidence."""
    return f"{rules.in_words(result.rule)}."


def warnings(result: RuleResult) -> list[str]:
    """Warn if the rule or any of its measures is too uncertain."""
    rule = result.rule
    own = [] if rule.reliability == "usable" else [f"The rule is {verdicts.on_rule(rule)}."]
    return own + sentences.uncertain_measures(rule.measures)


def interpretation(result: RuleResult) -> list[str]:
    """Describe the reliability of the rule, and presence in its measures."""
    rule = result.rule
    own = [f"The rule is {verdicts.on_rule(rule)}."] if rule.reliability == "usable" else []
    names = [measure.name for measure in rule.measures]
    return [*own, *rules.presence(names), *sentences.no_tests(names)]


def start(survey: Survey) -> RuleQuery:
    """Answers to the two clearest questions."""
    first, second = (clearest(survey) * 2)[:2]
    return RuleQuery(
        antecedent={first.name: middle_answer(first)},
        consequent={second.name: middle_answer(second)},
    )


ANALYSIS = Analysis(
    query=RuleQuery,
    title="One rule",
    compute=compute,
    start=start,
    grid=grid,
    headline=headline,
    warnings=warnings,
    interpretation=interpretation,
    options={"antecedent": "if", "consequent": "then"},
    together=2,
    place="Explore",
    order=40,
)
