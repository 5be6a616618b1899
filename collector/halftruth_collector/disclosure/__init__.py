"""Disclosure about a person by a survey, with its assumptions: pure functions."""
