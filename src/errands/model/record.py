"""Records: the frozen, keyword-only, slotted data of the model.

They behave like `@dataclass(frozen=True, slots=True, kw_only=True)` and type checkers take them for
that. They are made by hand because importing `dataclasses` costs every command of the CLI more than
the rest of its start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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
        # A record is born as one whose fields can be set, which is three times as fast as to go around a
        # refusal for each of them, and is made what it is when it has them all.
        unborn = type(cls.__name__, cls.__bases__, {"__slots__": names})
        body["__slots__"] = ()
        body["__new__"] = _maker(unborn, names, defaults)
        body["__setattr__"] = body["__delattr__"] = _refuse
        body.setdefault("__eq__", _equal)
        body.setdefault("__hash__", _hash)
        body.setdefault("__repr__", _show)
        made = type(cls.__name__, (unborn,), body)
        made.__slots__ = names
        made.__defaults__ = defaults
        return made


def fields(thing: Any) -> tuple[str, ...]:
    """Name the fields of a record or of its class, in the order they were declared."""
    names: tuple[str, ...] = thing.__slots__
    return names


def evolve(thing: T, **changes: Any) -> T:
    """Copy a record with some fields changed."""
    values = {name: getattr(thing, name) for name in fields(thing)}
    return type(thing)(**{**values, **changes})


def maker(cls: type[T], names: str) -> Callable[..., T]:
    """Give a function that makes records of these fields, which are handed over in this order.

    It is seven times as fast as to name them in the call, for what is made by the thousand.
    """
    given = tuple(names.split())
    calls = 0
    fast: Callable[..., T] | None = None

    def make(*values: Any) -> T:
        nonlocal calls, fast
        if fast is None:
            calls += 1
            if calls < _WORTH_IT:
                return cls(**dict(zip(given, values, strict=True)))
            fast = _positional(cls, given)
        return fast(*values)

    return make


def assembled(cls: Any, values: Mapping[str, str], scope: dict[str, Any]) -> str:
    """Write the body of a function that returns a record, given an expression for each of its fields.

    Fields without one get their default. What the body needs is added to `scope`.
    """
    scope.update(_cls=cls, _unborn=cls.__base__, _defaults=cls.__defaults__, _new=object.__new__)
    lines = ["_made = _new(_unborn)"]
    lines += [f"_made.{name} = {values.get(name, f'_defaults[{name!r}]')}" for name in cls.__slots__]
    return "\n ".join([*lines, "_made.__class__ = _cls", "return _made"])


def _positional(cls: Any, given: tuple[str, ...]) -> Any:
    scope: dict[str, Any] = {}
    body = assembled(cls, {name: name for name in given}, scope)
    exec(f"def make({', '.join(given)}):\n {body}", scope)
    return scope["make"]


# From this instance on a class is worth a `__new__` of its own, which takes as long to write as 50 to use.
_WORTH_IT = 4


def _maker(unborn: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """Give a `__new__` that is slow and free at first, and writes a fast one when it is used often."""
    made, fields = 0, set(names)

    def begin(cls: Any, **values: Any) -> Any:
        nonlocal made
        made += 1
        if made >= _WORTH_IT or defaults.keys() | values.keys() != fields:
            cls.__new__ = _written(unborn, names, defaults)
            return cls(**values)
        new: Any = object.__new__(unborn)
        for name in names:
            setattr(new, name, values[name] if name in values else defaults[name])
        new.__class__ = cls
        return new

    return begin


def _written(unborn: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    required = [name for name in names if name not in defaults]
    optional = [f"{name}=_defaults[{name!r}]" for name in names if name in defaults]
    head = ", ".join(["_cls", "*", *required, *optional] if names else ["_cls"])
    lines = ["_made = _new(_unborn)", *(f"_made.{name} = {name}" for name in names)]
    lines += ["_made.__class__ = _cls", "return _made"]
    scope: dict[str, Any] = {"_defaults": defaults, "_unborn": unborn, "_new": object.__new__}
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
