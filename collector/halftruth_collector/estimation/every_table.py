"""All tables of some lengths, worked out in pieces that do not need each other."""

import math
import pickle
import secrets
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from halftruth_shared import ParameterError, Schema, Survey
from halftruth_shared.analyses.base import Answers, Missing, Target
from numpy.typing import NDArray

from ..executors import Map
from .bounds import Array, check_target
from .counts import Counts
from .estimator import Estimator

#: Cells of the tables of one piece, a fifth of a second's work; a table counts as 64 at least.
_PIECE, _LEAST = 2**14 + 2**13, 64

_Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Shares:
    """Estimated shares of the cells of several tables, one table after the other.

    Attributes
    ----------
    attributes, answers : ndarray of int, shape (cells, max_order)
        Positions in the schema of the attributes of each cell, and in these of its categories;
        −1 behind those of shorter tables.
    support, standard_error : ndarray, shape (cells,)
        NaN where an error is unknown.
    """

    attributes: _Codes
    answers: _Codes
    support: Array
    standard_error: Array


@dataclass(frozen=True)
class _Job:
    """The task that all pieces belong to; workers keep its estimator for the next piece.

    What estimates are made from goes with every piece, and takes long to read: it is read once.
    """

    token: str
    max_order: int
    target: Target
    estimator: bytes = field(repr=False, compare=False)


def every_table(
    survey: Survey,
    counts: Counts,
    lengths: Sequence[int],
    *,
    attributes: Sequence[str] | None = None,
    where: Answers | None = None,
    missing: Missing = "keep",
    target: Target = "population",
    map_pieces: Map = map,
) -> Iterator[Shares]:
    """The tables of all sets of so many attributes, piece by piece.

    Parameters
    ----------
    counts : Counts
        With at least one report.
    lengths : sequence of int
        How many attributes a table has; the shortest come first.
    attributes : sequence of str, optional
        The attributes that the sets are of; all that can be asked about by default.
    where, missing
        As of `Estimator`.
    map_pieces : callable
        Where the pieces are worked out; the estimates are the same everywhere.

    Yields
    ------
    Shares
        Of some of the tables, in the order of their sets.

    Raises
    ------
    ParameterError
        If the reports tell of no tables of some length, or a parameter is outside its range.
    HalftruthError
        Those of `Estimator` and of its tables.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
    >>> survey = Survey("health", "Health", schema, mechanism)
    >>> counts = Counts.from_cells(survey, [[0, 0], [0, 1], [1, 0], [1, 1]], [500, 100, 150, 250])
    >>> [shares] = every_table(survey, counts, [1])
    >>> shares.attributes.T.tolist(), shares.answers.T.tolist(), shares.support.round(3).tolist()
    ([[0, 0, 1, 1]], [[0, 1, 0, 1]], [0.625, 0.375, 0.688, 0.312])
    """
    check_target(target)
    estimator = Estimator(survey, counts, where, missing)
    names = estimator.schema.names if attributes is None else tuple(attributes)
    positions = estimator.schema.positions(names)
    most = min(estimator.max_order, len(positions))
    if not lengths or not all(1 <= length <= most for length in lengths):
        raise ParameterError(f"lengths: expected lengths from 1 to {most}", field="lengths")
    made_from = zlib.compress(pickle.dumps((survey, counts, where, missing)), level=1)
    job = _Job(secrets.token_hex(8), max(lengths), target, made_from)
    sets = (
        chosen
        for length in sorted(set(lengths))
        for chosen in combinations(sorted(positions), length)
    )
    yield from map_pieces(partial(_shares, job), [*_pieces(estimator.schema, sets)])


def _pieces(schema: Schema, sets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    piece, cells = [], 0
    for positions in sets:
        piece.append(positions)
        cells += max(_LEAST, math.prod(schema.shape[j] for j in positions))
        if cells >= _PIECE:
            yield piece
            piece, cells = [], 0
    if piece:
        yield piece


@lru_cache(maxsize=1)
def _estimator(job: _Job) -> Estimator:
    # Written by `every_table`, whose process asked for this.
    return Estimator(*pickle.loads(zlib.decompress(job.estimator)))  # noqa: S301


def _shares(job: _Job, sets: Sequence[tuple[int, ...]]) -> Shares:
    estimator = _estimator(job)
    names = estimator.schema.names
    tables = [estimator.table([names[j] for j in positions]) for positions in sets]
    sizes = [table.support.size for table in tables]
    attributes = np.full((len(sets), job.max_order), -1, np.int32)
    answers = np.full((sum(sizes), job.max_order), -1, np.int32)
    ends = np.cumsum(sizes)
    for row, (positions, table) in enumerate(zip(sets, tables, strict=True)):
        attributes[row, : len(positions)] = positions
        cells = np.indices(table.support.shape).reshape(len(positions), -1).T
        answers[ends[row] - sizes[row] : ends[row], : len(positions)] = cells
    return Shares(
        np.repeat(attributes, sizes, axis=0),
        answers,
        np.concatenate([table.support.ravel() for table in tables]),
        np.concatenate([table.standard_error(job.target).ravel() for table in tables]),
    )
