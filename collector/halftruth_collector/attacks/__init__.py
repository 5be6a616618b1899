"""What additive noise on numbers really hides, as a curious collector would find out."""
