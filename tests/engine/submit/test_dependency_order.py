"""The order of tasks that depend on each other: dependencies first, and no cycles."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.engine.submit.dependency_order import dependency_order
from errands.model.errors import Cycle

NAMES = [f"t{number}" for number in range(12)]


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, list[str]]:
    """Generate tasks without cycles, in a random order."""
    secret = draw(st.permutations(NAMES))
    after = {name: draw(st.lists(st.sampled_from(secret[:i]))) if i else [] for i, name in enumerate(secret)}
    return {name: after[name] for name in draw(st.permutations(NAMES))}


@pytest.mark.spec("L14")
@given(acyclic())
def test_each_task_follows_all_its_dependencies(after: dict[str, list[str]]) -> None:
    order = dependency_order(after)
    assert sorted(order) == sorted(after)
    place = {name: number for number, name in enumerate(order)}
    assert all(place[other] < place[name] for name, others in after.items() for other in others)


@pytest.mark.spec("L14")
@given(acyclic(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
def test_a_cycle_is_refused_and_shown(after: dict[str, list[str]], circle: list[str]) -> None:
    for name, following in zip(circle, circle[1:] + circle[:1], strict=True):
        after[name] = [*after[name], following]
    with pytest.raises(Cycle) as caught:
        dependency_order(after)

    shown = str(caught.value).split(": ")[1].split(";")[0].split(" -> ")
    assert shown[0] == shown[-1]
    assert all(following in after[name] for name, following in pairwise(shown))


def test_names_of_other_tasks_are_not_part_of_the_order() -> None:
    assert dependency_order({"b": ["outside", "a"], "a": ["outside"]}) == ["a", "b"]


def test_independent_tasks_keep_their_order() -> None:
    assert dependency_order({name: [] for name in NAMES}) == NAMES


def test_a_long_chain_is_ordered() -> None:
    chain = {f"t{number}": [f"t{number + 1}"] for number in range(3000)}
    assert len(dependency_order(chain)) == 3000
