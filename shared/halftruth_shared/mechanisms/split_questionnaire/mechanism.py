"""Split questionnaire with projective geometry response."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from math import prod
from types import ModuleType
from typing import ClassVar, TypedDict

from ...errors import ParameterError
from ...rational import Rational, format_rational, parse_rational
from ...schema import Schema
from ...subset_responses import (
    MAX_CELLS,
    MAX_PAIRS,
    MAX_PRIME,
    choose_direct,
    choose_pairs,
    choose_prime,
    is_prime,
    response,
)
from ..base import Mechanism, Parameters, Perturbation
from ..gamma_diagonal import resolve_gamma
from .views import (
    ViewClass,
    check_set_views,
    check_sets,
    check_unperturbed,
    check_views,
    enumerate_views,
)
from .wanted import WantedTables, check_wanted, demands, enumerate_tables

#: Default of the largest number of attributes of tables.
MAX_LENGTH = 3

#: Share of the information of a report that pairs of cells have to add for being proposed.
_LEAST_GAIN = Fraction(1, 100)


class _Answered(TypedDict):
    """Parameters of the responses to views."""

    prime: int | None
    direct: int | None
    pairs: int | bool | None


class SplitQuestionnaireParameters(
    Parameters, frozen=True, tag="split-questionnaire", omit_defaults=True
):
    """``gamma`` or ``breach``, ``public``, and ``views`` or their objective.

    The objective is either ``tables``, those that are wanted, or ``max_length``, the largest number
    of attributes of tables, with ``lengths``, the importance of each length, 1 by default. A
    survey with views can have ``tables`` besides, which queries start with.
    """

    gamma: str | int | None = None
    breach: tuple[str | int, str | int] | None = None
    max_length: int | None = None
    lengths: dict[str, float] | None = None
    tables: tuple[WantedTables, ...] | None = None
    prime: int | None = None
    direct: int | None = None
    pairs: int | bool | None = None
    views: tuple[ViewClass, ...] | None = None
    public: tuple[str, ...] | None = None

    def mechanism(self, schema: Schema) -> "SplitQuestionnaire":
        gamma, public = resolve_gamma(self.gamma, self.breach), self.public or ()
        response: _Answered = {"prime": self.prime, "direct": self.direct, "pairs": self.pairs}
        chosen_by = "views" if self.views is not None else "tables" if self.tables else None
        for field in ("max_length", "lengths") if chosen_by else ():
            if getattr(self, field) is not None:
                raise ParameterError(
                    f"{field}: expected either {chosen_by}, or lengths that views are chosen for",
                    field=field,
                )
        if self.views is not None:
            return SplitQuestionnaire(gamma, self.views, public, self.tables or (), **response)
        check_unperturbed(schema, public)
        wanted = self.tables or _parse_importance(schema, public, self.max_length, self.lengths)
        return SplitQuestionnaire.designed(schema, gamma, public, wanted, **response)


def _parse_importance(
    schema: Schema,
    public: Collection[str],
    max_length: int | None,
    lengths: Mapping[str, float] | None,
) -> dict[int, float]:
    """Return the weight of tables of each length, from the parameters of a survey file."""
    explicit = {_parse_length(text): value for text, value in (lengths or {}).items()}
    most = len(schema.names) - len(public)
    usual = max(explicit, default=min(MAX_LENGTH, most))
    longest = usual if max_length is None else max_length
    if not 1 <= longest <= most:
        field = "lengths" if max_length is None else "max_length"
        raise ParameterError(
            f"{field}: expected from 1 to {most}, which is how many attributes are not public",
            field=field,
        )
    for length, value in explicit.items():
        if not 1 <= length <= longest:
            raise ParameterError(
                f"lengths: expected lengths from 1 to max_length, which is {longest}",
                field="lengths",
            )
        if not 0 < value < math.inf:
            raise ParameterError(
                "lengths: expected the importance of each as a number above 0", field="lengths"
            )
    return dict.fromkeys(range(1, longest + 1), 1.0) | explicit


def _parse_length(text: str) -> int:
    """Parse a number of attributes; 0 for an invalid text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0


def _design() -> ModuleType:
    """Return the module that optimizes views; ParameterError without SciPy."""
    try:
        return import_module(".design", __package__)
    except ImportError:
        raise ParameterError(
            "views: expected them to be given, since SciPy is missing here to choose them; or"
            " install halftruth-collector",
            field="views",
        ) from None


