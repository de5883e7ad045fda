"""The values of task options: text, as typed, and Python values become what a draft holds.

Nothing is guessed: a value that cannot be used is refused by name, with what to write instead.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.model.errors import BadValue
from errands.model.limits import BUDGETS, UNLIMITED
from errands.model.notices.notice import parse_address
from errands.model.text.duration import exact, exact_size, parse_duration, parse_size

_DIGITS = 18  # of a whole number: what SQLite and the shim can hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from errands.model.action import Command
    from errands.model.options.table import TaskOption

    T = TypeVar("T")


def value_of(option: TaskOption, value: Any, label: str) -> Any:
    """Return the value as a draft holds it, the same object if nothing has to change.

    `label` is what the caller calls the option. A time given as text stays text, because reading it takes a
    clock.
    """
    try:
        return _READERS[option.type](option, value)
    except _ValueRefused as error:
        raise BadValue(f"{label} {error}") from None
    except BadValue as error:
        raise BadValue(f"{label}: {error}") from None


def check_text(text: str, what: str) -> None:
    """Refuse text that no system call takes; bytes that are not UTF-8 are fine, as escapes."""
    if "\0" in text:
        raise BadValue(f"{what} cannot contain a NUL character; remove it")
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise BadValue(f"{what} contains half a character: {text[:80]!r}; write it in UTF-8") from None


def command_of(value: Any, what: str = "the command") -> Command:
    """Read a command: a string is a shell line, anything else a sequence of words."""
    if isinstance(value, str):
        words: tuple[str, ...] = (value,)
        command: Command = value
    else:
        if not isinstance(value, list | tuple):
            value = _listed(value, f"{what} must be a shell line or a list of words")
        wrong = [word for word in value if not isinstance(word, str)]
        if wrong:
            raise BadValue(f"{what} has the word {wrong[0]!r}, which is not text; write {str(wrong[0])!r}")
        command = words = tuple(value) if isinstance(value, list) else value
    if not words or not words[0].strip():
        raise BadValue(f"{what} is empty; write what to run, for example: errands run -- make test")
    for word in words:
        check_text(word, what)
    return command


class _ValueRefused(ValueError):  # noqa: N818
    """What is wrong with a value; the text follows the name of the option."""


def _text(option: TaskOption, value: Any) -> str:
    if not isinstance(value, str):
        raise _ValueRefused(f"must be text (got {value!r})")
    check_text(value, "the value")
    return value


def _label(option: TaskOption, value: Any) -> str:
    if not isinstance(value, str):
        raise _ValueRefused(f"must be text (got {value!r})")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _ValueRefused(f"must be text in UTF-8 (got {value!r})") from None
    return value


def _path(option: TaskOption, value: Any) -> str:
    return _text(option, value.__fspath__() if hasattr(value, "__fspath__") else value)


def _choice(option: TaskOption, value: Any) -> str:
    if value not in option.choices:
        raise _ValueRefused(f"cannot be {value!r}; choose one of: {', '.join(option.choices)}")
    chosen: str = value
    return chosen


def _flag(option: TaskOption, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _ValueRefused(f"must be True or False (got {value!r})")
    return value


def _count(option: TaskOption, value: Any) -> int:
    if isinstance(value, str):
        number = _unlimited(option, value)
        if number is None:
            text = value.strip()
            digits = text[1:] if text[:1] in ("+", "-") else text
            if not digits.isdecimal() or not digits.isascii():
                raise _ValueRefused(f"must be a whole number (got {value!r})")
            if len(digits) > _DIGITS:
                raise _ValueRefused(f"must be a number of at most {_DIGITS} digits (got {value!r})")
            number = _typed_limit(option, int(text))
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise _ValueRefused(f"must be a whole number (got {value!r})")
    if abs(number) >= 10**_DIGITS:
        raise _ValueRefused(f"must be a number of at most {_DIGITS} digits (got {number})")
    return _bounded(option, number, str)


def _size(option: TaskOption, value: Any) -> int:
    if isinstance(value, str):
        size = _unlimited(option, value)
        if size is None:
            size = _typed_limit(option, parse_size(value))
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        raise _ValueRefused(f"must be a size such as '512M', or a number of bytes (got {value!r})")
    return _bounded(option, size, _bytes)


def _unlimited(option: TaskOption, text: str) -> int | None:
    """Return 0, which lifts a limit, for the word `none`."""
    return 0 if option.unlimited and text.strip() == "none" else None


def _typed_limit(option: TaskOption, number: int) -> int:
    # In Python 0 means no limit; a person who types 0 may mean it literally.
    if option.unlimited and number == 0:
        raise _ValueRefused("cannot be 0; write none for no limit")
    return number


def _duration(option: TaskOption, value: Any) -> timedelta:
    if isinstance(value, timedelta):
        span = value
    elif isinstance(value, str):
        span = UNLIMITED if option.unlimited and value.strip() == "none" else parse_duration(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            span = timedelta(seconds=value)
        except (ValueError, OverflowError):
            raise _ValueRefused(f"cannot be {value} seconds; write a duration such as '10m'") from None
    else:
        raise _ValueRefused(f"must be a duration such as '10m', a timedelta or seconds (got {value!r})")
    return _bounded(option, span, _written)


def _written(span: timedelta) -> str:
    return f"-{exact(-span)}" if span < timedelta() else exact(span)


def _bytes(count: int) -> str:
    size = exact_size(count)
    return size if not size.isdecimal() else "1 byte" if count == 1 else f"{size} bytes"


def _bounded(option: TaskOption, value: T, written: Callable[[Any], str]) -> T:
    number: Any = value
    if option.unlimited and number == 0:
        return value
    if option.least is not None and number < option.least:
        raise _ValueRefused(f"must be at least {written(option.least)} (got {written(number)})")
    if option.most is not None and number > option.most:
        raise _ValueRefused(f"must be at most {written(option.most)} (got {written(number)})")
    return value


def _time(option: TaskOption, value: Any) -> Any:
    if not isinstance(value, str | datetime):
        raise _ValueRefused(f"must be a time such as '18:30', or a datetime (got {value!r})")
    return value


def _listed(value: Any, wanted: str) -> tuple[Any, ...]:
    if isinstance(value, bytes) or hasattr(value, "keys") or not hasattr(value, "__iter__"):
        raise BadValue(f"{wanted} (got {value!r})")
    return tuple(value)


def _items(option: TaskOption, value: Any, *, alone: bool) -> tuple[Any, ...]:
    """Read a list; a string is one item if that cannot be a mistake."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, str):
        if not alone:
            raise _ValueRefused(f"takes a list, not one string: {option.name}=[{value!r}]")
        return (value,)
    return _listed(value, "it must be a list")


