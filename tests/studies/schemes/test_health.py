"""HEALTH's condition numbers, by dense matrices from the definitions."""

from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import comb

import numpy as np
import pytest
from halftruth_shared import GammaDiagonal, Survey
from halftruth_studies.schemes.cut_and_paste import CutAndPaste
from halftruth_studies.schemes.health import HEALTH
from halftruth_studies.schemes.mask import Mask
from witnesses import witness

SHAPE = (5, 5, 5, 3, 2, 2, 5)


def test_the_schema_has_7500_cells():
    witness("FRAPP", "Table 2").assert_own(HEALTH.shape)
    assert np.prod(SHAPE) == 7500


def mask_condition_number(length):
    odds = 19 ** (1 / 14)
    bit = np.array([[odds, 1], [1, odds]]) / (1 + odds)
    return np.linalg.cond(reduce(np.kron, [bit] * length))


def cut_and_paste_condition_number(length):
    """Enumerate which of seven items are kept, the first ones being in the itemset."""
    rate, matrix = 0.494, np.zeros((length + 1, length + 1))
    for held in range(length + 1):
        for drawn in range(4):
            for kept in combinations(range(7), drawn):
                sure = sum(item < held for item in kept)
                for added in range(length - sure + 1):
                    others = comb(length - sure, added) * rate**added
                    chance = others * (1 - rate) ** (length - sure - added) / comb(7, drawn) / 4
                    matrix[sure + added, held] += chance
    assert matrix.sum(axis=0) == pytest.approx(1)
    return np.linalg.cond(matrix)


def test_condition_numbers_need_the_schema_alone():
    row = witness("FRAPP", "Figure 4b")
    survey = Survey("health", "HEALTH", HEALTH, GammaDiagonal("19"))
    keep = 18 / (19 + 7499)
    assert survey.perturbation.channel(HEALTH.names).condition_number == pytest.approx(1 / keep)
    for names in (HEALTH.names[:1], HEALTH.names[2:5]):
        channel = survey.perturbation.channel(names)
        assert np.linalg.cond(channel.dense()) == pytest.approx(1 / keep)
    mask = [mask_condition_number(length) for length in range(1, 8)]
    cut = [cut_and_paste_condition_number(length) for length in range(1, 4)]
    scheme = Mask.for_amplification(HEALTH, 19)
    assert [scheme.condition_number(7, k) for k in range(1, 8)] == pytest.approx(mask)
    published = CutAndPaste(3, Fraction("0.494"))
    assert [published.condition_number(7, k) for k in range(1, 4)] == pytest.approx(cut)
    assert published.condition_number(7, 4) == np.inf
    row.assert_own(1 / keep, mask[0], mask[6], cut)
