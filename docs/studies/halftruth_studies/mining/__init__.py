"""Association rules of randomized market baskets, in the experiments of Guo (ch. 3)."""
