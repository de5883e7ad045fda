"""Plain values as JSON text, without importing `json`, which costs a command as much as all its work.

It writes what `json.loads` reads; whoever reads it back has the time for that.
"""

from __future__ import annotations

import sys

try:
    from _json import encode_basestring_ascii as _quoted
except ImportError:  # pragma: no cover  # another Python than CPython
    from json.encoder import py_encode_basestring_ascii as _quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def plain_text(value: Any) -> str:
    """Write strings, numbers, booleans, None, lists, tuples and mappings of them as JSON."""
    json = sys.modules.get("json")
    if json is not None:  # a process that has it anyway may as well use its speed
        text: str = json.dumps(value)
        return text
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if hasattr(value, "items"):
        return "{" + ", ".join(f"{_quoted(key)}: {_text(each)}" for key, each in value.items()) + "}"
    raise TypeError(f"{value!r} is no plain value")
