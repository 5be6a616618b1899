"""Columns of long tables: numbers, texts by code, and sets of answers.

A list of itemsets has hundreds of thousands of rows, so that a column is one array, and the texts
and answers of a row are made when the row is read. In JSON a column is a list, null where there is
no value.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int64]
if TYPE_CHECKING:
    Numbers = NDArray[np.float64]
else:
    # msgspec takes a class.
    Numbers = np.ndarray

T = TypeVar("T", bound="Column")


class Column:
    """Values of a column that are no floating-point numbers."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, row: int, /) -> Any:
        """Return the value in a row; None where there is none."""

    @abstractmethod
    def take(self: T, rows: Any, /) -> T:
        """Return the column of some rows, by their places, a slice or a mask."""

    @property
    @abstractmethod
    def ids(self) -> Codes:
        """Numbers that are equal where the values are, −1 where there is none."""

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class Texts(Column):
    """Texts by code.

    Parameters
    ----------
    codes : array_like of int, shape (K,)
        −1 where there is none.
    levels : sequence of str
        The text of each code.
    """

    def __init__(self, codes: ArrayLike, levels: Sequence[str]) -> None:
        self.codes: Codes = np.asarray(codes, dtype=np.int64)
        self.levels = tuple(levels)

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> "Texts":
        """Return the column of some texts.

        >>> Texts.of(["no", None, "yes", "no"]).codes.tolist()
        [0, -1, 1, 0]
        """
        places: dict[str, int] = {}
        codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        return cls(codes, [*places])

    @classmethod
    def constant(cls, text: str | None, length: int) -> "Texts":
        """Return the column that has one text in every row."""
        return cls(np.full(length, -1 if text is None else 0), () if text is None else (text,))

    @classmethod
    def concatenate(cls, columns: Sequence["Texts"]) -> "Texts":
        """Return the rows of several columns, one after the other."""
        places: dict[str, int] = {}
        codes = []
        for column in columns:
            levels = [places.setdefault(level, len(places)) for level in column.levels]
            codes.append(np.array([*levels, -1], dtype=np.int64)[column.codes])
        return cls(np.concatenate(codes) if codes else np.empty(0, int), [*places])

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = self.codes[row]
        return None if code < 0 else self.levels[code]

    def __iter__(self) -> Iterator[str | None]:
        # The code of a text that is none, −1, is the place of the last one.
        return map([*self.levels, None].__getitem__, self.codes.tolist())

    def take(self, rows: Any) -> "Texts":
        return Texts(self.codes[rows], self.levels)

    @property
    def ids(self) -> Codes:
        return self.codes

    def renamed(self, names: Mapping[str, str]) -> "Texts":
        """Return the column with other texts for some levels."""
        return Texts(self.codes, [names.get(level, level) for level in self.levels])

    def equals(self, text: str) -> NDArray[np.bool_]:
        """Return the rows that have a text, as a mask."""
        place = self.levels.index(text) if text in self.levels else -2
        return np.asarray(self.codes == place)


