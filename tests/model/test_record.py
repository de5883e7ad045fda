"""Records: frozen, compared by value, and as strict as a signature."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.record import evolve, fields, record


@record
class Point:
    x: int
    y: int = 0
    name: str | None = None

    @property
    def sum(self) -> int:
        return self.x + self.y


@record
class Other:
    x: int
    y: int = 0
    name: str | None = None


@record
class Empty:
    pass


def test_fields_are_named_in_the_order_of_their_declaration() -> None:
    assert fields(Point) == fields(Point(x=1)) == ("x", "y", "name")
    assert fields(Empty()) == ()


def test_a_record_cannot_be_changed() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match=r"its x cannot be changed; use evolve\(\)"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.unknown = 2  # type: ignore[attr-defined]
    assert point == Point(x=1)


@pytest.mark.parametrize(
    ("places", "names"), [((), {}), ((1,), {}), ((), {"x": 1, "z": 2}), ((), {"x": 1, "sum": 2})]
)
def test_a_missing_an_unknown_and_a_positional_value_are_refused(
    places: tuple[Any, ...], names: dict[str, Any]
) -> None:
    with pytest.raises(TypeError):
        Point(*places, **names)


@given(st.integers(), st.integers(), st.none() | st.text())
def test_equal_values_are_equal_records_with_equal_hashes(x: int, y: int, name: str | None) -> None:
    one, two = Point(x=x, y=y, name=name), Point(x=x, y=y, name=name)
    assert one == two
    assert hash(one) == hash(two)
    assert one != Point(x=x + 1, y=y, name=name)


def test_records_of_different_kinds_are_never_equal() -> None:
    others: tuple[object, ...] = (Other(x=1), (1, 0, None), None)
    assert all(Point(x=1) != other for other in others)


@given(st.integers(), st.integers())
def test_evolve_changes_the_given_fields_and_leaves_the_original_alone(x: int, y: int) -> None:
    point = Point(x=x, name="a")
    moved = evolve(point, y=y)
    assert (moved.x, moved.y, moved.name, moved.sum) == (x, y, "a", x + y)
    assert point.y == 0


def test_evolve_refuses_an_unknown_field() -> None:
    with pytest.raises(TypeError):
        evolve(Point(x=1), z=1)


def test_a_record_shows_its_values() -> None:
    assert repr(Point(x=1, name="a")) == "Point(x=1, y=0, name='a')"
