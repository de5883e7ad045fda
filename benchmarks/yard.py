"""The yard: where everything a run makes lies until its end, out of reach of the user's own settings.

Nothing is removed before that: ext4 is slow to give out inodes where many have just been freed, so whoever
comes after a removal would pay for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def yard() -> Iterator[None]:
    """Put temporary files into one directory, and forget the settings of whoever started this."""
    for name in list(os.environ):
        # Without compiled files every start of the command line would compile the package anew.
        if name.startswith("ERRANDS_") or name == "PYTHONDONTWRITEBYTECODE":
            del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="errands-bench-", ignore_cleanup_errors=True) as directory:
        tempfile.tempdir = directory
        os.environ["XDG_CONFIG_HOME"] = directory
        yield
        tempfile.tempdir = None
