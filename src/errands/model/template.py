"""A template: a saved draft with parameters, started by name.

A parameter is written `{{name}}` or `{{name=default}}` in a command, the directory, the description or the
environment. In a command that a shell reads the value is quoted, so it stays one word whatever it contains.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.action import quoted
from errands.model.draft import Draft
from errands.model.errors import BadValue
from errands.model.naming import slug
from errands.model.record import evolve, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from errands.model.action import Command

_COMMANDS = ("then", "before", "lastly")
_SPANS = ("timeout", "idle", "cpu", "grace")


def check_name(name: str) -> None:
    """Refuse a name that would be awkward to type."""
    if name != slug(name):
        raise BadValue(
            f"a template cannot be called {name!r}; use lower-case letters, digits and hyphens: {slug(name)}"
        )


def parameters(draft: Draft) -> dict[str, str | None]:
    """Name a template's parameters with their defaults, None where a value must be given."""
    found: dict[str, str | None] = {}

    def note(name: str, default: str | None) -> str:
        if found.get(name) is None:
            found[name] = default
        return ""

    _mapped(draft, note)
    return found


def filled(draft: Draft, values: Mapping[str, str]) -> Draft:
    """Fill in the parameters; one that is missing or unknown is refused by name."""
    known = parameters(draft)
    unknown = [name for name in values if name not in known]
    if unknown:
        takes = ", ".join(known) or "none"
        raise BadValue(f"the template has no parameter {unknown[0]!r}; it takes: {takes}")
    missing = [name for name, default in known.items() if default is None and name not in values]
    if missing:
        raise BadValue(f"the template needs a value for: {', '.join(missing)}; give NAME=VALUE for each")
    return _mapped(draft, lambda name, default: values.get(name, default or ""))


def to_text(draft: Draft) -> str:
    """Write a draft as JSON, only what differs from the defaults."""
    import json

    if draft.at is not None or draft.key is not None:
        raise BadValue(
            "a template cannot have a start time or an idempotency key; give them when you start it"
        )
    blank = Draft(command=draft.command)
    kept: dict[str, Any] = {"command": draft.command}
    for name in fields(draft):
        value = getattr(draft, name)
        if name != "environ" and value != getattr(blank, name):
            kept[name] = value.total_seconds() if isinstance(value, timedelta) else value
    return json.dumps(kept)


def from_text(text: str) -> Draft:
    import json

    values: dict[str, Any] = json.loads(text)
    for name in _SPANS:
        if name in values:
            values[name] = timedelta(seconds=values[name])
    for name in _COMMANDS:
        if name in values:
            values[name] = tuple(_command(each) for each in values[name])
    if "after" in values:
        values["after"] = tuple(values["after"])
    values["command"] = _command(values["command"])
    return Draft(**values)


def _command(value: str | list[str]) -> Command:
    return value if isinstance(value, str) else tuple(value)


def _mapped(draft: Draft, value: Callable[[str, str | None], str]) -> Draft:
    """Replace every placeholder of a draft by what `value(name, default)` gives."""

    def command(each: Command) -> Command:
        if isinstance(each, str):
            return _replaced(each, lambda name, default: quoted(value(name, default)))
        return tuple(_replaced(word, value) for word in each)

    def text(each: str | None) -> str | None:
        return None if each is None else _replaced(each, value)

    return evolve(
        draft,
        command=command(draft.command),
        then=tuple(command(each) for each in draft.then),
        before=tuple(command(each) for each in draft.before),
        lastly=tuple(command(each) for each in draft.lastly),
        cwd=text(draft.cwd),
        description=text(draft.description),
        env={name: _replaced(each, value) for name, each in draft.env.items()},
    )


def _replaced(text: str, value: Callable[[str, str | None], str]) -> str:
    """Replace `{{name}}` and `{{name=default}}`; braces around anything else are left alone."""
    pieces: list[str] = []
    while True:
        before, opening, rest = text.partition("{{")
        inside, closing, after = rest.partition("}}")
        if not opening or not closing:
            return "".join((*pieces, text))
        name, has_default, default = inside.partition("=")
        if name.isidentifier():
            pieces += [before, value(name, default if has_default else None)]
            text = after
        else:
            pieces += [before, opening]
            text = rest