class AnswerSets(Column):
    """Answers to some questions in each row, as an itemset or a side of a rule.

    Parameters
    ----------
    codes : array_like of int, shape (R, M)
        Answer to each question, −1 where a question is not in the set.
    questions : sequence of str, length M
    answers : sequence of sequences of str
        The answers to each question, by code.
    of_rows : array_like of int, shape (K,), optional
        Which of the R sets each row has; by default one after the other.
    """

    def __init__(
        self,
        codes: ArrayLike,
        questions: Sequence[str],
        answers: Sequence[Sequence[str]],
        of_rows: ArrayLike | None = None,
    ) -> None:
        self.codes = np.asarray(codes)
        self.questions = tuple(questions)
        self.answers = tuple(map(tuple, answers))
        self._rows: Codes = np.arange(len(self.codes)) if of_rows is None else np.asarray(of_rows)

    @classmethod
    def of(cls, sets: Sequence[Mapping[str, str] | None]) -> "AnswerSets":
        """Return the column of some sets of answers, in an order that agrees with each of them.

        >>> list(AnswerSets.of([{"sex": "male"}, {"sex": "female", "vote": "left"}, None]))
        [{'sex': 'male'}, {'sex': 'female', 'vote': 'left'}, None]
        """
        answers: dict[str, dict[str, int]] = {}
        for each in sets:
            for name, answer in (each or {}).items():
                known = answers.setdefault(name, {})
                known.setdefault(answer, len(known))
        answers = {name: answers[name] for name in _in_order(answers, sets)}
        codes = np.full((len(sets), len(answers)), -1)
        for row, each in enumerate(sets):
            for place, (name, known) in enumerate(answers.items()):
                codes[row, place] = known.get((each or {}).get(name, ""), -1)
        none = [each is None for each in sets]
        rows = np.where(none, -1, np.arange(len(sets)))
        return cls(codes, [*answers], [[*known] for known in answers.values()], rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> dict[str, str] | None:
        place = self._rows[row]
        if place < 0:
            return None
        codes = self.codes[place]
        given = np.flatnonzero(codes >= 0).tolist()
        return {self.questions[j]: self.answers[j][codes[j]] for j in given}

    def take(self, rows: Any) -> "AnswerSets":
        return AnswerSets(self.codes, self.questions, self.answers, self._rows[rows])

    @property
    def ids(self) -> Codes:
        return self._rows

    @property
    def sizes(self) -> Codes:
        """Number of answers in each row, 0 where there is no set."""
        sizes = (self.codes >= 0).sum(axis=1)
        return np.where(self._rows < 0, 0, sizes[self._rows] if len(sizes) else 0)

    def naming(self, questions: Collection[str]) -> NDArray[np.bool_]:
        """Return the rows that have an answer to any of some questions, as a mask."""
        columns = [j for j, name in enumerate(self.questions) if name in questions]
        named = (self.codes[:, columns] >= 0).any(axis=1)
        return np.asarray((self._rows >= 0) & np.append(named, False)[self._rows])

    def renamed(
        self, questions: Mapping[str, str], answers: Mapping[str, Mapping[str, str]]
    ) -> "AnswerSets":
        """Return the column with other names of questions, and of the answers to each."""
        return AnswerSets(
            self.codes,
            [questions.get(name, name) for name in self.questions],
            [
                [answers.get(name, {}).get(answer, answer) for answer in known]
                for name, known in zip(self.questions, self.answers, strict=True)
            ],
            self._rows,
        )


def _in_order(names: Iterable[str], sets: Iterable[Mapping[str, str] | None]) -> list[str]:
    """Return names in the order in which all sets have them, if that is one."""
    before: dict[str, dict[str, None]] = {name: {} for name in names}
    for each in sets:
        for first, second in pairwise(each or ()):
            before[second][first] = None
    try:
        return [*TopologicalSorter(before).static_order()]
    except CycleError:
        return [*before]


def nulls(column: Numbers) -> list[float | None]:
    """Return numbers as JSON has them: null where they are not finite.

    >>> nulls(np.array([0.5, np.nan, np.inf]))
    [0.5, None, None]
    """
    numbers = column.astype(object)
    numbers[~np.isfinite(column)] = None
    found: list[float | None] = numbers.tolist()
    return found


def encode_column(value: object) -> object:
    """Turn a column into a list, for msgspec's ``enc_hook``.

    Raises
    ------
    NotImplementedError
        For other types, as msgspec expects.
    """
    if isinstance(value, Column):
        return list(value)
    if isinstance(value, np.ndarray):
        return nulls(value.astype(np.float64))
    if isinstance(value, Fraction):
        return float(value)
    raise NotImplementedError(f"no JSON of {type(value).__name__}")


def decode_column(kind: type, value: object) -> object:
    """Turn a list into a column, for msgspec's ``dec_hook``.

    Raises
    ------
    ValueError
        If the list is none of a column.
    """
    if not isinstance(value, list):
        raise ValueError("expected a list")
    if kind is np.ndarray:
        return np.array([np.nan if each is None else each for each in value], dtype=np.float64)
    if any(isinstance(each, dict) for each in value):
        return AnswerSets.of(value)
    return Texts.of(value)


def column_schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a column, for msgspec's ``schema_hook``.

    Raises
    ------
    NotImplementedError
        For other types, as msgspec expects.
    """
    if kind is np.ndarray:
        return {"type": "array", "items": {"type": ["number", "null"]}}
    if issubclass(kind, Column):
        answers = {"type": "object", "additionalProperties": {"type": "string"}}
        return {"type": "array", "items": {"anyOf": [{"type": ["string", "null"]}, answers]}}
    raise NotImplementedError(f"no schema of {kind.__name__}")
