"""Synthetic baskets of the IBM Quest generator (Agrawal & Srikant 1994, §2.4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .rules import Baskets, Itemset

#: Mean share of an itemset's items that come from the itemset before it.
_CORRELATION = 0.5

#: Mean and standard deviation of the corruption levels.
_CORRUPTION = (0.5, 0.1**0.5)


@dataclass(frozen=True)
class Quest:
    """Parameters of the generator; T10.I4.D100K by default.

    Attributes
    ----------
    baskets, items, itemsets : int
        |D|, N and |L|: numbers of baskets, of items, and of potentially large itemsets.
    basket_size, itemset_size : float
        |T| and |I|: means of their Poisson sizes. Sizes of 0 are replaced by 1.
    """

    baskets: int = 100_000
    items: int = 1_000
    itemsets: int = 2_000
    basket_size: float = 10
    itemset_size: float = 4

    def simulate(self, rng: np.random.Generator) -> Baskets:
        """Return baskets, shape (baskets, items)."""
        itemsets = self.large_itemsets(rng)
        parts, present = self.parts(itemsets, rng), len(set().union(*itemsets))
        # No basket can have more items than there are in all itemsets.
        sizes = np.clip(rng.poisson(self.basket_size, self.baskets), 1, present)
        baskets = np.zeros((self.baskets, self.items), dtype=np.bool_)
        part = next(parts)
        for basket, size in enumerate(sizes.tolist()):
            filled: set[int] = set()
            while len(filled) < size:
                # One that does not fit is added all the same in half of the cases, and otherwise
                # begins the next basket.
                if len(filled.union(part)) > size and filled and rng.random() < 0.5:
                    break
                filled.update(part)
                part = next(parts)
            baskets[basket, list(filled)] = True
        return baskets

    def large_itemsets(self, rng: np.random.Generator) -> list[Itemset]:
        """Draw the potentially large itemsets, each with some items of the one before it."""
        itemsets: list[Itemset] = []
        sizes = np.minimum(np.maximum(rng.poisson(self.itemset_size, self.itemsets), 1), self.items)
        for size, share in zip(
            sizes.tolist(), rng.exponential(_CORRELATION, len(sizes)), strict=True
        ):
            before = itemsets[-1] if itemsets else ()
            common = min(round(share * size), len(before), size)
            chosen = set(rng.permutation(before)[:common].tolist())
            while len(chosen) < size:
                chosen.add(int(rng.integers(self.items)))
            itemsets.append(tuple(sorted(chosen)))
        return itemsets

    def parts(self, itemsets: list[Itemset], rng: np.random.Generator) -> Iterator[Itemset]:
        """Draw itemsets by their weights, without the items that are lost by corruption.

        Items are dropped, one after the other, as long as a uniform number is below the corruption
        level of the itemset.
        """
        weights = rng.exponential(size=len(itemsets))
        corruption = rng.normal(*_CORRUPTION, len(itemsets)).tolist()
        while True:
            for drawn in rng.choice(len(itemsets), 1_000, p=weights / weights.sum()).tolist():
                itemset = itemsets[drawn]
                kept = len(itemset)
                while kept and rng.random() < corruption[drawn]:
                    kept -= 1
                if kept:
                    yield tuple(rng.permutation(itemset)[:kept].tolist())
