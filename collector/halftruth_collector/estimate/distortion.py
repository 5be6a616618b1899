"""What a survey's mechanism does to single attributes, as far as claims without parameters ask.

The claims of Guo ch. 4 are about attributes that are each distorted by themselves. A mechanism
that changes whole records at once, such as the gamma-diagonal one, is not of this kind: under it
even independent answers give dependent reports, and none of the claims holds.
"""

from dataclasses import dataclass

import numpy as np
from halftruth_shared import Kronecker, Survey, UniformMixture

#: Rounding of a channel's entries.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Distortion:
    """What is known of how one attribute is distorted.

    Attributes
    ----------
    distorted : bool
        False if it is sent as it is.
    symmetric : bool
        Whether every wrong category is equally likely, whatever the answer; so for randomized
        response.
    presence : bool
        Whether presence and absence of the category asked for are distorted by a matrix of their
        own, that is, whether all other categories are reported as this one equally often.
    mostly_kept : bool
        Whether presence is reported at least as often of those it is true of as of the others;
        for two categories and Warner's model that means p ≥ ½.
    warner : bool
        Whether presence and absence are distorted alike: as often reported of those it is true
        of as not reported of the others.
    """

    distorted: bool
    symmetric: bool
    presence: bool
    mostly_kept: bool
    warner: bool


def distortions(
    survey: Survey, attributes: tuple[str, ...], presence: tuple[int | None, ...]
) -> tuple[Distortion, ...] | None:
    """How each of some attributes is distorted.

    Parameters
    ----------
    survey : Survey
    attributes : tuple of str
    presence : tuple of int or None
        Code of the category asked for, attribute by attribute.

    Returns
    -------
    tuple of Distortion, or None where the attributes are not distorted each by itself.
    """
    channel = survey.mechanism.channel(survey.schema, attributes)
    if not isinstance(channel, Kronecker):
        return None
    found = []
    for factor, code in zip(channel.factors, presence, strict=True):
        if isinstance(factor, UniformMixture):
            warner = factor.input_shape == (2,)
            found.append(Distortion(factor.keep < 1, True, code is not None, True, warner))
            continue
        matrix = factor.dense()
        size = len(matrix)
        off = matrix[~np.eye(size, dtype=bool)]
        others = np.delete(matrix[code], code) if code is not None else np.array([0.0, 1.0])
        found.append(
            Distortion(
                distorted=bool(np.abs(matrix - np.eye(size)).max() > _ROUNDING),
                symmetric=bool(np.ptp(off) <= _ROUNDING),
                presence=bool(np.ptp(others) <= _ROUNDING),
                mostly_kept=code is not None and bool(matrix[code, code] >= others.max()),
                warner=code is not None
                and bool(abs(matrix[code, code] + others.max() - 1) <= _ROUNDING),
            )
        )
    return tuple(found)
