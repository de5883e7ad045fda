"""TOML, read without `tomllib` where the file is simple.

Importing `tomllib` loads `re`, `typing` and `enum`: it took 9 of the 37 ms of processor time of `errands ls`
with a configuration file, and so of every command. Sections, strings without escapes, whole numbers, booleans
and lists of strings on one line are read here; everything else, mistakes included, is left to `tomllib`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


DEEPEST = 32  # levels of tables and lists; printing a value that is nested thousands of times would fail
_TOO_DEEP = f"tables or lists are nested more than {DEEPEST} levels deep, which no setting needs; remove them"


class _NotSimpleError(Exception):
    """Only `tomllib` can tell what this means."""


def loads(text: str) -> dict[str, Any]:
    """Parse a document; a mistake in it is a ValueError, and so is nesting that no setting needs."""
    try:
        tree = _simple(text)
    except _NotSimpleError:
        tree = _anything(text)
    level: list[Any] = [tree]
    for _ in range(DEEPEST):
        level = [
            each
            for outer in level
            if isinstance(outer, dict | list)
            for each in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return tree
    raise ValueError(_TOO_DEEP)


def _anything(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        # The traceback of a thousand frames says nothing that the message does not.
        raise ValueError(_TOO_DEEP) from None


def _simple(text: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    table = tree
    headers = set()
    for line in text.split("\n"):
        line = line.strip(" \t")
        if not line.isprintable():
            raise _NotSimpleError
        if not line or line[0] == "#":
            continue
        if line[0] == "[":
            header, bracket, rest = line[1:].partition("]")
            if not bracket or header in headers:
                raise _NotSimpleError
            headers.add(header)
            _end(rest)
            table = _table(tree, header)
            continue
        name, _, value = line.partition("=")
        name = _bare(name.strip(" "))
        if name in table:
            raise _NotSimpleError
        table[name] = _value(value.strip(" "))
    return tree


def _table(tree: dict[str, Any], header: str) -> dict[str, Any]:
    for part in header.split("."):
        tree = tree.setdefault(_bare(part), {})
        if not isinstance(tree, dict):
            raise _NotSimpleError
    return tree


def _value(text: str) -> Any:
    if text.startswith('"'):
        found, rest = _string(text)
        _end(rest)
        return found
    if text.startswith("["):
        return _strings(text[1:])
    word = text.partition("#")[0].strip(" ")
    if word in ("true", "false"):
        return word == "true"
    if word.isascii() and word.isdecimal() and (word == "0" or word[0] != "0"):
        return int(word)
    raise _NotSimpleError


def _strings(rest: str) -> list[str]:
    found = []
    rest = rest.lstrip(" ")
    while not rest.startswith("]"):
        each, rest = _string(rest)
        found.append(each)
        rest = rest.lstrip(" ")
        if rest.startswith(","):
            rest = rest[1:].lstrip(" ")
        elif not rest.startswith("]"):
            raise _NotSimpleError
    _end(rest[1:])
    return found


def _string(text: str) -> tuple[str, str]:
    """Return the string at the beginning of a text, and what follows it."""
    content, quote, rest = text[1:].partition('"')
    if not text.startswith('"') or not quote or "\\" in content or rest.startswith('"'):
        raise _NotSimpleError
    return content, rest


def _end(rest: str) -> None:
    """Accept a comment behind a value, and nothing else."""
    if rest.lstrip(" ")[:1] not in ("", "#"):
        raise _NotSimpleError


def _bare(key: str) -> str:
    if not key.isascii() or not key.replace("-", "").replace("_", "").isalnum():
        raise _NotSimpleError
    return key
