"""Distortion matrices: any column-stochastic matrix (Guo §5.2) or named design per attribute."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import get_args

import msgspec

from ..attribute import NOT_ASKED, Attribute
from ..errors import ParameterError
from ..extras import MissingExtra, import_extra
from ..rational import Rational, format_rational, parse_rational
from ..responses import Columns, Matrix, Transitions
from ..schema import Schema
from .base import (
    Mechanism,
    Parameters,
    Perturbation,
    ProvableAnswer,
    Randomizer,
    check_condition,
    check_names,
    perturb_records,
)
from .designs import RandomizedResponseDesign

_MAX_CATEGORIES = 1_024


class DistortionMatricesParameters(
    Parameters, frozen=True, tag="distortion-matrices", omit_defaults=True
):
    """``matrices`` by attribute: one row for each reported value, one column for each true one.

    Instead of a matrix, an attribute may have a named design in ``designs``. With ``randomized_by =
    "respondent"`` the respondents randomized themselves, in an interview.
    """

    matrices: dict[str, list[list[str | int]]] = msgspec.field(default_factory=dict)
    designs: dict[str, dict[str, str | int]] = msgspec.field(default_factory=dict)
    randomized_by: Randomizer = "device"

    def mechanism(self, schema: Schema) -> "DistortionMatrices":
        return DistortionMatrices(self.matrices, self.designs, self.randomized_by)


class DistortionMatrices(Mechanism):
    """Report v for the true value u with probability P_j[v, u].

    Parameters
    ----------
    matrices : mapping of str to matrix
        By attribute, d_j rows of d_j exact numbers; row v is the reported value, column u the
        true one, so that each column sums to 1.
    designs : mapping of str to mapping, optional
        By attribute without a matrix: the ``design``, with its parameters; see :mod:`.designs`.
    randomized_by : {"device", "respondent"}
        Who draws the report. Respondents who do not answer do not randomize either, so missing
        categories of a sensitive attribute are then reported unchanged.

    Raises
    ------
    ParameterError
        If a matrix is not square, has an entry outside [0, 1] or a column that does not sum to 1,
        or is too nearly singular for reconstruction; or if a design is unknown or a parameter is
        outside its range.
    """

    kind = "distortion-matrices"
    parameters_type = DistortionMatricesParameters
    is_by_attribute = True

    def __init__(
        self,
        matrices: Mapping[str, Sequence[Sequence[Rational]]],
        designs: Mapping[str, Mapping[str, Rational]] | None = None,
        randomized_by: Randomizer = "device",
    ) -> None:
        if randomized_by not in get_args(Randomizer):
            raise ParameterError(
                'randomized_by: expected "device" or "respondent"', field="randomized_by"
            )
        self.randomized_by = randomized_by
        self.matrices = {
            name: _parse_matrix(matrix, f"matrices.{name}") for name, matrix in matrices.items()
        }
        self.designs = {
            name: RandomizedResponseDesign(design, f"designs.{name}", randomized_by == "respondent")
            for name, design in (designs or {}).items()
        }
        for name in self.designs:
            if name in self.matrices:
                raise ParameterError(
                    f"designs: '{name}' has a matrix, too; expected one of both",
                    field=f"designs.{name}",
                )

    def parameters(self) -> Parameters:
        return DistortionMatricesParameters(
            {
                name: [
                    [format_rational(entry, f"matrices.{name}") for entry in row] for row in matrix
                ]
                for name, matrix in self.matrices.items()
            },
            {name: dict(design.written()) for name, design in self.designs.items()},
            self.randomized_by,
        )

    def bind(self, schema: Schema) -> Perturbation:
        written = {"matrices": self.matrices, "designs": self.designs}
        fields = [field for field, value in written.items() if value] or ["matrices"]
        check_names(schema, {**self.matrices, **self.designs}, " and ".join(fields))
        columns = []
        for attribute in schema.attributes:
            design = self.designs.get(attribute.name)
            if design is None:
                self._check_matrix(attribute)
            else:
                design.check(attribute)
            protected = tuple(self.protected_answers(attribute))
            columns.append(Transitions(self.matrix(attribute), protected))
            if design is not None:
                _check_regular(columns[-1].matrix, design.field)
        return perturb_records(self, schema, Columns(tuple(columns)))

    def _check_matrix(self, attribute: Attribute) -> None:
        matrix, size = self.matrices[attribute.name], len(attribute.categories)
        field = f"matrices.{attribute.name}"
        if len(matrix) != size:
            raise ParameterError(
                f"{field}: expected {size} rows and columns, one for each category", field=field
            )
        answered = self.protected_answers(attribute)
        if attribute.sensitive and any(sum(bool(row[u]) for u in answered) == 1 for row in matrix):
            raise ParameterError(
                f"{field}: a value that only one answer can lead to would reveal a sensitive"
                " answer; expected two positive entries in each row, or sensitive = false",
                field=field,
            )

    def protected_answers(self, attribute: Attribute) -> list[int]:
        everything = list(range(len(attribute.categories)))
        if self.randomized_by == "device":
            return everything
        answered = [
            u
            for u, category in enumerate(attribute.categories)
            if category not in attribute.missing or category == NOT_ASKED
        ]
        # A single answer would be revealed by not being missing.
        return answered if len(answered) > 1 else everything

    def matrix(self, attribute: Attribute) -> Matrix:
        """Return the matrix of an attribute, computed from its design if it has one."""
        design = self.designs.get(attribute.name)
        return self.matrices[attribute.name] if design is None else design.matrix(attribute)

    def provable(self, schema: Schema) -> dict[str, ProvableAnswer]:
        proofs = {
            attribute.name: self.designs[attribute.name].provable(attribute)
            for attribute in schema.attributes
            if attribute.name in self.designs
        }
        return {name: provable for name, provable in proofs.items() if provable is not None}

    def in_words(self, schema: Schema) -> list[str]:
        labels: dict[str, list[str]] = {}
        for attribute in schema.attributes:
            if attribute.name in self.designs:
                words = self.designs[attribute.name].in_words(attribute)
                labels.setdefault(words, []).append(f"“{attribute.label_in()}”")
        sentences = [f"For {', '.join(names)}: {words}" for words, names in labels.items()]
        if any(self._leaves_missing(attribute) for attribute in schema.attributes):
            sentences.append(
                "Whether someone answered is not randomized, and may itself reveal something about"
                " the answer. The following is about people who answered."
            )
        return sentences

    def _leaves_missing(self, attribute: Attribute) -> bool:
        """Return true if answers are randomized, but not whether there is one."""
        answered = self.protected_answers(attribute)
        if len(answered) == len(attribute.categories):
            return False
        rows = [[row[u] for u in answered] for row in self.matrix(attribute)]
        revealed = any(any(row) and not all(row) for row in rows)
        return attribute.sensitive or attribute.name in self.designs or not revealed


def _parse_matrix(rows: Sequence[Sequence[Rational]], field: str) -> Matrix:
    square = _is_list(rows) and all(_is_list(row) and len(row) == len(rows) for row in rows)
    if not square or not 2 <= len(rows) <= _MAX_CATEGORIES:
        raise ParameterError(
            f"{field}: expected a square matrix with 2 to {_MAX_CATEGORIES} rows", field=field
        )
    matrix = tuple(tuple(parse_rational(entry, field) for entry in row) for row in rows)
    if any(not 0 <= entry <= 1 for row in matrix for entry in row):
        raise ParameterError(f"{field}: expected entries from 0 to 1", field=field)
    for u, column in enumerate(zip(*matrix, strict=True)):
        if sum(column) != 1:
            raise ParameterError(
                f"{field}: column {u} sums to {sum(column)}; expected exactly 1", field=field
            )
    _check_regular(matrix, field)
    return matrix


def _check_regular(matrix: Matrix, field: str) -> None:
    """Raise ParameterError if a matrix is too nearly singular for reconstruction.

    Without NumPy it is not checked: reconstruction is what collectors do, which have it, and the
    amplification, by which a client judges a survey, does not depend on it.
    """
    with suppress(MissingExtra):
        channels = import_extra("halftruth_shared.channels")
        check_condition(channels.Dense(matrix).condition_number, field)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
