"""What pool, zygote, shims and run records say to each other: frames on sockets, lines in records.

Both sides load this file, also the side that must not import the package, so it stands on builtins.
"""

from __future__ import annotations

import marshal

_PLAIN = 2  # the last version of the format that does not look for repetitions: messages have none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Word = str | int | float


def frame(message: Any) -> bytes:
    """Pack one message: four bytes of length, then the message."""
    body = marshal.dumps(message, _PLAIN)
    return len(body).to_bytes(4, "big") + body


# Asks the zygote for a shim; the channel of the new shim comes with it.
FORK = frame(("fork",))


class Frames:
    """Cut a stream of bytes back into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, received: bytes) -> list[Any]:
        """Take what arrived and give the messages that are complete now."""
        rest = self._rest + received if self._rest else received
        messages = []
        start = 0
        while len(rest) - start >= 4:
            end = start + 4 + int.from_bytes(rest[start : start + 4], "big")
            if end > len(rest):
                break
            messages.append(marshal.loads(memoryview(rest)[start + 4 : end]))
            start = end
        self._rest = rest[start:]
        return messages


def line(word: str, fields: Mapping[str, Word]) -> bytes:
    """Write one line of a run record: a word, then `key=value` for every field."""
    for key, value in fields.items():
        word += f" {key}={quote(value) if type(value) is str else value}"
    return word.encode("utf-8", "backslashreplace") + b"\n"


def lines(record: bytes) -> list[str]:
    """Split a record into its lines; a last one without its end was cut off and does not count."""
    return record.decode("utf-8", "replace").split("\n")[:-1]


def fields(text: str) -> dict[str, str]:
    """Read the `key=value` fields of a line back."""
    pairs = (word.partition("=") for word in text.split(" "))
    return {key: unquote(value) for key, found, value in pairs if found}


def quote(value: str) -> str:
    """Make a value one word, so that a line can be cut at its blanks."""
    value = value.replace("%", "%25").replace(" ", "%20")
    return value.replace("\n", "%0A").replace("\r", "%0D") if not value.isprintable() else value


def unquote(word: str) -> str:
    """Undo `quote`."""
    if "%" not in word:
        return word
    first, *others = word.split("%")
    return first + "".join(chr(int(part[:2], 16)) + part[2:] for part in others)
