"""Split questionnaire with projective geometry response."""

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from ...errors import ParameterError
from ...rational import Rational, format_rational, parse_rational
from ...schema import Schema
from ..base import Mechanism, Parameters, check_public
from ..gamma_diagonal import resolve_gamma
from ..reconstruction import Reconstruction
from ..report_space import ReportSpace
from .reconstruction import SplitReconstruction
from .responses import MAX_CELLS, MAX_PRIME, is_prime, most_direct, nearest_prime
from .sampling import SplitSampler
from .views import View, ViewClass, check, check_unperturbed, expand

#: Default largest number of attributes of tables.
MAX_LENGTH = 3

#: The column of a report that answers for the questions which are not public.
SYMBOL = "(symbol)"


class SplitQuestionnaireParameters(
    Parameters, frozen=True, tag="split-questionnaire", omit_defaults=True
):
    """``gamma`` or ``breach``, ``public``, and ``views`` or their objective.

    ``max_length`` is the largest number of attributes of tables, and ``lengths`` the importance of
    each length, 1 by default.
    """

    gamma: str | int | None = None
    breach: tuple[str | int, str | int] | None = None
    max_length: int | None = None
    lengths: dict[str, float] | None = None
    prime: int | None = None
    direct: int | None = None
    views: tuple[ViewClass, ...] | None = None
    public: tuple[str, ...] | None = None

    def mechanism(self, schema: Schema) -> "SplitQuestionnaire":
        gamma, public = resolve_gamma(self.gamma, self.breach), self.public or ()
        if self.views is None:
            check_unperturbed(schema, public)
            importance = _importance(schema, public, self.max_length, self.lengths)
            return SplitQuestionnaire.designed(
                schema, gamma, public, importance, prime=self.prime, direct=self.direct
            )
        for field in ("max_length", "lengths"):
            if getattr(self, field) is not None:
                raise ParameterError(
                    f"{field}: expected either views or the lengths that they are chosen for",
                    field=field,
                )
        return SplitQuestionnaire(gamma, self.views, public, prime=self.prime, direct=self.direct)


def _importance(
    schema: Schema,
    public: Collection[str],
    max_length: int | None,
    lengths: Mapping[str, float] | None,
) -> dict[int, float]:
    """Return the weight of tables of each length, as an author wrote it."""
    explicit = {_length(text): value for text, value in (lengths or {}).items()}
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


