"""Labels of the questions and answers of a survey."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from halftruth_shared import Attribute, Survey
from halftruth_shared.analyses import Query
from halftruth_shared.results import Labels

from ..estimation.groups import survey_in_groups
from ..estimation.merging import Merging
from .base import is_in_groups


def labels_of(survey: Survey, query: Query[Any] | None = None, *languages: str) -> Labels:
    """Return the short labels of a survey, in the order of preference of languages.

    Categories that a query merges have one label. Ambiguous labels are followed by names.
    """
    if query is not None and is_in_groups(survey, query):
        survey = survey_in_groups(survey)
    schema = Merging(survey.schema, getattr(query, "merge", {})).schema
    attributes, options = schema.attributes, schema.options
    labels = {a.name: a.short_in(*languages) for a in attributes}
    for name, of_question in options.items():
        [several] = {option.question for option in of_question if option.question}
        labels[name] = several.short_in(*languages)
    # A label can equal the name of another attribute.
    uses = Counter([*labels.values(), *(name for name in labels if labels[name] != name)])
    questions = {
        name: label if uses[label] == 1 else f"{label} ({name})" for name, label in labels.items()
    }
    answers = {
        a.name: dict(zip(a.categories, a.short_answers_in(*languages), strict=True))
        for a in attributes
    }
    answers |= {name: _option_labels(each, *languages) for name, each in options.items()}
    return Labels(questions, answers, survey.title_in(*languages))


def _option_labels(options: Sequence[Attribute], *languages: str) -> dict[str, str]:
    """Return the labels of the options of a question, made unique if they differ in the survey."""
    short = {str(o.option): o.short_option_in(*languages) for o in options}
    uses = Counter(short.values())
    return {
        str(o.option): name if uses[name] == 1 else o.option_in(*languages)
        for o, name in zip(options, short.values(), strict=True)
    }
