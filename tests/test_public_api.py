"""The public API: the documents teach exactly what `errands` exports, and importing it costs nothing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import errands
from errands.model.options.draft import Draft
from tests.documents import ROOT

PAGES = ("docs/python.md", "docs/toolset.md")


def test_the_documents_teach_what_is_exported_and_nothing_else() -> None:
    text = "".join((ROOT / page).read_text() for page in PAGES)
    # Not the names of programs and files, such as `errands approve` and errands.toml.
    taught = set(re.findall(r"\berrands\.(\w+)", text)) - {"toml"}

    assert taught == {*errands.__all__} - {"__version__"}


@pytest.mark.parametrize("name", errands.__all__)
def test_every_exported_name_can_be_imported(name: str) -> None:
    assert getattr(errands, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Darft'"):
        errands.Darft  # type: ignore[attr-defined]  # noqa: B018

    assert errands.Draft is Draft


def test_importing_errands_imports_nothing_else() -> None:
    shown = "import sys; before = set(sys.modules); import errands; print(set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True).stdout

    assert eval(loaded) <= {"errands", "__future__"}
