"""Writes: every update names the state it expects, so that exactly one of two processes wins."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import errands.stores.sqlite

UPDATE = re.compile(r"\bUPDATE (tasks|runs|approvals|outbox|signals) SET\b")
# A signal has no state: it waits until it has a run.
EXPECTED = {"signals": re.compile(r"\brun IS NULL\b")}
STATE = re.compile(r"\bstate (=|IN|NOT IN) ")
NEEDED = 20  # there are more; fewer would mean that this test searches the wrong place


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement of the store that updates one of the tables, with its file."""
    for place in Path(errands.stores.sqlite.__file__).parent.glob("*.py"):
        if place.name == "migrations.py":
            continue
        tree = ast.parse(place.read_text())
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        parts = {id(each) for text in texts for each in text.values}
        plain = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in parts]
        for sql in (*map(_joined, texts), *(str(each.value) for each in plain)):
            if UPDATE.search(sql) and "WHERE" in sql:
                yield place.name, " ".join(sql.split())


def _joined(text: ast.JoinedStr) -> str:
    return "".join([str(each.value) if isinstance(each, ast.Constant) else "?" for each in text.values])


def test_every_update_names_the_state_it_expects() -> None:
    found = list(statements())

    assert len(found) >= NEEDED
    assert [(name, sql) for name, sql in found if not _names_its_state(sql)] == []


def _names_its_state(sql: str) -> bool:
    table = UPDATE.search(sql)
    assert table is not None
    condition = sql.partition(" WHERE ")[2]
    return EXPECTED.get(table[1], STATE).search(condition) is not None


def test_an_update_without_a_state_is_found() -> None:
    assert not _names_its_state("UPDATE tasks SET state = 'done' WHERE seq = ?")
    assert _names_its_state("UPDATE tasks SET state = 'done' WHERE seq = ? AND state = 'active'")
