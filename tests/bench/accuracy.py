"""Errors on CENSUS at one amplification by length of itemsets: halftruth, the bound, and peers."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial, reduce

import numpy as np
from halftruth_collector.demo.census import (
    GROUPED,
    SCHEMA,
    WANTED,
    census_codes,
    census_counts,
    census_survey,
)
from halftruth_collector.demo.comparison import error_in_groups, root_mean_square_errors
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.groups import survey_in_groups
from halftruth_collector.estimation.likelihood import independence
from halftruth_collector.estimation.planning.bound import information_bound
from halftruth_collector.estimation.reconstruction import of_perturbation, reconstruction
from halftruth_shared import (
    GammaDiagonal,
    Mechanism,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.mechanisms.split_questionnaire import enumerate_tables
from multi_freq_ldpy.mdim_freq_est import RSpFD_solution, SMP_solution, SPL_solution
from numpy.typing import NDArray
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

GAMMA = 19
EPSILON = math.log(GAMMA)
LENGTHS = range(1, len(SCHEMA.shape) + 1)
TRUTH = census_counts()
METHODS = ("moment", "likelihood")
#: Number of simulated surveys, and for peers that take a minute each.
SURVEYS, PEERS_SURVEYS = 20, 2

#: Number of hash functions; more are slower and hardly more accurate.
HASHES = 1_000

#: A survey whose reports are records, so that true records can be counted.
AS_THEY_ARE = census_survey("census", GammaDiagonal(GAMMA))

Array = NDArray[np.float64]


def errors_by_length() -> tuple[list[str], list[list[str]]]:
    """Return header and rows: mechanism, estimate, and error by length in percentage points."""
    lengths = dict.fromkeys(LENGTHS, 1.0)
    rows = [bound()]
    rows += _ours(SplitQuestionnaire.designed(SCHEMA, GAMMA, (), lengths))
    rows.append(_designed_for_one_length_each())
    rows += _ours(GammaDiagonal(GAMMA))
    rows += _ours(RandomizedResponse.for_amplification(SCHEMA, GAMMA))
    rows += [_row(name, "its own", _of_whole_records(peer)) for name, peer in WHOLE_RECORDS.items()]
    rows += [_row(name, "its own", _of_single_answers(peer)) for name, peer in SINGLE.items()]
    return ["mechanism", "estimate", *map(str, LENGTHS)], rows


def errors_of_dependent_answers() -> tuple[list[str], list[list[str]]]:
    """Return the same for a mixture of three groups with strongly dependent answers."""
    kinds = []
    for number, share in enumerate((0.5, 0.3, 0.2)):
        of_kind = []
        for size in SCHEMA.shape:
            answers = np.full(size, 0.1 / (size - 1))
            answers[number % size] = 0.9
            of_kind.append(answers)
        kinds.append(share * reduce(np.multiply.outer, of_kind))
    table = np.sum(kinds, axis=0)
    mechanism = SplitQuestionnaire.designed(SCHEMA, GAMMA, (), dict.fromkeys(LENGTHS, 1.0))
    survey = census_survey("dependent", mechanism)
    reconstruction = of_perturbation(mechanism.bind(SCHEMA))
    squares: dict[str, list[Array]] = {}
    for seed in range(SURVEYS):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(table.size, TRUTH.reports, p=table.ravel() / table.sum())
        records = np.stack(np.unravel_index(drawn, table.shape), axis=1)
        truth = Counts.from_reports(AS_THEY_ARE, records)
        reports = mechanism.bind(SCHEMA).reports(records, rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))
        whole = independence(reconstruction, estimator.counts)
        for name, support in {
            "moment": partial(_unbiased, estimator),
            "independence": partial(_margin, whole),
            "likelihood": estimator.best_guess.table,
        }.items():
            errors = root_mean_square_errors(support, truth, LENGTHS)
            squares.setdefault(name, []).append(np.square(errors))
    rows = [
        _row("split-questionnaire", name, np.sqrt(np.mean(found, axis=0)))
        for name, found in squares.items()
    ]
    return ["mechanism", "estimate", *map(str, LENGTHS)], rows


def errors_of_wanted_tables() -> tuple[list[str], list[list[str]]]:
    """Return the errors of single attributes, and of the groups of six wanted tables."""
    lengths = dict.fromkeys(LENGTHS, 1.0)
    designs = {
        "all tables": (SCHEMA, SplitQuestionnaire.designed(SCHEMA, GAMMA, (), lengths)),
        "all pairs": (SCHEMA, SplitQuestionnaire.designed(SCHEMA, GAMMA, (), {1: 1.0, 2: 1.0})),
        "wanted tables": (SCHEMA, SplitQuestionnaire.designed(SCHEMA, GAMMA, (), [WANTED])),
        "wanted tables of groups": (
            GROUPED,
            SplitQuestionnaire.designed(GROUPED, GAMMA, (), [WANTED]),
        ),
    }
    rows = []
    for name, (schema, mechanism) in designs.items():
        survey, alone, cells = Survey("census", "CENSUS", schema, mechanism), [], []
        detail, together = reconstruction(survey), reconstruction(survey_in_groups(survey))
        for seed in range(SURVEYS):
            rng = np.random.default_rng(seed)
            reports = survey.perturbation.reports(census_codes(), rng)
            counts = Counts.from_reports(survey, reports)
            errors = root_mean_square_errors(
                lambda names, found=counts, of=detail: of.table(found, names).value, TRUTH, [1]
            )
            alone.append(errors[0] ** 2)
            error = error_in_groups(
                lambda names, found=counts, of=together: of.table(found, names).value,
                TRUTH,
                GROUPED,
                enumerate_tables(SCHEMA, WANTED),
            )
            cells.append(error**2)
        rows.append(_row(name, "", np.sqrt([np.mean(alone), np.mean(cells)])))
    return ["design", "", "one attribute", "groups of wanted tables"], rows


def bound() -> list[str]:
    """Return the row of the lower bound of all mechanisms for evenly spread answers."""
    errors = information_bound(SCHEMA, Fraction(GAMMA), TRUTH.reports, (), LENGTHS)
    return _row("bound for evenly spread answers", "", [errors[length] for length in LENGTHS])


def _unbiased(estimator: Estimator, names: Sequence[str]) -> Array:
    return estimator.table(names).value


def _row(name: str, estimate: str, errors: Sequence[float]) -> list[str]:
    return [name, estimate, *(f"{100 * error:.2f}" for error in errors)]


def _ours(mechanism: Mechanism) -> list[list[str]]:
    """Return the rows of one of our mechanisms, one for each estimate."""
    squares: dict[str, list[Array]] = {method: [] for method in METHODS}
    for estimator in _simulated(mechanism):
        tables = {
            "moment": partial(_unbiased, estimator),
            "likelihood": estimator.best_guess.table,
        }
        for method in METHODS:
            errors = root_mean_square_errors(tables[method], TRUTH, LENGTHS)
            squares[method].append(np.square(errors))
    return [
        _row(mechanism.kind, method, np.sqrt(np.mean(squares[method], axis=0)))
        for method in METHODS
    ]


def _designed_for_one_length_each() -> list[str]:
    """Return the errors at each length of surveys designed for that length alone."""
    errors = []
    for length in LENGTHS:
        mechanism = SplitQuestionnaire.designed(SCHEMA, GAMMA, (), {length: 1.0})
        found = [
            root_mean_square_errors(partial(_unbiased, estimator), TRUTH, [length])
            for estimator in _simulated(mechanism)
        ]
        errors.append(math.sqrt(np.square(found).mean()))
    return _row("split-questionnaire, for one length each", "moment", errors)


def _simulated(mechanism: Mechanism) -> Iterator[Estimator]:
    """Yield estimators of simulated surveys."""
    survey = census_survey("census", mechanism)
    for seed in range(SURVEYS):
        reports = mechanism.bind(SCHEMA).reports(census_codes(), np.random.default_rng(seed))
        yield Estimator(survey, Counts.from_reports(survey, reports))


def _margin(table: Array, names: list[str]) -> Array:
    return table.sum(axis=tuple(set(range(table.ndim)) - set(SCHEMA.positions(names))))


def _of_whole_records(estimated: Callable[[list[int]], Array]) -> Array:
    """Return the errors of a peer that treats a record as one of 2 000 values."""
    cells = np.ravel_multi_index(tuple(census_codes().T), SCHEMA.shape).tolist()
    squares = []
    for _ in range(PEERS_SURVEYS):
        table = np.reshape(estimated(cells), SCHEMA.shape) / len(cells)
        errors = root_mean_square_errors(partial(_margin, table), TRUTH, LENGTHS)
        squares.append(np.square(errors))
    return np.sqrt(np.mean(squares, axis=0))


def _of_single_answers(estimated: Callable[[], Sequence[Array]]) -> Array:
    """Return the errors of a peer that asks several questions and estimates each separately."""
    squares = []
    for _ in range(SURVEYS):
        tables = dict(zip(SCHEMA.names, estimated(), strict=True))
        errors = root_mean_square_errors(lambda names, t=tables: t[names[0]], TRUTH, [1])
        squares.append(np.square(errors))
    return np.sqrt(np.mean(squares, axis=0))


def _unary(cells: list[int]) -> Array:
    client = UEClient(EPSILON, SCHEMA.size, use_oue=True, index_mapper=_same)
    server = UEServer(EPSILON, SCHEMA.size, use_oue=True, index_mapper=_same)
    return _through(client, server, cells)


def _hashing(cells: list[int]) -> Array:
    sizes = (EPSILON, SCHEMA.size, HASHES)
    client = FastLHClient(*sizes, use_olh=True, index_mapper=_same)
    server = FastLHServer(*sizes, use_olh=True, index_mapper=_same)
    return _through(client, server, cells)


def _hadamard(cells: list[int]) -> Array:
    server = HadamardResponseServer(EPSILON, SCHEMA.size, index_mapper=_same)
    functions = server.get_hash_funcs()
    client = HadamardResponseClient(EPSILON, SCHEMA.size, functions, index_mapper=_same)
    return _through(client, server, cells)


def _through(client: object, server: object, cells: list[int]) -> Array:
    """Return the number of people in each cell as estimated by a peer."""
    for cell in cells:
        server.aggregate(client.privatise(cell))
    return np.array([server.estimate(cell, suppress_warnings=True) for cell in range(SCHEMA.size)])


def _same(cell: int) -> int:
    return cell


def _split(client: Callable[..., object], aggregator: Callable[..., Sequence[Array]]) -> object:
    """Return a peer of the library for several questions from its two functions."""

    def estimated() -> Sequence[Array]:
        sizes, questions = list(SCHEMA.shape), len(SCHEMA.shape)
        reports = [client(tuple(row), sizes, questions, EPSILON) for row in census_codes().tolist()]
        return aggregator(reports, sizes, questions, EPSILON)

    return estimated


#: Peers for single values, applied to the whole record.
WHOLE_RECORDS = {
    "unary encoding": _unary,
    "local hashing": _hashing,
    "Hadamard response": _hadamard,
}

#: Peers for several questions, each with its best mechanism.
SINGLE = {
    "SPL": _split(SPL_solution.SPL_ADP_Client, SPL_solution.SPL_ADP_Aggregator_MI),
    "SMP": _split(SMP_solution.SMP_ADP_Client, SMP_solution.SMP_ADP_Aggregator_MI),
    "RS+FD": _split(RSpFD_solution.RSpFD_ADP_Client, RSpFD_solution.RSpFD_ADP_Aggregator_MI),
}
