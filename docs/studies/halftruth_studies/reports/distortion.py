"""Properties of the channel of a single attribute, for claims without its parameters.

The claims of Guo ch. 4 are about attributes that are each distorted by themselves. A channel that
changes whole records at once, such as the gamma-diagonal one, is not of this kind: under it even
independent answers give dependent reports, and none of the claims holds.
"""

from dataclasses import dataclass

import numpy as np
from halftruth_shared.channels.axes import Array

#: Rounding of a channel's entries.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Distortion:
    """Properties of the channel of one attribute.

    Attributes
    ----------
    distorted : bool
        False if it is sent unperturbed.
    symmetric : bool
        Whether every wrong category is equally likely, whatever the answer; so for randomized
        response.
    presence : bool
        Whether presence and absence of the category are distorted by a matrix of their own, that
        is, whether all other categories are reported as this one equally often.
    diagonally_dominant : bool
        Whether presence is reported at least as often of those it is true of as of the others;
        for two categories and Warner's model that means p ≥ ½.
    symmetric_binary : bool
        Whether presence and absence are distorted alike: as often reported of those it is true
        of as not reported of the others.
    """

    distorted: bool
    symmetric: bool
    presence: bool
    diagonally_dominant: bool
    symmetric_binary: bool

    @classmethod
    def by_matrix(cls, matrix: Array, category: int | None) -> "Distortion":
        """Return the properties of a matrix, row v reported and column u true, for a category."""
        size = len(matrix)
        off = matrix[~np.eye(size, dtype=bool)]
        others = np.delete(matrix[category], category) if category is not None else np.arange(2.0)
        kept = matrix[category, category] if category is not None else 0.0
        return cls(
            distorted=bool(np.abs(matrix - np.eye(size)).max() > _ROUNDING),
            symmetric=bool(np.ptp(off) <= _ROUNDING),
            presence=bool(np.ptp(others) <= _ROUNDING),
            diagonally_dominant=category is not None and bool(kept >= others.max()),
            symmetric_binary=category is not None
            and bool(abs(kept + others.max() - 1) <= _ROUNDING),
        )
