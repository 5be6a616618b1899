"""The views that answer HTTP calls, each with the declaration of its call; see :mod:`~..calls`."""

from . import access, operations, operators, planning, results, surveys

__all__ = ["access", "operations", "operators", "planning", "results", "surveys"]
