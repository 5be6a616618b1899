"""Numbers with errors are of one class, so that a headline, a row and a chart ask the same one."""

import ast
from pathlib import Path

import halftruth_collector
import pytest

ROOMS = [Path(halftruth_collector.__file__).parent / room for room in ("estimation", "analyses")]

#: Names of what is estimated, and of how well it is known.
VALUES = {
    "coefficients",
    "effects",
    "estimate",
    "mean",
    "means",
    "share",
    "shares",
    "support",
    "supports",
    "value",
    "values",
}
ERRORS = {
    "effect_errors",
    "error",
    "errors",
    "half_width",
    "half_widths",
    "interval",
    "intervals",
    "lower",
    "standard_error",
    "standard_errors",
    "upper",
}


def members(node):
    """Return the names of the fields, properties and methods of a class."""
    fields = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
    methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
    assigned = (each.targets for each in node.body if isinstance(each, ast.Assign))
    return (
        {field.id for field in fields if isinstance(field, ast.Name)}
        | {method.name for method in methods}
        | {target.id for each in assigned for target in each if isinstance(target, ast.Name)}
    )


def kinds_of_estimates(text):
    classes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    return [node.name for node in classes if members(node) & VALUES and members(node) & ERRORS]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_only_estimates_have_both_a_value_and_an_error(room):
    """Tables and models have covariances, from which the errors of estimates are computed."""
    files = sorted(room.rglob("*.py"))
    assert len(files) > 20
    found = {name for file in files for name in kinds_of_estimates(file.read_text())}
    assert found == ({"Estimates"} if room.name == "estimation" else set())


def tables(text):
    """Return the classes of a module that are tables of estimated shares, with their bases."""
    classes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    bases = {node.name: {ast.unparse(base) for base in node.bases} for node in classes}
    return {name: each for name, each in bases.items() if any(b.endswith("Table") for b in each)}


def test_tables_are_of_a_source_or_derived_by_one_class():
    """A filter, excluded missing answers and merged categories are maps of cells, not classes.

    The sources are channels, pooled views, views of a set, both forms of one or two collapsed
    questions, models, and in plans the oracles of the literature.
    """
    found = {}
    for room in ROOMS:
        for file in room.rglob("*.py"):
            found |= tables(file.read_text())
    names = ["Channel", "Combined", "Derived", "Model", "Oracle", "Pair", "Pooled", "Set"]
    assert found == {f"{name}Table": {"Table"} for name in names}


def test_the_rule_sees_fields_properties_and_methods():
    kinds = """
class Contrast:
    value: float
    standard_error: float

class Bounded:
    def value(self): ...
    def interval(self): ...

class Table:
    value: float
    def covariance(self): ...
"""
    assert kinds_of_estimates(kinds) == ["Contrast", "Bounded"]
