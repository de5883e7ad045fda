"""JSON text without importing `json`, which takes a command as long as all its work.

The encoder is the one that `json` itself uses. Reading JSON is not needed on the hot path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Encode = Callable[[Any, int], Iterable[str]]


def plain_text(value: Any) -> str:
    """Encode strings, numbers, booleans, None, lists, tuples and dicts of them as JSON."""
    return "".join(_encode(value, 0))


def utf8(text: str) -> str:
    """Make outside text safe to store and show; bytes that are not UTF-8 become replacement characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


def _refuse(value: object) -> object:
    raise TypeError(f"{value!r} cannot be written as JSON")


try:
    from _json import encode_basestring_ascii, make_encoder

    _encode: Encode = make_encoder(
        None, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, False
    )
except ImportError:  # pragma: no cover  # not CPython
    import json

    _encode = lambda value, level: [json.dumps(value)]  # noqa: E731
