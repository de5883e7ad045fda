"""What a call is given is what its schema says, or it is refused with the name of what is wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.dialects.arguments import LONGEST, checked, milliseconds, schema, settings, task_id, text, texts
from errands.model.errors import BadValue
from errands.ports.schema import flag, integer

SCHEMA = schema(
    "name",
    name=text(longest=10),
    kind=text(enum=["a", "b"]),
    loud=flag(default=False),
    wait=milliseconds("how long", default=30_000),
    count=integer(minimum=1),
    id=task_id(),
    after=texts(),
    env=settings(),
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_defaults_are_filled_in() -> None:
    assert checked(SCHEMA, {"name": "x"}) == {"name": "x", "loud": False, "wait": 30_000}


def test_whole_numbers_may_come_as_floats() -> None:
    assert checked(SCHEMA, {"name": "x", "count": 3.0})["count"] == 3


@pytest.mark.spec("O4")
@pytest.mark.parametrize("wait", [0, 600_000, 0.5])
def test_a_wait_within_the_bounds_is_taken(wait: float) -> None:
    assert checked(SCHEMA, {"name": "x", "wait": wait})["wait"] == wait


@pytest.mark.spec("O4")
@pytest.mark.parametrize("wait", [-1, -0.001, 600_001, math.inf, -math.inf, math.nan, 10**400])
def test_a_wait_beyond_the_bounds_is_refused(wait: float) -> None:
    with pytest.raises(BadValue, match=r"^wait must be"):
        checked(SCHEMA, {"name": "x", "wait": wait})


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "name is missing"),
        ({"name": None}, "name is missing"),
        ({"name": 1}, "name must be text (got 1)"),
        ({"name": "x" * 11}, "name must have at most 10 characters (got 11)"),
        ({"name": "\ud800"}, r"name must be text in UTF-8 (got '\ud800')"),
        ({"name": "x", "kind": "c"}, "kind must be one of: a, b (got 'c')"),
        ({"name": "x", "loud": "yes"}, "loud must be true or false (got 'yes')"),
        ({"name": "x", "count": 0}, "count must be at least 1 (got 0)"),
        ({"name": "x", "count": 1.5}, "count must be a whole number (got 1.5)"),
        ({"name": "x", "after": "y"}, "after must be a list (got 'y')"),
        ({"name": "x", "after": ["y", 1]}, "entry 2 of after must be text (got 1)"),
        ({"name": "x", "env": {"A": 1}}, "A in env must be text (got 1)"),
        (
            {"name": "x", "env": {"A": "y" * (LONGEST + 1)}},
            "A in env must have at most 100,000 characters (got 100,001)",
        ),
        ({"name": "x", "env": {"A": "\ud800"}}, r"A in env must be text in UTF-8 (got '\ud800')"),
        (
            {"name": "x", "laud": True},
            "unknown argument 'laud' (did you mean loud?); the arguments are: "
            "name, kind, loud, wait, count, id, after, env",
        ),
    ],
)
def test_what_is_wrong_is_said(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(BadValue) as refused:
        checked(SCHEMA, given_)
    assert str(refused.value) == said


@pytest.mark.fault("F50")
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), ANYTHING))
def test_whatever_is_given_it_is_taken_as_declared_or_refused(arguments: dict[str, Any]) -> None:
    try:
        taken = checked(SCHEMA, arguments)
    except BadValue:
        return
    assert set(taken) <= set(SCHEMA["properties"])
    assert isinstance(taken["name"], str)
    assert isinstance(taken["loud"], bool)
    assert 0 <= taken["wait"] <= 600_000
    assert isinstance(taken.get("count", 1), int)
