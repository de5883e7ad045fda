"""Records: the frozen, keyword-only, slotted data of the model.

They behave like `@dataclass(frozen=True, slots=True, kw_only=True)`, and type checkers treat them as such.
They are made by hand because importing `dataclasses` costs every command of the CLI more than the rest of its
start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=True)
    def record(cls: type[T]) -> type[T]: ...

else:

    def record(cls):
        """Turn an annotated class into a record; every annotated name is a field."""
        names = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063  # inspect is what we avoid
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        body = {
            name: value
            for name, value in cls.__dict__.items()
            if name not in defaults and name not in ("__dict__", "__weakref__")
        }
        body["__slots__"] = names
        body["__init__"] = _initialiser(cls.__name__, frozenset(names), defaults)
        body["__setattr__"] = body["__delattr__"] = _refuse
        body["__defaults__"] = defaults
        body.setdefault("__eq__", _equal)
        body.setdefault("__hash__", _hash)
        body.setdefault("__repr__", _show)
        return type(cls.__name__, cls.__bases__, body)


def fields(thing: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record or of its class, in the order they were declared."""
    names: tuple[str, ...] = thing.__slots__
    return names


def evolve(thing: T, **changes: Any) -> T:
    """Copy a record with some fields changed."""
    values = {name: getattr(thing, name) for name in fields(thing)}
    return type(thing)(**{**values, **changes})


def _initialiser(title: str, names: frozenset[str], defaults: dict[str, Any]) -> Any:
    set_field = object.__setattr__

    def __init__(self: Any, **values: Any) -> None:  # noqa: N807
        given = {**defaults, **values}
        if given.keys() != names:
            raise TypeError(
                f"{title}: missing {sorted(names - given.keys())}, unknown {sorted(given.keys() - names)}"
            )
        for name, value in given.items():
            set_field(self, name, value)

    return __init__


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise AttributeError(f"{type(self).__name__} is a record: its {name} cannot be changed; use evolve()")


def _values(thing: Any) -> tuple[Any, ...]:
    return tuple(getattr(thing, name) for name in fields(thing))


def _equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash((type(self), _values(self)))


def _show(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in fields(self))})"
