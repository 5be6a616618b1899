"""Tables of questions with several answers that are perturbed as one set each."""
