"""Errors of outcomes by groups: all pairs of questions against wanted tables and groups of answers.

``python tests/bench/wanted.py [--surveys 200] [--respondents 3000 --respondents 20000]``; the
status is 1 if a target is missed. Twelve questions at γ = 19; wanted are four yes/no outcomes, each
by three groups of people, of which two have six and five answers. Where the files of Adult are,
income by five groups is wanted of its people, too. Errors are those of the same classes of long
questions, whatever the design.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import click
import numpy as np
from adult import adult_people, adult_questions
from adult_worlds import FILES, GROUPS, OUTCOME
from halftruth_collector.cli.output import print_table
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.groups import survey_in_groups
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from reference import REFERENCE, absent
from tqdm import tqdm

Draw = Callable[[int, np.random.Generator], np.ndarray]
Targets = Mapping[tuple[str, int], tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class Population:
    """People, and which tables of their answers are wanted.

    Attributes
    ----------
    attributes : tuple of Attribute
        Questions, of which long ones are collapsed.
    outcomes, groups : tuple of str
        Names of questions with two answers, and of the groups by which each of them is wanted.
    draw : callable
        Returns the codes of answers of some people, shape (people, questions).
    targets : mapping
        Largest errors in points by design and respondents: of a question alone, a cell, and within
        a group.
    """

    attributes: tuple[Attribute, ...]
    outcomes: tuple[str, ...]
    groups: tuple[str, ...]
    draw: Draw
    targets: Targets

    def position(self, name: str) -> int:
        return [each.name for each in self.attributes].index(name)

    def classes(self, name: str) -> np.ndarray:
        """Return the class of each answer to a question."""
        attribute = self.attributes[self.position(name)]
        size = len(attribute.categories)
        return np.array(attribute.groups.codes) if attribute.collapsed else np.arange(size)


#: Importance of the wanted tables, and whether long questions are collapsed; None for all pairs.
DESIGNS: dict[str, tuple[float, bool] | None] = {
    "all pairs": None,
    "wanted tables": (1.0, False),
    "wanted tables of classes": (1.0, True),
    "the same, questions alone as precise as by all pairs": (0.69, True),
}

#: Share of *yes* of simulated people; their other questions are even.
_YES = 0.25

_SIZES = (2, 6, 5, 2, 5, 2, 3, 2, 4, 2, 3, 2)

#: Least estimated share of a group whose shares are computed.
_LEAST = 0.02

_HEADER = ["people", "design", "respondents", "views", "alone, worst", "cell", "within a group"]


def _simulated(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent answers of some people."""
    return np.stack(
        [
            (rng.random(count) < _YES).astype(np.int64)
            if size == 2
            else rng.integers(size, size=count)
            for size in _SIZES
        ],
        axis=1,
    )


def _question(number: int, size: int) -> Attribute:
    answers = [f"a{k}" for k in range(size)]
    groups = {f"g{k // 2}": answers[k : k + 2] for k in range(0, size, 2)}
    return Attribute(f"q{number}", answers, collapsed=groups if number in (1, 2) else None)


@cache
def populations() -> dict[str, Population]:
    """Return the populations by name."""
    found = {
        "simulated": Population(
            tuple(_question(j, size) for j, size in enumerate(_SIZES)),
            ("q5", "q7", "q9", "q11"),
            ("q0", "q1", "q2"),
            _simulated,
            {
                ("wanted tables of classes", 3_000): (5.0, 2.3, 6.0),
                ("wanted tables of classes", 20_000): (2.0, 0.9, 2.4),
                ("the same, questions alone as precise as by all pairs", 3_000): (3.8, 2.7, 7.2),
                ("the same, questions alone as precise as by all pairs", 20_000): (1.5, 1.0, 2.5),
            },
        )
    }
    if not absent(FILES):
        everybody = adult_people(REFERENCE / "data")
        found["Adult"] = Population(
            tuple(adult_questions()),
            (OUTCOME,),
            GROUPS,
            lambda count, rng: everybody[rng.integers(len(everybody), size=count)],
            {},
        )
    return found


