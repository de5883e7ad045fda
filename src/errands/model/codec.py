"""The codec: how records become JSON values and rows of a table, and records again.

How a field is written follows from its type: a codec looks the annotation of each field up in a table of
shapes, so a new field of a known type needs no line here. A codec may name another shape for one field.

    LIMITS = JsonCodec(Limits)
    LIMITS.encode(Limits(timeout=timedelta(seconds=30)))  # {"timeout": 30.0}: only what is not the default
    LIMITS.decode({"timeout": 30.0})

The first few records are handled by a loop; then the codec compiles a function for its class, as fast as
one written by hand. Most commands read one row, and compiling takes as long as reading fifty.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.model.record import assembled, fields

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


_COMPILE_AFTER = 4  # records


class Shape:
    """How one value is written and read; without a function it stays as it is.

    None stays None, unless the shape `reads_none`. `is_tuple` saves the call for one that is empty.
    """

    __slots__ = ("is_tuple", "read", "reads_none", "write")

    def __init__(
        self,
        write: Callable[[Any], Any] | None = None,
        read: Callable[..., Any] | None = None,
        *,
        reads_none: bool = False,
        is_tuple: bool = False,
    ) -> None:
        self.write = write
        self.read = read
        self.reads_none = reads_none
        self.is_tuple = is_tuple


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
    """Return the shape of a field, its own or that of its type, and whether it may be None."""
    annotation: str = cls.__annotations__[name]
    kind = annotation.removesuffix(" | None")
    shape = own.get(name) or types.get(kind)
    if shape is None and "[" in kind:
        raise TypeError(f"{cls.__name__}.{name} is {kind}, and there is no shape for it; add one")
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
        self._has_defaults = has_defaults
        self._shapes = shapes
        self._fields: dict[str, tuple[Shape, bool]] | None = None
        self._uses = 0
        self.encode: Callable[[T], dict[str, Any]] = self._encode

    @property
    def shape(self) -> Shape:
        """How a field that is such a record is written in another one."""
        return Shape(lambda value: self.encode(value), self.decode)

    def decode(self, values: Mapping[str, Any], **others: Any) -> T:
        """Make a record of plain values and of the fields that were left out."""
        decoded = {**values, **others}
        for name, (shape, _) in self._table().items():
            if shape.read is None or name not in decoded:
                continue
            if decoded[name] is not None or shape.reads_none:
                decoded[name] = shape.read(decoded[name])
        return self._cls(**decoded)

    def whole(self, thing: T) -> dict[str, Any]:
        """Encode every field, those with their default included."""
        return {name: _encoded(shape, getattr(thing, name)) for name, (shape, _) in self._table().items()}

    def _table(self) -> dict[str, tuple[Shape, bool]]:
        if self._fields is None:
            self._fields = {
                name: _shape(self._cls, name, self._shapes, JSON_SHAPES)
                for name in fields(self._cls)
                if name not in self._leave_out
            }
        return self._fields

    def _encode(self, thing: T) -> dict[str, Any]:
        self._uses += 1
        if self._uses >= _COMPILE_AFTER:
            self.encode = self._compiled()
            return self.encode(thing)
        defaults = {} if self._has_defaults else self._cls.__defaults__  # type: ignore[attr-defined]
        return {
            name: _encoded(shape, value)
            for name, (shape, _) in self._table().items()
            if (value := getattr(thing, name)) != defaults.get(name, _NOTHING)
        }

    def _compiled(self) -> Callable[[T], dict[str, Any]]:
        defaults = {} if self._has_defaults else self._cls.__defaults__  # type: ignore[attr-defined]
        scope: dict[str, Any] = {"_defaults": defaults}
        lines = ["plain = {}"]
        for name, (shape, has_none) in self._table().items():
            lines.append(f"{name} = thing.{name}")
            write = f"plain[{name!r}] = {_call(name, name, shape.write, has_none, scope)}"
            if name in defaults:
                scope[f"_default_{name}"] = defaults[name]
                write = f"if {name} is not _default_{name} and {name} != _default_{name}: {write}"
            lines.append(write)
        return _compiled("def encode(thing):\n " + "\n ".join([*lines, "return plain"]), scope)


class RowCodec(_Of[T]):
    """Records as rows: a column for each field, named after it.

    `columns` names the columns of a field where they are others: an expression, or several columns, which
    are read together. `given` are fields that are handed over beside the row; `unread` keep their default.
    `derived` are columns that are written from another attribute, with the function that converts it.
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
        self._derived = derived or {}
        self._fields: list[tuple[str, tuple[str, ...], Shape, bool]] = []
        for name in fields(cls):
            if name not in given and name not in unread:
                found = (columns or {}).get(name, name)
                shape, has_none = _shape(cls, name, shapes, types)
                self._fields.append((name, (found,) if isinstance(found, str) else found, shape, has_none))
        each = [column for _, found, _, _ in self._fields for column in found]
        self.width = len(each)
        self.columns = ", ".join([column if "." in column else f"{table}.{column}" for column in each])
        self._reads = self._writes = 0
        self.read: Callable[..., T] = self._read
        self.write: Callable[[T], tuple[str, list[Any]]] = self._write

    def place(self, name: str) -> int:
        """Return where the first column of a field stands in a row."""
        names = [each for each, columns, _, _ in self._fields for _ in columns]
        return names.index(name)

    def _read(self, row: Sequence[Any], *given: Any) -> T:
        """Make a record of a row and of the fields that are handed over, in the order of `given`."""
        self._reads += 1
        if self._reads >= _COMPILE_AFTER:
            self.read = self._compiled_read()
            return self.read(row, *given)
        values = dict(zip(self._given, given, strict=True))
        place = 0
        for name, columns, shape, has_none in self._fields:
            some = row[place : place + len(columns)]
            is_plain = shape.read is None or (has_none and some[0] is None and not shape.reads_none)
            values[name] = some[0] if is_plain else shape.read(*some)  # type: ignore[misc]
            place += len(columns)
        return self._cls(**values)

    def _compiled_read(self) -> Callable[..., T]:
        scope: dict[str, Any] = {}
        variables, values = [], {name: name for name in self._given}
        for name, columns, shape, has_none in self._fields:
            some = [name, *(f"{name}_{number}" for number in range(1, len(columns)))]
            variables += some
            skips_none = has_none and not shape.reads_none
            value = _call(name, ", ".join(some), shape.read, skips_none, scope)
            values[name] = f"{value} if {name} else ()" if shape.is_tuple else value
        head = ", ".join(["_row", *self._given])
        body = assembled(self._cls, values, scope)
        return _compiled(f"def read({head}):\n {', '.join(variables)}, = _row\n {body}", scope)

    def _write(self, thing: T) -> tuple[str, list[Any]]:
        """Return the columns of a record, separated by commas, and their values.

        Columns that are NULL are left out: for each None that the driver gets it looks for an adapter, which
        takes longer than all the rest.
        """
        self._writes += 1
        if self._writes >= _COMPILE_AFTER:
            self.write = self._compiled_write()
            return self.write(thing)
        columns, values = [], []
        for column, path, convert in self._written():
            value: Any = thing
            for name in path.split("."):
                value = getattr(value, name)
            if value is not None and convert is not None:
                value = convert(value)
            if value is not None:
                columns.append(column)
                values.append(value)
        return ", ".join(columns), values

    def _written(self) -> list[tuple[str, str, Callable[[Any], Any] | None]]:
        """Return the columns to write, each with the attribute it comes from and what converts that."""
        derived = [(column, path, convert) for column, (path, convert) in self._derived.items()]
        own = [(name, name, shape.write) for name, columns, shape, _ in self._fields if columns == (name,)]
        return [*own, *derived]

    def _compiled_write(self) -> Callable[[T], tuple[str, list[Any]]]:
        needed = {name for name, _, _, has_none in self._fields if not has_none}
        scope: dict[str, Any] = {}
        always: list[tuple[str, str]] = []
        rare: list[str] = []
        for column, path, convert in self._written():
            if column in needed:
                always.append((column, _call(column, f"thing.{path}", convert, False, scope)))
            else:
                rare.append(f"{column} = thing.{path}")
                if convert is not None:
                    rare.append(f"{column} = {_call(column, column, convert, True, scope)}")
                rare.append(f"if {column} is not None: columns += {', ' + column!r}; values.append({column})")
        lines = [
            f"columns = {', '.join([column for column, _ in always])!r}",
            f"values = [{', '.join([value for _, value in always])}]",
            *rare,
            "return columns, values",
        ]
        return _compiled("def write(thing):\n " + "\n ".join(lines), scope)


_NOTHING = object()


def _encoded(shape: Shape, value: Any) -> Any:
    return value if value is None or shape.write is None else shape.write(value)


def _call(
    name: str, value: str, convert: Callable[..., Any] | None, has_none: bool, scope: dict[str, Any]
) -> str:
    """Return the expression that converts a value, and make what it calls known in `scope`."""
    if convert is None:
        return value
    scope[f"_convert_{name}"] = convert
    called = f"_convert_{name}({value})"
    return f"None if {value} is None else {called}" if has_none else called


def _compiled(source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    exec(source, scope)
    made: Callable[..., Any] = scope[source[4 : source.index("(")]]
    return made
