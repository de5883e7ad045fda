"""Messages between the pool, the zygote and the shims: frames on sockets."""

from __future__ import annotations

import marshal

_PLAIN = 2  # the last marshal version that does not search for repeated objects, which messages lack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.ports.runner import Launch, Walls


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


def start_message(launch: Launch) -> dict[str, Any]:
    """Return the message that starts a run, without the base environment, which most runs share."""
    return {
        "op": "start",
        "run": launch.run_id,
        "attempt": launch.attempt,
        "dir": launch.directory,
        "header": launch.header,
        "steps": [(step.role, list(step.argv), step.label) for step in launch.steps],
        "cwd": launch.cwd,
        "env": dict(launch.env),
        "cap": launch.cap,
        "timeout": launch.timeout,
        "idle": launch.idle,
        "grace": launch.grace,
        "limits": dict(launch.limits),
        "nice": launch.nice,
        "input": launch.input,
        "may_wait": launch.may_wait,
        "read_only": launch.read_only,
        "walls": None if launch.walls is None else _plain(launch.walls),
        "fuse": launch.fuse,
    }


def _plain(walls: Walls) -> dict[str, Any]:
    return {
        "program": walls.program,
        "words": list(walls.words),
        "seccomp": walls.seccomp,
        "unprotected": {directory: dict(names) for directory, names in walls.unprotected.items()},
    }
