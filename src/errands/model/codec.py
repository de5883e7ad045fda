"""The codec: how records become JSON values and rows of a table, and records again.

How a field is written follows from its type: a codec looks the annotation of each field up in a table of
shapes, so a new field of a known type needs no line here. A codec may name another shape for one field.

    LIMITS = JsonCodec(Limits)
    LIMITS.encode(Limits(timeout=timedelta(seconds=30)))  # {"timeout": 30.0}: only what is not the default
    LIMITS.decode({"timeout": 30.0})
"""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.model.record import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Generic, TypeVar

    T = TypeVar("T")

    class _Of(Generic[T]):
        pass

else:
    T = None

    class _Of:
        def __class_getitem__(cls, item):
            return cls


class Shape:
    """How one value is written and read; without a function it stays as it is.

    None stays None, unless the shape `reads_none`.
    """

    __slots__ = ("read", "reads_none", "write")

    def __init__(
        self,
        write: Callable[[Any], Any] | None = None,
        read: Callable[..., Any] | None = None,
        *,
        reads_none: bool = False,
    ) -> None:
        self.write = write
        self.read = read
        self.reads_none = reads_none


PLAIN = Shape()


def _command_list(command: tuple[str, ...] | str) -> list[str] | str:
    return command if isinstance(command, str) else list(command)


def _command(plain: list[str] | str) -> tuple[str, ...] | str:
    return plain if isinstance(plain, str) else tuple(plain)


# By the type of a field, without `| None`. Numbers, text, booleans and literals are plain.
JSON_SHAPES: dict[str, Shape] = {
    "Command": Shape(_command_list, _command),
    "Mapping[str, Any]": Shape(dict),
    "Mapping[str, int]": Shape(dict),
    "Mapping[str, str]": Shape(dict),
    "datetime": Shape(datetime.isoformat, datetime.fromisoformat),
    "timedelta": Shape(timedelta.total_seconds, lambda seconds: timedelta(seconds=seconds)),
    "tuple[Command, ...]": Shape(
        lambda commands: [_command_list(each) for each in commands],
        lambda plain: tuple([_command(each) for each in plain]),
    ),
    "tuple[str, ...]": Shape(list, tuple),
}


def _shape(cls: Any, name: str, own: Mapping[str, Shape], types: Mapping[str, Shape]) -> tuple[Shape, bool]:
    """Return the shape of a field, by its name or its type, and whether it may be None."""
    annotation: str = cls.__annotations__[name]
    kind = annotation.removesuffix(" | None")
    shape = own.get(name) or types.get(kind)
    if shape is None and "[" in kind:
        raise TypeError(f"{cls.__name__}.{name} is {kind}, which has no shape; add one")
    return shape or PLAIN, kind != annotation


class JsonCodec(_Of[T]):
    """Records as dicts of plain values, in the order of their fields, without those that have their default.

    `leave_out` are fields that are kept elsewhere; `shapes` are those of single fields.
    """

    def __init__(
        self, cls: type[T], *, leave_out: Sequence[str] = (), has_defaults: bool = False, **shapes: Shape
    ) -> None:
        self._cls = cls
        self._leave_out = leave_out
        self._defaults: Mapping[str, Any] = {} if has_defaults else cls.__defaults__  # type: ignore[attr-defined]
        self._shapes = shapes
        self._fields: dict[str, Shape] | None = None

    @property
    def shape(self) -> Shape:
        """How such a record is written as a field of another one."""
        return Shape(self.encode, self.decode)

    def encode(self, thing: T) -> dict[str, Any]:
        return {
            name: _encoded(shape, value)
            for name, shape in self._table().items()
            if (value := getattr(thing, name)) != self._defaults.get(name, _NOTHING)
        }

    def decode(self, values: Mapping[str, Any], **others: Any) -> T:
        """Make a record from plain values and the fields that were left out."""
        decoded = {**values, **others}
        for name, shape in self._table().items():
            if shape.read is None or name not in decoded:
                continue
            if decoded[name] is not None or shape.reads_none:
                decoded[name] = shape.read(decoded[name])
        return self._cls(**decoded)

    def whole(self, thing: T) -> dict[str, Any]:
        """Encode every field, those with their default included."""
        return {name: _encoded(shape, getattr(thing, name)) for name, shape in self._table().items()}

    def _table(self) -> dict[str, Shape]:
        if self._fields is None:  # most commands use few codecs
            self._fields = {
                name: _shape(self._cls, name, self._shapes, JSON_SHAPES)[0]
                for name in fields(self._cls)
                if name not in self._leave_out
            }
        return self._fields


class RowCodec(_Of[T]):
    """Records as rows: a column for each field, named after it.

    `columns` replaces the column of a field by an expression, or by several columns that are read together.
    `given` fields are passed in beside the row; `unread` ones keep their default. `derived` columns are
    written from another attribute, converted by a function.
    """

    def __init__(
        self,
        cls: type[T],
        table: str,
        types: Mapping[str, Shape],
        *,
        columns: Mapping[str, str | tuple[str, ...]] | None = None,
        given: Sequence[str] = (),
        unread: Sequence[str] = (),
        derived: Mapping[str, tuple[str, Callable[[Any], Any] | None]] | None = None,
        **shapes: Shape,
    ) -> None:
        self._cls = cls
        self._given = tuple(given)
        each: list[str] = []
        self._names: list[str] = []  # of the columns, several for some fields
        self._read: list[tuple[str, list[str], Callable[..., Any], bool]] = []
        self._written: list[tuple[str, tuple[str, ...], Callable[[Any], Any] | None]] = []
        for name in fields(cls):
            if name in given or name in unread:
                continue
            found = (columns or {}).get(name, name)
            each += [found] if isinstance(found, str) else found
            further = [f"{name} {number}" for number in range(len(each) - len(self._names) - 1)]
            self._names += [name, *further]
            shape, has_none = _shape(cls, name, shapes, types)
            if shape.read is not None:
                self._read.append((name, further, shape.read, has_none and not shape.reads_none))
            if found == name:
                self._written.append((name, (name,), shape.write))
        for column, (path, write) in (derived or {}).items():
            self._written.append((column, tuple(path.split(".")), write))
        self.width = len(each)
        self.columns = ", ".join([column if "." in column else f"{table}.{column}" for column in each])
        self.written_columns = ", ".join([column for column, _, _ in self._written])

    def place(self, name: str) -> int:
        """Return the place of a field's first column in a row."""
        return self._names.index(name)

    def read(self, row: Sequence[Any], *given: Any) -> T:
        """Make a record from a row and the other fields, in the order of `given`."""
        values = dict(zip(self._names, row, strict=True))
        for name, further, read, skips_none in self._read:
            value = values[name]
            if value is not None or not skips_none:
                values[name] = read(value, *map(values.pop, further)) if further else read(value)
        if given:
            values.update(zip(self._given, given, strict=True))
        return self._cls(**values)

    def write(self, thing: T) -> list[Any]:
        """Return the values of a record, in the order of `written_columns`."""
        values = []
        for _, path, write in self._written:
            value: Any = thing
            for name in path:
                value = getattr(value, name)
            values.append(value if value is None or write is None else write(value))
        return values


_NOTHING = object()


def _encoded(shape: Shape, value: Any) -> Any:
    return value if value is None or shape.write is None else shape.write(value)
