"""Output: reading what a run printed, and sending it input, directly through its directory."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class OutputPort(Protocol):
        def read(self, directory: str, *, offset: int = 0, limit: int | None = None) -> Piece: ...
        def tail(self, directory: str, lines: int, *, size: int | None = None) -> Piece: ...
        def send(self, directory: str, content: bytes, *, eof: bool = False) -> None: ...


CONTEXT = 8192  # bytes; longer than any private key


@record
class Piece:
    """A part of a run's output.

    Offsets count the bytes that the task printed, kept or not, so that reading from `next_offset` neither
    repeats nor skips anything; `missing` bytes right before this piece were dropped because of the cap.
    `before` and `after` are the kept bytes around it, up to CONTEXT each: without them, a secret that a
    piece has only a part of would not be recognised and masked.
    """

    content: bytes
    offset: int
    next_offset: int
    missing: int = 0
    before: bytes = b""
    after: bytes = b""
