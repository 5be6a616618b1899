"""Writes the types of the methods of `Analyst` from the queries: ``python client/stub.py``.

A test compares them with ``halftruth_client/analyses.pyi``.
"""

import subprocess
import sys
from collections.abc import Iterator
from inspect import getdoc
from pathlib import Path
from typing import Any

from halftruth_client.analyses import Analyses, SurveyAnalyses
from halftruth_shared.analyses import QUERIES, Query, name_of, result_of
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.analyses.reading import Field, fields

STUB = Path(__file__).parent / "halftruth_client" / "analyses.pyi"

HEAD = '''
"""Types of the methods of `Analyst` and `SurveyAnalyst`, written by client/stub.py."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

{imports}

from .questions import Answer, MultipleResponseQuestion, Question

#: A question, or its name; an answer, or its category.
_Asked = str | Question | MultipleResponseQuestion
_Category = str | Answer

# A text is no list, although it is a sequence of texts.
_Names = list[str] | list[Question] | list[_Asked] | tuple[_Asked, ...]
_Categories = list[str] | list[Answer] | list[_Category] | tuple[_Category, ...]
_Terms = list[_Names] | list[list[str]] | tuple[_Names, ...]

# Keys are questions or their names; a mapping has one type of keys.
_Item = Mapping[Any, _Category] | Answer
_Items = Mapping[Any, _Category | _Categories] | Answer | list[Answer] | tuple[Answer, ...]
_Margins = Mapping[Any, float | Mapping[Any, float]]
_Groups = Mapping[Any, _Categories | list[list[str]] | list[_Categories]]
'''

#: Types by the kind of a field.
KINDS = {
    "number": "float",
    "integer": "int",
    "flag": "bool",
    "integers": "list[int] | tuple[int, ...]",
    "names": "_Names",
    "categories": "_Categories",
    "terms": "_Terms",
    "margins": "_Margins",
    "groups": "_Groups",
}


def type_of(field: Field) -> str:
    """Return the type of a parameter, as source text."""
    if field.kind == "items":
        known = "_Items" if field.any_of else "_Item"
    elif field.kind == "choice":
        known = f"Literal[{', '.join(map(repr, field.choices))}]"
    elif field.kind == "text":
        known = {"category": "_Category", "question": "_Asked", "attribute": "_Asked"}.get(
            field.of, "str"
        )
    else:
        known = KINDS[field.kind]
    is_optional = not field.required and field.default is None
    return f"{known} | None" if is_optional else known


def parameters_of(query: type[Query[Any]]) -> Iterator[str]:
    """Yield the parameters of a method, as source text."""
    known = fields(query).values()
    yield from (f"{field.name}: {type_of(field)}" for field in known if field.required)
    later = [field for field in known if not field.required]
    if later:
        yield "*"
    yield from (f"{field.name}: {type_of(field)} = ..." for field in later)


def parameters_of_plan() -> Iterator[str]:
    """Yield the class of the parameters of `Analyst.plan`, which are names only, line by line."""
    yield "class PlanParameters(TypedDict, total=False):"
    yield '    """Parameters of `Analyst.plan`, besides the number of respondents."""\n'
    for field in fields(PlanQuery).values():
        if field.name != "respondents":
            named = {"names": "list[str] | tuple[str, ...]", "text": "str"}.get(field.kind)
            yield f"    {field.name}: {f'{named} | None' if named else type_of(field)}"


def returned_by(query: type[Query[Any]]) -> str:
    """Return the type of the result, as source text."""
    kind = result_of(query)
    return kind.__name__ if isinstance(kind, type) else f"Result[{query.__name__}]"


def methods(owner: type, *before: str) -> Iterator[str]:
    """Yield the methods of a class, as source text."""
    for query in QUERIES.values():
        name = name_of(query).replace("-", "_")
        parameters = ["self", *before, *parameters_of(query)]
        summary = (getdoc(getattr(owner, name)) or "").partition("\n\n")[0]
        made = f"    def {name}({', '.join(parameters)}) -> {returned_by(query)}:"
        yield f'{made}\n        """{" ".join(summary.split())}"""'


def stub() -> str:
    """Return the contents of the stub file."""
    imported: dict[str, set[str]] = {"halftruth_shared.results.result": {"Result"}}
    for query in QUERIES.values():
        kind = result_of(query)
        each = kind if isinstance(kind, type) else query
        imported.setdefault(each.__module__, set()).add(each.__name__)
    imports = "\n".join(
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(imported.items())
    )
    classes = [
        "\n".join(
            [f"class {owner.__name__}:", f'    """{getdoc(owner)}"""\n', *methods(owner, *of)]
        )
        for owner, of in ((Analyses, ("survey: str",)), (SurveyAnalyses, ()))
    ]
    plan = "\n".join(parameters_of_plan())
    text = "\n\n".join([HEAD.format(imports=imports).strip(), plan, *classes])
    formatted = subprocess.run(  # noqa: S603 - the formatter of this repository
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"],
        input=text,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return formatted.stdout


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
