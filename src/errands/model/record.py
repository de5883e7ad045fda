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
        # Instances are filled as `open`, whose fields can be set, and then become records.
        open_ = type(cls.__name__, cls.__bases__, {"__slots__": names})
        body["__slots__"] = ()
        body["__new__"] = _constructor(open_, names, defaults)
        body["__setattr__"] = body["__delattr__"] = _refuse
        body.setdefault("__eq__", _equal)
        body.setdefault("__hash__", _hash)
        body.setdefault("__repr__", _show)
        made = type(cls.__name__, (open_,), body)
        made.__slots__ = names
        made.__defaults__ = defaults
        return made


def fields(thing: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record or of its class, in the order they were declared."""
    names: tuple[str, ...] = thing.__slots__
    return names


def evolve(thing: T, **changes: Any) -> T:
    """Copy a record with some fields changed."""
    values = {name: getattr(thing, name) for name in fields(thing)}
    return type(thing)(**{**values, **changes})


# A class that is used often gets a constructor of its own, compiled as `dataclasses` does it: making a Task
# then takes 1.0 instead of 6.0 us. A run takes about 30 records from submission to result, so that is a
# tenth of what we add to the time of a short command. Compiling costs as much as 50 uses, so a command that
# makes a few of each does without it.
_OFTEN = 16


def _constructor(open_: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """Return a `__new__` that is free to make, and replaces itself with a compiled one if used often."""
    made, known = 0, set(names)

    def construct(cls: Any, **values: Any) -> Any:
        nonlocal made
        made += 1
        if made >= _OFTEN or defaults.keys() | values.keys() != known:
            cls.__new__ = _compiled(open_, names, defaults)
            return cls(**values)
        new: Any = object.__new__(open_)
        for name in names:
            setattr(new, name, values[name] if name in values else defaults[name])
        new.__class__ = cls
        return new

    return construct


def _compiled(open_: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    required = [name for name in names if name not in defaults]
    optional = [f"{name}=_defaults[{name!r}]" for name in names if name in defaults]
    head = ", ".join(["_cls", "*", *required, *optional] if names else ["_cls"])
    lines = ["_made = _new(_open)", *(f"_made.{name} = {name}" for name in names)]
    lines += ["_made.__class__ = _cls", "return _made"]
    scope: dict[str, Any] = {"_defaults": defaults, "_open": open_, "_new": object.__new__}
    exec(f"def __new__({head}):\n " + "\n ".join(lines), scope)
    return scope["__new__"]


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