class SplitQuestionnaire(Mechanism):
    """Report one symbol about a few questions, drawn before they are answered.

    A view, which is a group of attributes, is drawn with its weight. The report is a symbol that is
    γ times as likely for some cells of the view as for the others: by k-ary randomized response for
    few cells, by pairs of cells for some more if `pairs` is given, else by projective geometry
    response (Feldman, Nelson, Nguyen & Talwar 2022); see `subset_responses`. *Public* attributes
    are in no view and are sent unperturbed with every report.

    Parameters
    ----------
    gamma : Fraction, int or str
        Amplification, above 1.
    views : sequence of ViewClass
    public : sequence of str
        Attributes that are not sensitive.
    tables : sequence of WantedTables
        What will be asked of the results, each of them in some view.
    prime : int, optional
        q of the geometries; by default the prime nearest γ + 1.
    direct : int, optional
        Largest number of cells for k-ary randomized response; by default the largest for which it
        is as informative as a geometry, or as pairs.
    pairs : int or True, optional
        Largest number of cells whose pairs are the symbols, at most 512; if true, the largest for
        which they are as informative as a geometry. None by default.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    """

    kind = "split-questionnaire"
    parameters_type: ClassVar[type[Parameters]] = SplitQuestionnaireParameters

    def __init__(
        self,
        gamma: Rational,
        views: Sequence[ViewClass],
        public: Sequence[str] = (),
        tables: Sequence[WantedTables] = (),
        *,
        prime: int | None = None,
        direct: int | None = None,
        pairs: int | bool | None = None,
    ) -> None:
        if isinstance(public, str):
            raise ParameterError("public: expected a list of names", field="public")
        self.gamma = parse_rational(gamma, "gamma")
        if self.gamma <= 1:
            raise ParameterError("gamma: expected an amplification above 1", field="gamma")
        self.prime = choose_prime(self.gamma) if prime is None else prime
        if type(self.prime) is not int or self.prime > MAX_PRIME or not is_prime(self.prime):
            raise ParameterError(f"prime: expected a prime up to {MAX_PRIME}", field="prime")
        if direct is None:
            chosen = choose_direct(self.gamma, self.prime)
            direct = chosen if pairs is None else choose_pairs(self.gamma, self.prime)[0]
        self.direct = direct
        if type(self.direct) is not int or not 2 <= self.direct <= MAX_CELLS:
            raise ParameterError(
                f"direct: expected an integer from 2 to {MAX_CELLS}", field="direct"
            )
        self.pairs = None if pairs is None else self._resolve_pairs(pairs)
        self.classes = tuple(views)
        self.public = tuple(public)
        self.tables = tuple(tables)

    def _resolve_pairs(self, pairs: int | bool) -> int | None:
        if pairs is True:
            _, most = choose_pairs(self.gamma, self.prime)
            return most if most > self.direct else None
        if type(pairs) is not int or not self.direct < pairs <= MAX_PAIRS:
            raise ParameterError(
                f"pairs: expected true, or an integer above direct, which is {self.direct}, and up"
                f" to {MAX_PAIRS}",
                field="pairs",
            )
        return pairs

    @classmethod
    def designed(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Sequence[str],
        wanted: Mapping[int, float] | Sequence[WantedTables],
        *,
        prime: int | None = None,
        direct: int | None = None,
        pairs: int | bool | None = None,
    ) -> "SplitQuestionnaire":
        """Return the mechanism with optimal views for some tables.

        `wanted` are the tables of some numbers of attributes, as the weight of the error of each
        number; or wanted tables, besides which each attribute alone is wanted, as `wanted.demands`
        says. The largest weighted error is minimized. The default prime depends on the largest of
        these tables. Raises ParameterError if a parameter is outside its range, or SciPy, which
        optimizes the views, is missing.
        """
        # Only those who design a survey need it.
        from .sets import add_views, views_of_lengths, views_of_tables

        resolved = cls(gamma, (), public, prime=prime, direct=direct, pairs=pairs)
        check_sets(schema, public)
        of_lengths = wanted if isinstance(wanted, Mapping) else None
        tables = () if isinstance(wanted, Mapping) else tuple(wanted)
        about = demands(schema, tables, public) if of_lengths is None else ()
        of_sets = (
            views_of_tables(schema, about)
            if of_lengths is None
            else views_of_lengths(schema, public, of_lengths)
        )
        # Views of sets are chosen for themselves, beside those of all other questions.
        apart = frozenset({*public, *(schema.names[j] for j in schema.set_of)})
        about = tuple(each for each in about if schema.set_of.keys().isdisjoint(each[0]))
        rest = len(schema.names) - len(apart)
        lengths = {n: value for n, value in (of_lengths or {}).items() if n <= rest}
        views: tuple[ViewClass, ...] = ()
        square = 0.0
        if rest:
            design = _design()
            if prime is None:
                if of_lengths is not None:
                    cells = design.count_largest_table(schema, apart, max(lengths))
                else:
                    together = (prod(schema.group_shape[j] for j in table) for table, _ in about)
                    cells = max(*schema.shape, *together)
                prime = design.decodable_prime(resolved.gamma, cells, resolved.prime)
                resolved = cls(gamma, (), public, prime=prime, direct=direct, pairs=pairs)
            answered = resolved.prime, resolved.direct, resolved.pairs or 0
            if of_lengths is not None:
                weights = tuple(lengths.items())
                chosen = design.choose_views(schema, resolved.gamma, apart, weights, *answered)
            else:
                chosen = design.choose_views_for(schema, resolved.gamma, about, *answered)
            views, square = chosen.classes, chosen.square
        if of_sets:
            views = add_views(schema, resolved.gamma, of_sets, views, square)
        return cls(gamma, views, public, tables, **resolved._answered)

    def wanted(self, schema: Schema) -> Iterator[tuple[str, ...]]:
        return (names for each in self.tables for names in enumerate_tables(schema, each))

    @property
    def _answered(self) -> _Answered:
        return {"prime": self.prime, "direct": self.direct, "pairs": self.pairs}

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "SplitQuestionnaire | None":
        """Optimize the views for tables of up to `max_length` attributes, three by default.

        Pairs of cells are symbols if that makes reports more informative by at least 1 %, as with
        ``pairs = true`` in a survey file. Returns None if all attributes are public.
        """
        unperturbed = [name for name in schema.names if name in public]
        most = len(schema.names) - len(unperturbed)
        if most == 0:
            return None
        lengths = range(1, min(max_length or MAX_LENGTH, most) + 1)
        importance = dict.fromkeys(lengths, 1.0)
        return cls._with_pairs_if_used(
            schema, lambda pairs: cls.designed(schema, gamma, unperturbed, importance, pairs=pairs)
        )

    def with_amplification(
        self, schema: Schema, gamma: Rational, max_length: int | None = None
    ) -> "SplitQuestionnaire | None":
        if self.tables:
            return self.for_tables(schema, gamma, (), self.tables)
        return self.for_amplification(schema, gamma, (), max_length)

    @classmethod
    def for_tables(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Sequence[str],
        tables: Sequence[WantedTables],
    ) -> "SplitQuestionnaire":
        """Optimize the views for wanted tables, with the responses of `for_amplification`."""
        return cls._with_pairs_if_used(
            schema, lambda pairs: cls.designed(schema, gamma, public, tables, pairs=pairs)
        )

    @classmethod
    def _with_pairs_if_used(
        cls, schema: Schema, design: Callable[[bool | None], "SplitQuestionnaire"]
    ) -> "SplitQuestionnaire":
        """Return the design with pairs as symbols if its reports are more informative by them.

        They are tried if a view has more cells than k-ary response is best for.
        """
        found = design(None)
        direct, most = choose_pairs(found.gamma, found.prime)
        views = [view for view in found.bind(schema).views if not view.options]
        if most <= direct or all(prod(view.shape) <= direct for view in views):
            return found
        try:
            by_pairs = design(True)
        except ParameterError:
            # Pairs of cells have many symbols, perhaps too many for all views.
            return found
        weights = Counter[int]()
        for view in by_pairs.bind(schema).views:
            if view.options:
                continue
            weights[prod(view.shape)] += view.weight
        gain = Fraction(0)
        for cells in weights:
            if direct < cells <= most:
                other = response(found.gamma, cells, found.prime, found.direct)
                own = response(found.gamma, cells, by_pairs.prime, direct, most)
                gain += weights[cells] * (1 - other.information / own.information)
        return by_pairs if gain > _LEAST_GAIN * weights.total() else found

    def parameters(self) -> Parameters:
        return SplitQuestionnaireParameters(
            gamma=format_rational(self.gamma, "gamma"),
            **self._answered,
            views=self.classes,
            public=self.public or None,
            tables=self.tables or None,
        )

    def bind(self, schema: Schema) -> Perturbation:
        check_unperturbed(schema, self.public)
        check_sets(schema, self.public)
        check_views(schema, self.classes, self.public)
        public = tuple(sorted(schema.positions(self.public))) if self.public else ()
        answered = self.prime, self.direct, self.pairs or 0
        views = enumerate_views(schema, self.classes, self.gamma, *answered)
        check_set_views(schema, views)
        check_wanted(schema, self.tables, self.public, views)
        return Perturbation(self, schema, views, public)
