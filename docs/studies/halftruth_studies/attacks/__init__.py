"""What additive noise on numbers really hides, as a curious collector would find out.

Source: Huang, Du & Chen 2005, Deriving Private Information from Randomized Data (HDC).
"""
