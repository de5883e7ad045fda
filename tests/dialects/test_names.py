"""Dialects are found by their names: ours, and whatever is installed besides."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from errands import dialects
from errands.dialects.native import Native
from errands.model.errors import BadValue
from errands.ports.plugin import DIALECTS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())


def test_ours_are_registered_as_anybody_elses() -> None:
    assert PROJECT["project"]["entry-points"]["errands.dialects"] == dialects.BUILT_IN


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_a_dialect_is_called_as_it_is_named(name: str) -> None:
    assert dialects.named(name).name == name


def test_an_unknown_dialect_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        BadValue, match=r"unknown dialect 'claud' \(did you mean claude\?\); known: native, op"
    ):
        dialects.named("claud")


def test_a_dialect_of_another_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    other = EntryPoint(name="klingon", value="errands.dialects.native:Native", group=DIALECTS)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: EntryPoints([other]).select(group=group)
    )
    assert isinstance(dialects.named("klingon"), Native)
    assert dialects.names() == (*dialects.BUILT_IN, "klingon")
