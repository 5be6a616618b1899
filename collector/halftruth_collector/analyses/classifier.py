"""Classifiers learned from reconstructed tables."""

from halftruth_shared.analyses.classifier import ClassifierQuery, ClassifierResult
from halftruth_shared.analyses.wording import items, percent

from . import sentences, verdicts
from .base import Analysis, Counted, Grid, asked, clearest


def compute(counted: Counted, query: ClassifierQuery) -> ClassifierResult:
    """A classifier as ``Estimator.classifier`` learns it."""
    model = counted.estimator.classifier(**asked(query))
    typical = None
    if query.estimate == "likelihood":
        typical = counted.estimator.typical_error(
            [query.predict, model.feature_names_in_[0].item()]
        )
    return ClassifierResult(**counted.origin(), query=query, model=model, typical=typical)


def grid(result: ClassifierResult) -> Grid:
    """Table of class probabilities, in general and for each part of the model."""
    return Grid(
        ["where", "share", "class", _PROBABILITY[result.query.kind]],
        [
            [
                items(where) or "everybody",
                "" if share is None else percent(share, 1),
                name,
                percent(probability, 1),
            ]
            for where, share, probabilities in result.model.parts()
            for name, probability in zip(result.model.classes, probabilities, strict=True)
        ],
    )


#: What the probabilities of a model are of.
_PROBABILITY = {
    "naive-bayes": "probability of this answer in the class",
    "decision-tree": "probability of the class",
}


def warnings(result: ClassifierResult) -> list[str]:
    """Warn of cells behind the model that are not significantly above zero."""
    doubtful = [items(warning) or "everybody" for warning in result.model.warnings]
    reason = {
        "naive-bayes": "Not known to be above 0",
        "decision-tree": "A class not known to be above 0, or a split that may be chance, among",
    }[result.query.kind]
    lines = [f"{reason}: {sentences.few(doubtful)}."] if doubtful else []
    if result.typical is not None:
        _, verdict = verdicts.on_guess(result.typical)
        lines.append(f"Learned from the best guess; {verdict.partition(': ')[2]}.")
    return lines


def interpretation(result: ClassifierResult) -> list[str]:
    """Interpret the probabilities of naive Bayes, and point to a better estimate."""
    lines = []
    if result.query.kind == "naive-bayes":
        lines.append(
            "Everybody: share of each class; else the share of a class that gives this answer,"
            " which is not the probability of the class."
        )
    if result.query.estimate == "moment":
        lines.append(
            "Learned from moment estimates, with 0 for those below it. With estimate = likelihood"
            " it is learned from the best guess, which is mostly nearer to the truth, and takes"
            " some seconds."
        )
    return lines


ANALYSIS = Analysis(
    query=ClassifierQuery,
    title="Classifiers",
    compute=compute,
    # The best guess is of all questions together, which a page should not begin with.
    start=lambda survey: ClassifierQuery(predict=clearest(survey)[0].name, estimate="moment"),
    grid=grid,
    warnings=warnings,
    interpretation=interpretation,
    order=100,
)
