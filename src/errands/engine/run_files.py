"""The files that a run left in its directory, opened so that a task cannot pass off others as its own."""

from __future__ import annotations

import os
import stat

from errands.model.errors import NotFound
from errands.ports.rundir import files_in

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_run_file(directory: str, name: str) -> int:
    """Open a file of a run by its name as `files_in` lists it; a link, a FIFO or a folder counts as missing.

    Each folder on the way is opened on its own, because a task may replace one by a link to another place.
    """
    missing = NotFound(f"this run has no file {name[:80]!r} that can be read; the task lists its files")
    if name not in files_in(directory):
        raise missing
    *folders, last = name.split("/")
    try:
        place = os.open(directory, _FOLDER)
        try:
            for each in folders:
                above, place = place, os.open(each, _FOLDER, dir_fd=place)
                os.close(above)
            file = os.open(last, _FILE, dir_fd=place)
        finally:
            os.close(place)
    except OSError:
        raise missing from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise missing
    return file
