"""SVG for pages: with a text alternative, and without what a content security policy blocks.

A policy without ``unsafe-inline`` ignores style elements and style attributes, but not the
presentation attributes that say the same.
"""

import re
from xml.dom import minidom

_REFERENCE = re.compile(r"#([\w.-]+)")


def accessible(drawing: str, title: str, description: str) -> str:
    """A drawing as one ``svg`` element with title and description, without inline styles.

    Parameters
    ----------
    drawing : str
        An SVG document drawn by Matplotlib.
    title, description : str
        What a screen reader says of it.
    """
    # It was drawn here, so it holds no entities that explode.
    with minidom.parseString(drawing) as document:  # noqa: S318
        svg = document.documentElement
        if svg is None:
            raise ValueError("not an SVG document")
        for name in ("metadata", "style"):
            for element in svg.getElementsByTagName(name):
                if element.parentNode is not None:
                    element.parentNode.removeChild(element)
        referenced = _referenced(svg)
        for element in [svg, *svg.getElementsByTagName("*")]:
            _spread_style(element)
            # Pages with several charts would have names twice.
            if element.getAttribute("id") not in referenced and element.hasAttribute("id"):
                element.removeAttribute("id")
        svg.setAttribute("role", "img")
        svg.setAttribute("stroke-linejoin", "round")
        for name, text in (("desc", description), ("title", title)):
            element = document.createElement(name)
            element.appendChild(document.createTextNode(text))
            svg.insertBefore(element, svg.firstChild)
        return svg.toxml()


def _spread_style(element: minidom.Element) -> None:
    """Turn the style attribute into presentation attributes."""
    style = element.getAttribute("style")
    if not style:
        return
    element.removeAttribute("style")
    for declaration in style.split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            element.setAttribute(name.strip(), value.strip())


def _referenced(svg: minidom.Element) -> set[str]:
    """Names that some attribute refers to."""
    return {
        name
        for element in svg.getElementsByTagName("*")
        for attribute in ("xlink:href", "clip-path")
        for name in _REFERENCE.findall(element.getAttribute(attribute))
    }
