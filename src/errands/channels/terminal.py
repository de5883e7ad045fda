"""The terminal that a task was started from: a delivery is framed and printed above the line being typed.

It is printed only if it is still that user's terminal and its shell waits for a command; while another
program runs there, the delivery waits.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import termios
import time
from collections.abc import Mapping
from typing import Any

from errands.channels import TRIAL
from errands.channels.blocking import BlockingChannel
from errands.model.errors import NotNow, Refused, Unacknowledged
from errands.model.notices.delivery import Delivery, text, title
from errands.text import framed

BUSY = 5.0  # seconds until a busy terminal is tried again
PATIENCE = 2.0  # seconds for a terminal that accepts only a part
USUAL = 80
NOTICED = 0.2  # seconds in which a shell notices a new size of its terminal


class Terminal(BlockingChannel):
    budget = 2000
    is_deduplicating = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()

    def _deliver(self, delivery: Delivery) -> None:
        show(delivery, self.budget)


def show(delivery: Delivery, budget: int) -> None:
    path, _, shell = delivery.address.target.partition("@")
    # The command that sends a test runs in the foreground itself.
    at_prompt(path, shell, asking=os.getpgrp() if delivery.notices[0].event == TRIAL else None)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"the terminal {path} cannot be opened: {error.strerror}") from error
    try:
        if not os.isatty(handle):
            raise Refused(f"{path} is not a terminal")
        _write(handle, drawn(delivery, budget, columns(handle)).encode("utf-8", "replace"))
        _draw_prompt_again(handle)
    finally:
        os.close(handle)


def at_prompt(path: str, shell: str, *, asking: int | None = None) -> None:
    """Raise unless it is the same terminal and its shell, or the process group `asking`, is in front."""
    try:
        facts = os.stat(path)
    except OSError:
        raise Refused(f"the terminal {path} is gone") from None
    if not stat.S_ISCHR(facts.st_mode) or facts.st_uid != os.geteuid():
        raise Refused(f"{path} is not this user's terminal")
    pid, _, started = shell.partition(".")
    if not pid.isdecimal() or not os.path.isdir("/proc/self"):
        return  # without /proc, the owner is all we can check
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        raise Refused(f"the shell in {path} has ended") from None
    group, terminal, foreground = int(fields[2]), int(fields[4]), int(fields[5])
    if (started and fields[19].decode() != started) or _device(terminal) != facts.st_rdev:
        raise Refused(f"the shell in {path} has ended")
    if foreground not in (group, asking):
        raise NotNow(f"a program runs in {path}", after=BUSY)


def _device(number: int) -> int:
    """Decode the device number of a terminal in /proc."""
    number &= 0xFFFFFFFF
    return os.makedev((number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00))


def drawn(delivery: Delivery, budget: int, wide: int) -> str:
    """Draw a delivery between two lines; the upper one names the task."""
    lines = framed(delivery.name, [title(delivery), *text(delivery, budget).split("\n")], wide - 1)
    # The line being typed stays where it is, and is drawn again below.
    return "\r\n" + "".join(f"\x1b[K{each}\r\n" for each in lines)


def columns(handle: int) -> int:
    found = _size(handle)[1]
    return min(found, 120) if found >= 20 else USUAL


def _size(handle: int) -> tuple[int, ...]:
    try:
        return struct.unpack("4H", fcntl.ioctl(handle, termios.TIOCGWINSZ, b"\0" * 8))
    except OSError:
        return (0, 0, 0, 0)


def _draw_prompt_again(handle: int) -> None:
    """Make the shell draw its prompt and the typed text again, as it does when the size changes."""
    size = _size(handle)
    if size[0] < 3:
        return
    smaller = (size[0] - 1, *size[1:])
    try:
        fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("4H", *smaller))
        time.sleep(NOTICED)
        if _size(handle) == smaller:  # unless it was changed for real in that moment
            fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("4H", *size))
    except OSError:
        pass  # the delivery is there; only the prompt stays above it


def _write(handle: int, content: bytes) -> None:
    deadline, begun = time.monotonic() + PATIENCE, False
    while content:
        try:
            count = os.write(handle, content)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise
            if time.monotonic() > deadline:
                if begun:
                    raise Unacknowledged("the terminal accepted only part of it") from None
                raise NotNow("the terminal is stopped (Ctrl-S)", after=BUSY) from None
            time.sleep(0.02)
            continue
        content, begun = content[count:], True