def _commands(option: TaskOption, value: Any) -> tuple[Command, ...]:
    items = _items(option, value, alone=False)
    commands = tuple([command_of(each, "a command") for each in items])
    return items if commands == items else commands


def _tasks(option: TaskOption, value: Any) -> tuple[str, ...]:
    return _texts(option, _items(option, value, alone=False))


def _names(option: TaskOption, value: Any) -> tuple[str, ...]:
    return _texts(option, _items(option, value, alone=True))


def _addresses(option: TaskOption, value: Any) -> tuple[str, ...]:
    items = _texts(option, _items(option, value, alone=True))
    for each in items:
        parse_address(each)
    return items


def _texts(option: TaskOption, items: tuple[Any, ...]) -> tuple[str, ...]:
    for each in items:
        _label(option, each)
    return items


def _pairs(option: TaskOption, value: Any) -> Mapping[Any, Any]:
    """Read a mapping, or lines of NAME=VALUE."""
    if hasattr(value, "items"):
        pairs: Mapping[Any, Any] = value
        return pairs
    found: dict[str, Any] = {}
    for each in _items(option, value, alone=True):
        name, equals, text = each.partition("=") if isinstance(each, str) else ("", "", "")
        if not name or not equals:
            raise BadValue(f"{each!r} is not a {_PAIR[option.type]}; write {option.values}")
        found[name] = text
    return found


_PAIR = {"variables": "variable", "settings": "setting, such as every=1m", "budget": "budget"}


def _variables(option: TaskOption, value: Any) -> Mapping[str, str]:
    variables = _pairs(option, value)
    for name, text in variables.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise _ValueRefused(f"must map names to text (got {name!r}: {text!r})")
        if not name or "=" in name:
            raise _ValueRefused(f"cannot set {name!r}; write NAME=VALUE")
        check_text(name, "the environment")
        check_text(text, "the environment")
    return variables


def _settings(option: TaskOption, value: Any) -> Mapping[str, str]:
    settings = _pairs(option, value)
    for name, text in settings.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise _ValueRefused(f"must map names to text (got {name!r}: {text!r})")
    return settings


def _budget(option: TaskOption, value: Any) -> Mapping[str, int]:
    given = _pairs(option, value)
    budget: dict[str, int] = {}
    for name, amount in given.items():
        if name not in BUDGETS:
            raise _ValueRefused(f"has no {name!r}; choose from: {', '.join(BUDGETS)}")
        number = _count(option, amount)
        if number <= 0:
            raise _ValueRefused(f"of {name} must be at least 1 (got {amount})")
        budget[name] = number
    return given if budget == given else budget


_READERS: dict[str, Callable[[TaskOption, Any], Any]] = {
    "text": _text,
    "label": _label,
    "path": _path,
    "choice": _choice,
    "flag": _flag,
    "count": _count,
    "size": _size,
    "duration": _duration,
    "time": _time,
    "commands": _commands,
    "tasks": _tasks,
    "names": _names,
    "addresses": _addresses,
    "variables": _variables,
    "settings": _settings,
    "budget": _budget,
}
