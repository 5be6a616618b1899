"""Answers that respondents randomized themselves, with dice or cards."""
