"""A template: a saved draft with parameters, started by name.

A parameter is written `{{name}}` or `{{name=default}}` in a command, the directory, the description, the
environment or the event it waits for. In a command that a shell reads the value is quoted, so it stays text
whatever it contains; a place where that is not certain is refused.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.action import quoted
from errands.model.codec import JsonCodec, Shape
from errands.model.errors import BadValue
from errands.model.limits import UNLIMITED
from errands.model.options.draft import Draft
from errands.model.options.table import OPTIONS
from errands.model.record import evolve
from errands.model.text.ids import slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from errands.model.action import Command

# A limit that is lifted is written as null.
_SPAN = Shape(
    lambda span: None if span == UNLIMITED else span.total_seconds(),
    lambda seconds: UNLIMITED if seconds is None else timedelta(seconds=seconds),
    reads_none=True,
)
DRAFT: JsonCodec[Draft] = JsonCodec(
    Draft,
    leave_out=tuple(option.name for option in OPTIONS if not option.saved),
    has_defaults=False,
    **{option.name: _SPAN for option in OPTIONS if option.type == "duration"},
)


def check_name(name: str) -> None:
    """Refuse a name that would be awkward to type."""
    if name != slug(name):
        raise BadValue(
            f"a template cannot be called {name!r}; use lower-case letters, digits and hyphens: {slug(name)}"
        )


def parameters(draft: Draft) -> dict[str, str | None]:
    """Return a template's parameters with their defaults, None where a value must be given."""
    found: dict[str, str | None] = {}

    def collect(name: str, default: str | None) -> str:
        if found.get(name) is None:
            found[name] = default
        return ""

    _mapped(draft, collect)
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
        values_of = " ".join(f"{name}=VALUE" for name in missing)
        raise BadValue(f"the template needs a value for: {', '.join(missing)}; pass {values_of}")
    return _mapped(draft, lambda name, default: values.get(name, default or ""))


def to_text(draft: Draft) -> str:
    import json

    if draft.at is not None or draft.key is not None:
        raise BadValue(
            "a template cannot have a start time or an idempotency key; set them when you start it"
        )
    return json.dumps(DRAFT.encode(draft))


def from_text(text: str) -> Draft:
    import json

    return DRAFT.decode(json.loads(text))


def _mapped(draft: Draft, value: Callable[[str, str | None], str]) -> Draft:
    """Replace every placeholder of a draft by `value(name, default)`."""

    def command(each: Command) -> Command:
        if isinstance(each, str):
            return _replaced(each, lambda name, default, before: _as_text(value(name, default), name, before))
        return tuple(plain(word) for word in each)

    def plain(each: str) -> str:
        return _replaced(each, lambda name, default, before: value(name, default))

    def event(each: str) -> str:
        if not each.startswith("command:"):
            return plain(each)
        line = command(each.removeprefix("command:"))
        assert isinstance(line, str)
        return f"command:{line}"

    return evolve(
        draft,
        command=command(draft.command),
        then=tuple(command(each) for each in draft.then),
        before=tuple(command(each) for each in draft.before),
        lastly=tuple(command(each) for each in draft.lastly),
        cwd=None if draft.cwd is None else plain(draft.cwd),
        description=None if draft.description is None else plain(draft.description),
        env={name: plain(each) for name, each in draft.env.items()},
        on=None if draft.on is None else event(draft.on),
    )


def _as_text(value: str, name: str, before: str) -> str:
    """Quote a value for its place in a shell line, right after `before`."""
    quote = _open_quote(before)
    if quote is None:
        raise BadValue(
            f"{{{{{name}}}}} is where a shell could run its value as code; "
            "write it outside of comments, here-documents, backquotes, arithmetic and nested quotes"
        )
    return f"{quote}{quoted(value)}{quote}"


def _replaced(text: str, value: Callable[[str, str | None, str], str]) -> str:
    """Replace `{{name}}` and `{{name=default}}`; braces around anything else are left alone.

    `value(name, default, before)` also gets the text before the placeholder, with an x for each earlier one.
    """
    result = before = ""
    done = 0
    at = text.find("{{")
    while at >= 0 and (end := text.find("}}", at)) >= 0:
        name, has_default, default = text[at + 2 : end].partition("=")
        if name.isidentifier():
            before += text[done:at]
            result += text[done:at] + value(name, default if has_default else None, before)
            before += "x"
            done = at = end + 2
        else:
            at += 2
        at = text.find("{{", at)
    return result + text[done:]


# Which quote of a shell line is open: where a shell follows complicated rules, the answer is unknown.

_BEFORE_COMMENT = frozenset(" \t\n;&|()")


def _open_quote(beginning: str) -> str | None:
    """Name the quote that is open at the end of a shell line's beginning: `'`, `"`, or none (empty).

    None in comments, here-documents, backquotes, arithmetic, and after expansions with quotes of their own.
    """
    quote = ""
    at = 0
    while at < len(beginning):
        letter = beginning[at]
        if quote == "'":
            quote = "" if letter == "'" else quote
        elif letter == "\\":
            at += 1
        elif letter == "`" or (letter == "$" and (at := _after_dollar(beginning, at, quote)) < 0):
            return None
        elif quote:
            quote = "" if letter == '"' else quote
        elif letter in "'\"":
            quote = letter
        elif beginning.startswith("<<<", at):
            at += 2
        elif beginning.startswith(("<<", "(("), at):
            return None
        elif letter == "#" and (at == 0 or beginning[at - 1] in _BEFORE_COMMENT):
            at = beginning.find("\n", at)
            if at < 0:
                return None
        at += 1
    return quote if at == len(beginning) else None


def _after_dollar(text: str, at: int, quote: str) -> int:
    """Return the index of the last character of a simple expansion; -1 if it is not simple."""
    match text[at + 1 : at + 2]:
        case "{":
            end = text.find("}", at)
            return end if text[at + 2 : max(end, 0)].isidentifier() else -1
        case "(":
            return -1 if quote else at
        case "'" | '"':
            return at if quote else -1
        case "[" | "":
            return -1
        case _:
            return at
