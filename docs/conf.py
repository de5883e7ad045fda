"""The web site of these documents: `make site`."""

from __future__ import annotations

import re
from pathlib import Path

project = "Errands"
copyright = "Errands contributors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Errands"
myst_heading_anchors = 4
exclude_patterns = ["requirements.md"]
suppress_warnings = ["myst.header"]

_ROOT = Path(__file__).parents[1]
_SOURCE = re.search(r'^Source = "(.*)"$', (_ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]


def setup(app):
    app.connect("source-read", _link_to_the_source)


def _link_to_the_source(app, page, content):
    """Turn links out of this folder, which the site does not have, into links to the repository."""
    folder = (Path(app.srcdir) / page).parent

    def absolute(link):
        target = (folder / link[1]).resolve()
        inside = target.is_relative_to(app.srcdir)
        return link[0] if inside else f"]({_SOURCE}/blob/main/{target.relative_to(_ROOT)})"

    content[0] = re.sub(r"\]\((\.\./[^)#]*)\)", absolute, content[0])
