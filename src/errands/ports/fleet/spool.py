"""The spool of a placed run: input for it, as files in its directory, until the fleet has it.

Each piece is one file, numbered from 1 in the order in which they were sent; what became of it is another
one beside it. They stay as long as the run, because the fleet may lose its last commits.
"""

from __future__ import annotations

import os

from errands.model.errors import NoInput
from errands.ports.fleet.input import Input
from errands.ports.own_file import replace_file
from errands.ports.rundir import PLACEMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PIECE = 256 << 10  # bytes that are sent at once; the next ones wait until the run has taken them
_NAME = f"{PLACEMENT}.input."
_FROM = f"{_NAME}from."  # and the token of a request: another name of the piece that it became
_REPLY = ".reply"
_ENDS, _GOES_ON = b"e", b"d"


def sending(directory: str, ring: Callable[[], object], content: bytes, *, eof: bool) -> Iterator[None]:
    """Send input to a placed run; yield while the run has not taken all of it, as with a run of this host."""
    for start in range(0, max(len(content), 1), PIECE):
        is_last = eof and start + PIECE >= len(content)
        number = put(directory, content[start : start + PIECE], is_last=is_last)
        ring()
        while (answer := reply_to(directory, number)) is None:
            yield
        if answer:
            raise NoInput(not_taken(answer))


def not_taken(answer: str) -> str:
    """Say what became of a piece of input; nothing if the run took it."""
    return f"the input was not taken: {answer}" if answer else ""


def put(directory: str, content: bytes, *, is_last: bool) -> int:
    """Add a piece of input behind all that were added before; return its number."""
    new = f"{directory}/{_NAME}new.{os.getpid()}"
    _write(new, content, is_last=is_last)
    try:
        return _add(directory, new)
    finally:
        os.unlink(new)


def put_once(directory: str, token: str, content: bytes, *, is_last: bool) -> int:
    """Add a piece of input as `put` does, unless it was added under this token before; return its number."""
    named = f"{directory}/{_FROM}{token}"
    if not os.path.exists(named):
        new = f"{directory}/{_NAME}new.{os.getpid()}"
        _write(new, content, is_last=is_last)
        os.rename(new, named)
    for number in numbers(directory):
        if os.path.samefile(named, f"{directory}/{_NAME}{number}"):
            return number
    return _add(directory, named)


def was_put(directory: str, token: str) -> bool:
    """Return whether something was added under this token."""
    return os.path.exists(f"{directory}/{_FROM}{token}")


def _write(path: str, content: bytes, *, is_last: bool) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(file, "wb") as stream:
        stream.write((_ENDS if is_last else _GOES_ON) + content)


def _add(directory: str, path: str) -> int:
    """Give a piece the next number, and return it."""
    number = max(numbers(directory), default=0)
    while True:
        number += 1
        try:
            os.link(path, f"{directory}/{_NAME}{number}")
            return number
        except FileExistsError:
            continue  # another sender was quicker


def numbers(directory: str) -> list[int]:
    """Return the numbers of all pieces, in order."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    found = [name.removeprefix(_NAME) for name in names if name.startswith(_NAME)]
    return sorted(int(each) for each in found if each.isdecimal())


def read(directory: str, number: int) -> Input:
    with open(f"{directory}/{_NAME}{number}", "rb") as file:
        content = file.read()
    return Input(piece=number, content=content[1:], is_last=content[:1] == _ENDS)


def reply_to(directory: str, number: int) -> str | None:
    """Return what became of a piece: nothing if the run took it, else why not; None: not known yet."""
    try:
        with open(f"{directory}/{_NAME}{number}{_REPLY}", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def reply(directory: str, number: int, text: str) -> None:
    """Note what became of a piece."""
    replace_file(f"{directory}/{_NAME}{number}{_REPLY}", text.encode())
