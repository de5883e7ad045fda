"""Messages between the pool, the zygote and the shims: frames on sockets."""

from __future__ import annotations

import marshal

_PLAIN = 2  # the last marshal version that does not search for repeated objects, which messages lack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def frame(message: Any) -> bytes:
    """Pack one message: four bytes of length, then the message."""
    body = marshal.dumps(message, _PLAIN)
    return len(body).to_bytes(4, "big") + body


# Asks the zygote for a shim; sent together with the channel of the new shim.
FORK = frame(("fork",))


class Frames:
    """Split a stream of bytes into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, received: bytes) -> list[Any]:
        """Add received bytes and return the messages that are complete now."""
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
