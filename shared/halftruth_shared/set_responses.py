"""Set responses: report one chosen option, or one pair of them, of a question with several answers.

The *units* are the options, each missing category of the question, or the pairs of options. A
person has the units of what they chose, at most m: their set is padded to m symbols by dummies. A
symbol of the padded set is γ times as likely as any other,

    p(y|S) = γc for y in S and c for all other symbols, c = 1/(m(γ − 1) + n(U + m)),

with U units, m dummies, and n groups of people (cells of other questions), each with symbols of its
own. As every padded set has m symbols, c is the same for all, and the amplification is exactly γ.
With one missing category or more, it is the only unit of a person who did not answer. In a view of
pairs it is none.

Symbols of a group are its units in order, and then its dummies: of the person with k units, the
first m − k. So the dummies tell how many units people have.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from .responses import RandBelow


@dataclass(frozen=True)
class SetResponse:
    """Response to a question with several answers as one set, perhaps with groups of people.

    The codes of an answer are the cell of the other questions, and the code of each option: 0 if it
    is not chosen, 1 if it is, and from 2 on the missing categories, which all options share.

    Attributes
    ----------
    gamma : Fraction
    options : int
        Number of options.
    at_most : int
        Largest number of chosen options.
    missing : int
        Number of missing categories.
    groups : int
        n, the number of cells of the other questions of the view.
    pairs : bool
        Whether the units are the pairs of options.
    """

    gamma: Fraction
    options: int
    at_most: int
    missing: int = 0
    groups: int = 1
    pairs: bool = False

    @cached_property
    def units(self) -> int:
        """U, the number of units of a group."""
        if self.pairs:
            return self.options * (self.options - 1) // 2
        return self.options + self.missing

    @cached_property
    def most(self) -> int:
        """m, the largest number of units of a person, and the number of dummies of a group."""
        return self.at_most * (self.at_most - 1) // 2 if self.pairs else self.at_most

    @property
    def block(self) -> int:
        """U + m, the number of symbols of a group."""
        return self.units + self.most

    @property
    def symbols(self) -> int:
        """Number of symbols of all groups."""
        return self.groups * self.block

    @cached_property
    def share(self) -> Fraction:
        """c, the probability of each symbol outside the padded set."""
        return 1 / (self.most * (self.gamma - 1) + self.symbols)

    @property
    def outcomes(self) -> int:
        """Number of outcomes: γ for each symbol of the padded set, 1 for any other, as integers."""
        own, other = self.gamma.as_integer_ratio()
        return own * self.most + other * (self.symbols - self.most)

    def amplification(self, axes: Collection[int]) -> Fraction:
        """Return γ for two answers that differ along some axes."""
        return self.gamma if axes else Fraction(1)

    def padded(self, codes: Sequence[int]) -> list[int]:
        """Return the symbols of the padded set in increasing order.

        >>> SetResponse(Fraction(3), options=3, at_most=2).padded((0, 0, 1, 0))
        [1, 3]
        >>> SetResponse(Fraction(3), options=3, at_most=2, pairs=True).padded((0, 1, 0, 1))
        [1]
        """
        cell, *own = codes
        chosen = [option for option, code in enumerate(own) if code == 1]
        if self.pairs:
            found = [pair_number(*pair) for pair in combinations(chosen, 2)]
        else:
            found = chosen if own[0] < 2 else [self.options + own[0] - 2]
        dummies = range(self.units, self.units + self.most - len(found))
        return [cell * self.block + unit for unit in (*sorted(found), *dummies)]

    def draw(self, codes: Sequence[int], randbelow: RandBelow) -> tuple[int]:
        """Draw a symbol for the cell of the other questions and the codes of the options."""
        own, other = self.gamma.as_integer_ratio()
        padded, drawn = self.padded(codes), randbelow(self.outcomes)
        if drawn < own * self.most:
            return (padded[drawn // own],)
        symbol = (drawn - own * self.most) // other
        for each in padded:
            symbol += symbol >= each
        return (symbol,)


def pair_number(smaller: int, larger: int) -> int:
    """Return the number of a pair of options, ordered by the larger one, then by the smaller one.

    >>> [pair_number(*pair) for pair in [(0, 1), (0, 2), (1, 2), (0, 3)]]
    [0, 1, 2, 3]
    """
    return larger * (larger - 1) // 2 + smaller