def _length(text: str) -> int:
    """Return the number that a text is, 0 for none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0


class SplitQuestionnaire(Mechanism):
    """Report about a few of the questions, drawn before the answers, by one symbol.

    A view, which is a group of attributes, is drawn with its weight. Its cell is answered with a
    symbol that is γ times as likely for some cells as for the others: by k-ary randomized response
    where the cells are few, else by projective geometry response (Feldman, Nelson, Nguyen & Talwar
    2022); see `responses`. Attributes that are *public* are in no view and are sent
    unperturbed with every report.

    Parameters
    ----------
    gamma : Fraction, int or str
        Amplification, above 1.
    public : sequence of str
        Attributes that are not sensitive.
    prime : int, optional
        q of the geometries, by default the prime nearest γ + 1.
    direct : int, optional
        Most cells with k-ary randomized response, by default while it is more informative.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    """

    kind = "split-questionnaire"
    written_as: ClassVar[type[Parameters]] = SplitQuestionnaireParameters

    def __init__(
        self,
        gamma: Rational,
        views: Sequence[ViewClass],
        public: Sequence[str] = (),
        *,
        prime: int | None = None,
        direct: int | None = None,
    ) -> None:
        super().__init__()
        check_public(public)
        self.gamma = parse_rational(gamma, "gamma")
        if self.gamma <= 1:
            raise ParameterError("gamma: expected an amplification above 1", field="gamma")
        self.prime = nearest_prime(self.gamma) if prime is None else prime
        if type(self.prime) is not int or self.prime > MAX_PRIME or not is_prime(self.prime):
            raise ParameterError(f"prime: expected a prime up to {MAX_PRIME}", field="prime")
        self.direct = most_direct(self.gamma, self.prime) if direct is None else direct
        if type(self.direct) is not int or not 2 <= self.direct <= MAX_CELLS:
            raise ParameterError(
                f"direct: expected an integer from 2 to {MAX_CELLS}", field="direct"
            )
        self.classes = tuple(views)
        self.public = tuple(public)
        self._views: dict[Schema, tuple[View, ...]] = {}

    @classmethod
    def designed(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Sequence[str],
        importance: Mapping[int, float],
        *,
        prime: int | None = None,
        direct: int | None = None,
    ) -> "SplitQuestionnaire":
        """Return the mechanism with optimal views for tables of some lengths.

        Parameters
        ----------
        importance : mapping of int to float
            Weight of the errors of each length, the largest of which is minimized.
        prime, direct : int, optional
            The default prime depends on the largest of these tables.

        Raises
        ------
        ParameterError
            If a parameter is outside its range, or SciPy, with which views are chosen, is missing.
        """
        resolved = cls(gamma, (), public, prime=prime, direct=direct)
        try:
            from .design import choose_views, decodable_prime
        except ImportError:
            raise ParameterError(
                "views: expected them to be given, since SciPy is missing here to choose them;"
                " or install halftruth-collector",
                field="views",
            ) from None
        if prime is None:
            prime = decodable_prime(schema, resolved.gamma, public, max(importance), resolved.prime)
            resolved = cls(gamma, (), public, prime=prime, direct=direct)
        answered = resolved.prime, resolved.direct
        weights = tuple(importance.items())
        views = choose_views(schema, resolved.gamma, frozenset(public), weights, *answered)
        return cls(gamma, views, public, prime=resolved.prime, direct=resolved.direct)

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "SplitQuestionnaire | None":
        """Design for tables of up to `max_length` attributes, three by default, of equal weight.

        None where all attributes are public.
        """
        check_public(public)
        unperturbed = [name for name in schema.names if name in public]
        most = len(schema.names) - len(unperturbed)
        if most == 0:
            return None
        lengths = range(1, min(max_length or MAX_LENGTH, most) + 1)
        return cls.designed(schema, gamma, unperturbed, dict.fromkeys(lengths, 1.0))

    def parameters(self) -> Parameters:
        return SplitQuestionnaireParameters(
            gamma=format_rational(self.gamma, "gamma"),
            prime=self.prime,
            direct=self.direct,
            views=self.classes,
            public=self.public or None,
        )

    def check(self, schema: Schema) -> None:
        self.views(schema)

    def views(self, schema: Schema) -> tuple[View, ...]:
        """Every view, in the order of its symbols; ParameterError if there can be none."""
        if schema not in self._views:
            check_unperturbed(schema, self.public)
            check(schema, self.classes, self.public)
            self._views[schema] = expand(schema, self.classes, self.prime, self.direct)
        return self._views[schema]

    def amplification(self, schema: Schema, public: Collection[str] = ()) -> Fraction | float:
        """Return γ if all unperturbed attributes are known: a symbol's weight is γ or 1 in a view.

        Every other attribute is in a view, and any two cells of it have different symbols.
        """
        check_public(public)
        if not set(self.public) <= set(public):
            return math.inf
        return Fraction(1) if set(public) >= set(schema.names) else self.gamma

    def report_space(self, schema: Schema) -> ReportSpace:
        last = self.views(schema)[-1]
        public = self._public(schema)
        names = [schema.names[j] for j in public]
        sizes = [schema.shape[j] for j in public]
        return ReportSpace((*names, SYMBOL), (*sizes, last.first + last.response.symbols))

    def decode_report(self, schema: Schema, values: Sequence[int]) -> dict[str, str]:
        """The public answers, and which code was sent about which questions."""
        checked = self.report_space(schema).check(values)
        decoded = {
            schema.names[j]: schema.attributes[j].categories[code]
            for j, code in zip(self._public(schema), checked[:-1], strict=True)
        }
        symbol = checked[-1]
        names = [schema.names[j] for j in self._view_with(schema, symbol).positions]
        about = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return {**decoded, SYMBOL: f"code {symbol} about {about}"}

    def reported(self, schema: Schema, values: Sequence[int]) -> frozenset[str]:
        """Return the public attributes and those of the view that was drawn."""
        view = self._view_with(schema, values[-1])
        return frozenset([*self.public, *[schema.names[j] for j in view.positions]])

    def _view_with(self, schema: Schema, symbol: int) -> View:
        views = self.views(schema)
        return views[bisect_right(views, symbol, key=lambda view: view.first) - 1]

    def reconstruction(self, schema: Schema) -> Reconstruction:
        return SplitReconstruction(schema, self.gamma, self.views(schema), self.public)

    def _prepare(self, schema: Schema) -> SplitSampler:
        return SplitSampler(self.gamma, self._public(schema), self.views(schema))

    def _public(self, schema: Schema) -> tuple[int, ...]:
        """Positions of the public attributes."""
        return tuple(sorted(schema.positions(self.public))) if self.public else ()
