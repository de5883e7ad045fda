"""Records: the frozen, keyword-only, slotted data of the model.

They behave like `@dataclass(frozen=True, slots=True, kw_only=True)` and type checkers take them for
that. They are made by hand because importing `dataclasses` costs every command of the CLI more than
the rest of its start.
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
            k: v
            for k, v in cls.__dict__.items()
            if k not in defaults and k not in ("__dict__", "__weakref__")
        }
        body["__slots__"] = names
        body["__init__"] = _initialiser(names, defaults)
        body["__setattr__"] = body["__delattr__"] = _refuse
        body.setdefault("__eq__", _equal)
        body.setdefault("__hash__", _hash)
        body.setdefault("__repr__", _show)
        return type(cls.__name__, cls.__bases__, body)


def fields(thing: Any) -> tuple[str, ...]:
    """Name the fields of a record or of its class, in the order they were declared."""
    names: tuple[str, ...] = thing.__slots__
    return names


def evolve(thing: T, **changes: Any) -> T:
    """Copy a record with some fields changed."""
    values = {name: getattr(thing, name) for name in fields(thing)}
    return type(thing)(**{**values, **changes})


# From this instance on a class is worth an `__init__` of its own, which takes as long to write as 50 to use.
_WORTH_IT = 4


def _initialiser(names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """Give an `__init__` that is slow and free at first, and writes a fast one when it is used often."""
    made, fields = 0, set(names)

    def begin(self: Any, **values: Any) -> None:
        nonlocal made
        made += 1
        if made >= _WORTH_IT or defaults.keys() | values.keys() != fields:
            type(self).__init__ = _written(type(self), names, defaults)
            self.__init__(**values)
            return
        for name in names:
            type(self).__dict__[name].__set__(self, values[name] if name in values else defaults[name])

    return begin


def _written(cls: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    required = [name for name in names if name not in defaults]
    optional = [f"{name}=_defaults[{name!r}]" for name in names if name in defaults]
    head = ", ".join(["self", "*", *required, *optional] if names else ["self"])
    lines = [f" _set_{name}(self, {name})" for name in names] or [" pass"]
    scope: dict[str, Any] = {"_defaults": defaults}
    scope |= {f"_set_{name}": cls.__dict__[name].__set__ for name in names}
    exec(f"def __init__({head}):\n" + "\n".join(lines), scope)
    return scope["__init__"]


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