@cache
def survey(name: str, design: str) -> Survey:
    """Return the survey of a population and a design."""
    of, chosen = populations()[name], DESIGNS[design]
    importance, collapsed = chosen or (1.0, False)
    schema = Schema([a if collapsed else replace(a, collapsed=None) for a in of.attributes])
    if chosen is None:
        mechanism = SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0})
    else:
        tables = [WantedTables(of=of.outcomes, by=of.groups, importance=importance)]
        mechanism = SplitQuestionnaire.designed(schema, 19, (), tables)
    return Survey("wanted", "Wanted", schema, mechanism)


def errors(name: str, design: str, respondents: int, seed: int) -> dict[str, np.ndarray]:
    """Return the errors of one survey: of each question alone, of cells, and within groups."""
    of, asked = populations()[name], survey(name, design)
    rng = np.random.default_rng([seed, respondents])
    records = of.draw(respondents, rng)
    counts = Counts.from_reports(asked, asked.perturbation.reports(records, rng))
    detail, groups = reconstruction(asked), reconstruction(survey_in_groups(asked))
    found: dict[str, np.ndarray] = {}
    for j, each in enumerate(of.attributes):
        truth = np.bincount(records[:, j], minlength=len(each.categories)) / respondents
        found[f"alone {j}"] = detail.table(counts, [each.name]).value - truth
    cells, within = [], []
    for group_of in of.groups:
        class_of = of.classes(group_of)
        own, classes = class_of[records[:, of.position(group_of)]], int(class_of.max()) + 1
        for outcome in of.outcomes:
            table = groups.table(counts, [group_of, outcome]).value
            if len(table) != classes:
                table = np.eye(classes)[class_of].T @ table
            for group in range(classes):
                inside, yes = own == group, records[:, of.position(outcome)] == 1
                cells.append(table[group, 1] - (inside & yes).mean())
                share = table[group, 1] / max(table[group].sum(), _LEAST)
                within.append(share - yes[inside].mean())
    return found | {"cell": np.array(cells), "within": np.array(within)}


def rows(name: str, surveys: int, respondents: int) -> Iterator[tuple[list[object], bool]]:
    """Yield the errors of each design, and whether it meets its targets."""
    with ProcessPoolExecutor() as pool:
        for design in DESIGNS:
            jobs = [pool.submit(errors, name, design, respondents, seed) for seed in range(surveys)]
            every = [job.result() for job in tqdm(jobs, desc=design, unit="survey")]
            pooled = {what: np.concatenate([each[what] for each in every]) for what in every[0]}
            square = {what: 100 * np.sqrt(np.mean(x**2)) for what, x in pooled.items()}
            alone = max(value for what, value in square.items() if what.startswith("alone"))
            # The error of a share within a small group has heavy tails.
            typical = 148.26 * float(np.median(np.abs(pooled["within"])))
            got = alone, square["cell"], typical
            wanted = populations()[name].targets.get((design, respondents), (np.inf,) * 3)
            missed = any(error > most for error, most in zip(got, wanted, strict=True))
            shown = [
                f"{error:.2f}" + (f" (≤ {most})" if np.isfinite(most) else "")
                for error, most in zip(got, wanted, strict=True)
            ]
            views = len(survey(name, design).perturbation.views)
            yield [name, design, respondents, views, *shown], missed


@click.command()
@click.option("--surveys", default=200, show_default=True)
@click.option("--respondents", multiple=True, default=[3_000, 20_000], type=int)
def main(surveys: int, respondents: tuple[int, ...]) -> None:
    """Print the errors in points, with their targets; exit with 1 if one is missed."""
    found = [
        row for name in populations() for count in respondents for row in rows(name, surveys, count)
    ]
    print(
        "Errors in points: root mean square, and typical (1.48 × median absolute) within a group."
    )
    print_table(_HEADER, [row for row, _ in found])
    sys.exit(int(any(missed for _, missed in found)))


if __name__ == "__main__":  # not in worker processes
    main()
