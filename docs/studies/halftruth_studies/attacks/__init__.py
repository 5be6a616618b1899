"""Attacks on additive noise (HDC: Huang, Du & Chen 2005, Deriving Private Information)."""
