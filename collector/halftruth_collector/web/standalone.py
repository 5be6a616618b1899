"""Self-contained pages for files."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from halftruth_shared.deadlines import checked
from halftruth_shared.results.wording import number
from jinja2 import Environment, PackageLoader, StrictUndefined

from .narrow import headed


def standalone(template: str, styles: Sequence[str] = (), **values: Any) -> str:
    """Render a page with the styles of some assets inline."""
    environment = Environment(
        loader=PackageLoader("halftruth_collector.web.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["checked"] = checked
    environment.filters |= {"headed": headed, "number": number}
    assets = files("halftruth_collector.web.pages") / "assets"
    style = "".join((assets / name).read_text(encoding="utf-8") for name in styles)
    return environment.get_template(template).render(style=style, **values).lstrip()
