"""Plain values: text that is UTF-8 whatever it came from, and JSON without importing `json`, which costs a
command as much as all its work.

The encoder is the one that `json` itself uses; whoever reads the text back has the time for the rest of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Encode = Callable[[Any, int], Iterable[str]]


def plain_text(value: Any) -> str:
    """Write strings, numbers, booleans, None, lists, tuples and dicts of them as JSON."""
    return "".join(_encode(value, 0))


def utf8(text: str) -> str:
    """Make text from outside fit to be stored and shown; bytes that are no UTF-8 become replacement marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


def _refuse(value: object) -> object:
    raise TypeError(f"{value!r} is no plain value")


try:
    from _json import encode_basestring_ascii, make_encoder

    _encode: Encode = make_encoder(
        None, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, False
    )
except ImportError:  # pragma: no cover  # another Python than CPython
    import json

    _encode = lambda value, level: [json.dumps(value)]  # noqa: E731
