"""Every method of the store's protocols is called by one of the contracts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import errands.ports.store

PROTOCOLS = sorted(Path(errands.ports.store.__file__).parent.glob("[a-z]*.py"))
SUITES = sorted(Path(__file__).parent.glob("store_*.py"))


def promised(place: Path) -> set[str]:
    classes = [node for node in ast.walk(ast.parse(place.read_text())) if isinstance(node, ast.ClassDef)]
    return {each.name for found in classes for each in found.body if isinstance(each, ast.FunctionDef)}


def called() -> set[str]:
    """Return the names of the methods that a contract calls on a `store`."""
    trees = [ast.parse(place.read_text()) for place in SUITES]
    return {
        node.func.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "store"
    }


@pytest.mark.parametrize("place", PROTOCOLS, ids=lambda place: place.stem)
def test_every_method_of_a_protocol_is_called_by_a_contract(place: Path) -> None:
    assert promised(place)
    assert sorted(promised(place) - called()) == []


def test_there_are_eight_protocols() -> None:
    assert len(PROTOCOLS) == 8
