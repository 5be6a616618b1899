"""Randomized response for each attribute (Warner; Guo §2.2, §5.2; GYW eq. 1)."""

import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

from ..errors import ParameterError
from ..rational import Rational, as_float, format_rational, parse_rational, root_below
from ..responses import Columns, Kept
from ..schema import Schema
from .base import Mechanism, Parameters, Perturbation, check_condition, check_names, perturb_records
from .gamma_diagonal import resolve_gamma


class RandomizedResponseParameters(
    Parameters, frozen=True, tag="randomized-response", omit_defaults=True
):
    """``keep`` by attribute, or ``gamma`` or ``breach``.

    γ is divided equally among the attributes; if the survey promises by answer, γ is that of each
    answer.
    """

    keep: dict[str, str | int] | None = None
    gamma: str | int | None = None
    breach: tuple[str | int, str | int] | None = None

    def mechanism(self, schema: Schema) -> "RandomizedResponse":
        return self._made(schema, RandomizedResponse.for_amplification)

    def mechanism_by_answer(self, schema: Schema) -> "RandomizedResponse":
        return self._made(schema, RandomizedResponse.for_answers)

    def _made(
        self, schema: Schema, for_gamma: "Callable[[Schema, Fraction], RandomizedResponse]"
    ) -> "RandomizedResponse":
        if self.keep is None:
            return for_gamma(schema, resolve_gamma(self.gamma, self.breach))
        if self.gamma is not None or self.breach is not None:
            raise ParameterError("mechanism: expected one of keep, gamma and breach", field="keep")
        return RandomizedResponse(self.keep)


class RandomizedResponse(Mechanism):
    """Keep each answer with probability p_j, otherwise draw one of the others uniformly.

    Parameters
    ----------
    keep : mapping of str to Fraction, int or str
        p_j by attribute, above 1/d_j and at most 1. An attribute with p_j = 1 is sent unperturbed;
        it must not be sensitive.

    Raises
    ------
    ParameterError
        If a probability is not an exact number in its range.
    """

    kind = "randomized-response"
    parameters_type = RandomizedResponseParameters
    is_by_attribute = True

    def __init__(self, keep: Mapping[str, Rational]) -> None:
        self.keep = {name: parse_rational(p, f"keep.{name}") for name, p in keep.items()}

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "RandomizedResponse":
        """Divide γ equally: γ_j = γ^(1/M) and p_j = γ_j / (γ_j + d_j − 1).

        The γ_j are rounded down to rationals, so that the amplification of the M attributes that
        are not public is at most γ. Public attributes are always kept.

        Raises
        ------
        ParameterError
            If γ is not above 1, or so near to 1 that a γ_j would be 1.
        """
        hidden = [name for name in schema.names if name not in public]
        return cls._shared(schema, gamma, dict.fromkeys(hidden, len(hidden)))

    @classmethod
    def for_answers(
        cls, schema: Schema, gamma: Rational, public: Collection[str] = ()
    ) -> "RandomizedResponse":
        """Give each question that is not public γ, to someone who knows all other answers.

        All options of a multiple-response question share γ, and so do a question and those that
        are asked after it. The parts are rounded down to rationals.

        Raises
        ------
        ParameterError
            If γ is not above 1, or so near to 1 that a part of it would be 1.

        Examples
        --------
        >>> from halftruth_shared import Attribute, Schema
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> RandomizedResponse.for_answers(schema, 5).keep
        {'smoker': Fraction(5, 6), 'coughs': Fraction(5, 6)}
        """
        counts: dict[str, int] = {}
        for question in schema.questions:
            varying = schema.varying_with(question, public)
            for name in varying:
                counts[name] = max(counts.get(name, 0), len(varying))
        return cls._shared(schema, gamma, counts)

    @classmethod
    def _shared(
        cls, schema: Schema, gamma: Rational, counts: Mapping[str, int]
    ) -> "RandomizedResponse":
        """Give an attribute γ^(1/count); those without a count are always kept."""
        whole, most = parse_rational(gamma, "gamma"), max(counts.values(), default=0)
        shares = {n: whole if n == 1 else root_below(whole, n) for n in {*counts.values()}}
        if whole <= 1 or shares.get(most, whole) <= 1:
            raise ParameterError(
                f"gamma: expected an amplification far enough above 1 to share among {most}"
                " attributes",
                field="gamma",
            )
        keep = dict.fromkeys(schema.names, Fraction(1))
        for attribute in schema.attributes:
            if attribute.name in counts:
                share = shares[counts[attribute.name]]
                keep[attribute.name] = share / (share + len(attribute.categories) - 1)
        return cls(keep)

    def parameters(self) -> Parameters:
        return RandomizedResponseParameters(
            keep={name: format_rational(p, f"keep.{name}") for name, p in self.keep.items()}
        )

    def bind(self, schema: Schema) -> Perturbation:
        check_names(schema, self.keep, "keep")
        columns = []
        for attribute in schema.attributes:
            p, size = self.keep[attribute.name], len(attribute.categories)
            field = f"keep.{attribute.name}"
            if not Fraction(1, size) < p <= 1:
                raise ParameterError(
                    f"{field}: expected a probability above 1/{size} and at most 1", field=field
                )
            if p == 1 and attribute.sensitive:
                raise ParameterError(
                    f"{field}: a sensitive attribute cannot be kept always; expected a probability"
                    " below 1, or sensitive = false",
                    field=field,
                )
            columns.append(_keep(p, size))
            check_condition(as_float(columns[-1].condition_number), field)
        return perturb_records(self, schema, Columns(tuple(columns), at_once=True))


def _keep(p: Fraction, size: int) -> Kept:
    """Return the response, with weights in lowest terms, that keeps a value with probability p."""
    same, other = p.numerator * (size - 1), p.denominator - p.numerator
    common = math.gcd(same, other)
    return Kept(size, same // common, other // common)
