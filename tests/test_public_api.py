"""The public API: the documents cover exactly what `errands` exports, and importing it is cheap."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import errands
from errands.model.options.draft import Draft
from tests.documents import ROOT

PAGES = ("docs/reference/python.md", "docs/how-to/toolset.md")


def test_the_documents_cover_exactly_what_is_exported() -> None:
    text = "".join((ROOT / page).read_text() for page in PAGES)
    # The file errands.toml is not a name in the module.
    documented = set(re.findall(r"\berrands\.(\w+)", text)) - {"toml"}

    assert documented == {*errands.__all__} - {"__version__"}


@pytest.mark.parametrize("name", errands.__all__)
def test_every_exported_name_can_be_imported(name: str) -> None:
    assert getattr(errands, name) is not None


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Darft'"):
        errands.Darft  # type: ignore[attr-defined]  # noqa: B018

    assert errands.Draft is Draft


def test_importing_errands_imports_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import errands; print(set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert eval(loaded) <= {"errands", "__future__"}
