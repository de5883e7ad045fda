"""A guise: the words and variables under which a fork is seen from outside.

`ps` and whoever looks for the processes of a run read them where the kernel put them when the program was
started. A fork has those of its parent there, until it writes its own over them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping

from errands.runners.shim.sweep import MARK

_ARG_START = 45  # the fields of /proc/self/stat behind the name: where words and variables begin and end


def started_with() -> dict[str, str]:
    """Give the variables that this process was started with, whatever became of them."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (os.fsdecode(each).partition("=") for each in file.read().split(b"\0") if each)
        return {name: value for name, _, value in pairs}


def wear(words: Iterable[str], variables: Mapping[str, str]) -> None:
    """Show these words and as many of these variables as there is room for, the mark of the run first.

    The process must have set its variables anew before: those it was started with are written over.
    """
    with open("/proc/self/stat", "rb") as file:
        places = file.read().rpartition(b") ")[2].split()[_ARG_START : _ARG_START + 4]
    words_start, words_end, start, end = map(int, places)
    _write([os.fsencode(word) for word in words], words_start, words_end)
    shown = sorted(variables.items(), key=lambda each: (each[0] != MARK, not each[0].startswith("ERRANDS_")))
    _write([os.fsencode(f"{name}={value}") for name, value in shown], start, end)


def _write(pieces: Iterable[bytes], start: int, end: int) -> None:
    content = b""
    for piece in pieces:
        if len(content) + len(piece) < end - start:
            content += piece + b"\0"
    ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)
