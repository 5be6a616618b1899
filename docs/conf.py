"""The manual as a site: ``make docs`` builds it into docs/_build."""

import json
from importlib import metadata
from pathlib import Path

import halftruth_collector.web.app  # noqa: F401 (declares the calls)
from halftruth_collector.web.openapi import document

project, html_title = "halftruth", "halftruth"
release = metadata.version("halftruth-collector")
extensions = [
    "myst_nb",  # pages in Markdown, and the notebook
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_click",
    "sphinxcontrib.openapi",
]
exclude_patterns = ["_build", "examples"]
html_theme = "furo"
# Links to headings are those of the files themselves.
html_show_copyright = html_show_sphinx = False
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
# The notebook is shown with its outputs, which `make pictures` writes and a test compares.
nb_execution_mode = "off"
# Classes list their methods once.
numpydoc_show_class_members = False
autodoc_default_options = {"members": True}
autodoc_typehints = "none"
html_use_index = html_copy_source = False
# Pages are read as files, too, where tables of tables begin at the third level; and examples of
# frameworks are in languages that nothing here colours.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

# The description that a collector serves.
build = Path(__file__).parent / "_build"
build.mkdir(exist_ok=True)
(build / "openapi.json").write_text(json.dumps(document()))


_ATTRIBUTES = {
    'role="heading"': 'role="heading" aria-level="2"',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}


def _complete_attributes(app, pagename, templatename, context, doctree):
    """Captions of the contents say their level, and what scrolls can be scrolled by keys."""
    for part in context.keys() & {"body", "furo_navigation_tree"}:
        for there, complete in _ATTRIBUTES.items():
            context[part] = context[part].replace(there, complete)


def setup(app):
    """Have every page completed before it is written."""
    app.connect("html-page-context", _complete_attributes, priority=900)
