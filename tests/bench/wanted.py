"""Errors of outcomes by groups: all pairs of questions against wanted tables and groups of answers.

``python tests/bench/wanted.py [--surveys 200] [--respondents 3000 --respondents 20000]``; the
status is 1 if a target is missed. Twelve questions at γ = 19; wanted are four yes/no outcomes, each
by three groups of people, of which two have six and five answers. Errors are those of the same
three classes of these, whatever the design.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import click
import numpy as np
from halftruth_collector.cli.output import print_table
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.groups import survey_in_groups
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import Survey
from tqdm import tqdm

SIZES = (2, 6, 5, 2, 5, 2, 3, 2, 4, 2, 3, 2)
GROUPS, OUTCOMES = (0, 1, 2), (5, 7, 9, 11)

#: Class of each answer of the groups of people.
CLASSES = {0: np.arange(2), 1: np.arange(6) // 2, 2: np.arange(5) // 2}

WANTED = """
[[mechanism.tables]]
of = ["q5", "q7", "q9", "q11"]
by = ["q0", "q1", "q2"]
"""

#: Mechanism of each design, and whether long questions are collapsed.
DESIGNS = {
    "all pairs": ("max_length = 2", False),
    "wanted tables": (WANTED, False),
    "wanted tables of classes": (WANTED, True),
    "the same, questions alone as precise as by all pairs": (f"{WANTED}importance = 0.69", True),
}

#: Largest errors in points by design and respondents: of a question alone, a cell, within a group.
TARGETS = {
    ("wanted tables of classes", 3_000): (5.0, 2.3, 6.0),
    ("wanted tables of classes", 20_000): (2.0, 0.9, 2.4),
    ("the same, questions alone as precise as by all pairs", 3_000): (3.8, 2.7, 7.2),
    ("the same, questions alone as precise as by all pairs", 20_000): (1.5, 1.0, 2.5),
}

#: Share of *yes*; other questions are even.
_YES = 0.25

#: Least estimated share of a group whose shares are computed.
_LEAST = 0.02

_HEADER = ["design", "respondents", "views", "alone, worst", "cell", "within a group"]


@cache
def survey(design: str) -> Survey:
    """Return the survey of a design."""
    mechanism, collapsed = DESIGNS[design]
    text = 'id = "wanted"\ntitle = "Wanted"\n[mechanism]\nkind = "split-questionnaire"\n'
    text += f'gamma = "19"\n{mechanism}\n'
    for j, size in enumerate(SIZES):
        answers = [f"a{k}" for k in range(size)]
        text += f'[[attributes]]\nname = "q{j}"\ncategories = {answers}\n'
        if collapsed and size > 2 and j in GROUPS:
            groups = [
                f"g{c} = {[a for a, of in zip(answers, CLASSES[j], strict=True) if of == c]}"
                for c in range(CLASSES[j][-1] + 1)
            ]
            text += f"collapsed = {{ {', '.join(groups)} }}\n"
    return Survey.from_toml(text)


def people(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent answers of some people."""
    return np.stack(
        [
            (rng.random(count) < _YES).astype(np.int64)
            if size == 2
            else rng.integers(size, size=count)
            for size in SIZES
        ],
        axis=1,
    )


def errors(design: str, respondents: int, seed: int) -> dict[str, np.ndarray]:
    """Return the errors of one survey: of each question alone, of cells, and within groups."""
    rng, asked = np.random.default_rng([seed, respondents]), survey(design)
    records = people(respondents, rng)
    counts = Counts.from_reports(asked, asked.perturbation.reports(records, rng))
    detail, groups = reconstruction(asked), reconstruction(survey_in_groups(asked))
    found: dict[str, np.ndarray] = {}
    for j, size in enumerate(SIZES):
        truth = np.bincount(records[:, j], minlength=size) / respondents
        found[f"alone {j}"] = detail.table(counts, [f"q{j}"]).value - truth
    cells, within = [], []
    for j in GROUPS:
        of, classes = CLASSES[j][records[:, j]], int(CLASSES[j][-1]) + 1
        for outcome in OUTCOMES:
            table = groups.table(counts, [f"q{j}", f"q{outcome}"]).value
            if len(table) != classes:
                table = np.eye(classes)[CLASSES[j]].T @ table
            for group in range(classes):
                inside, yes = of == group, records[:, outcome] == 1
                cells.append(table[group, 1] - (inside & yes).mean())
                share = table[group, 1] / max(table[group].sum(), _LEAST)
                within.append(share - yes[inside].mean())
    return found | {"cell": np.array(cells), "within": np.array(within)}


def rows(surveys: int, respondents: int) -> Iterator[tuple[list[object], bool]]:
    """Yield the errors of each design, and whether it meets its targets."""
    with ProcessPoolExecutor() as pool:
        for design in DESIGNS:
            jobs = [pool.submit(errors, design, respondents, seed) for seed in range(surveys)]
            every = [job.result() for job in tqdm(jobs, desc=design, unit="survey")]
            pooled = {name: np.concatenate([each[name] for each in every]) for name in every[0]}
            square = {name: 100 * np.sqrt(np.mean(x**2)) for name, x in pooled.items()}
            alone = max(value for name, value in square.items() if name.startswith("alone"))
            # The error of a share within a small group has heavy tails.
            typical = 148.26 * float(np.median(np.abs(pooled["within"])))
            got = alone, square["cell"], typical
            wanted = TARGETS.get((design, respondents), (np.inf,) * 3)
            missed = any(error > most for error, most in zip(got, wanted, strict=True))
            shown = [
                f"{error:.2f}" + (f" (≤ {most})" if np.isfinite(most) else "")
                for error, most in zip(got, wanted, strict=True)
            ]
            yield [design, respondents, len(survey(design).perturbation.views), *shown], missed


@click.command()
@click.option("--surveys", default=200, show_default=True)
@click.option("--respondents", multiple=True, default=[3_000, 20_000], type=int)
def main(surveys: int, respondents: tuple[int, ...]) -> None:
    """Print the errors in points, with their targets; exit with 1 if one is missed."""
    found = [row for count in respondents for row in rows(surveys, count)]
    print(
        "Errors in points: root mean square, and typical (1.48 × median absolute) within a group."
    )
    print_table(_HEADER, [row for row, _ in found])
    sys.exit(int(any(missed for _, missed in found)))


if __name__ == "__main__":  # not in worker processes
    main()
