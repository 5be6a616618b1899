"""Analysis of randomized reports themselves, without the parameters (Guo ch. 4)."""
