"""Items of the 5 822 customers of the COIL Challenge 2000 (van der Putten 2000; Guo Table 3.1)."""

from pathlib import Path

import numpy as np

from .rules import Baskets

#: Column, from 1, of Guo's items, and the code above which a customer has the item.
ITEMS = {
    "A": (18, 4),
    "B": (37, 4),
    "C": (42, 4),
    "D": (43, 3),
    "E": (44, 0),
    "F": (47, 0),
    "G": (59, 0),
    "H": (65, 0),
    "I": (68, 0),
    "J": (86, 0),
}

#: Customers by the two items of a rule X ⇒ Y, shape (2, 2): without X first, and without Y first.
COUNTS = {
    "G ⇒ H": np.array([[2415, 251], [1067, 2089]]),
    "J ⇒ G": np.array([[2557, 2917], [109, 239]]),
}

#: Number of the first columns, which describe the customer's neighbourhood, mostly by codes from 0
#: to 9; the others are about insurance policies.
_NEIGHBOURHOOD = 43


def coil_items(file: Path) -> Baskets:
    """Return the 86 items of each customer.

    Guo prints the bounds of ten items. The others are ours: a code above 4 for the neighbourhood,
    and any policy.
    """
    codes = np.loadtxt(file, dtype=np.int64)
    bounds = np.where(np.arange(codes.shape[1]) < _NEIGHBOURHOOD, 4, 0)
    for column, bound in ITEMS.values():
        bounds[column - 1] = bound
    return np.asarray(codes > bounds)
