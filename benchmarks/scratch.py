"""Scratch: the directory with everything a run creates, kept until its end, apart from the user's settings.

Nothing is removed before that: ext4 is slow to hand out inodes where many have just been freed, so the
contender that comes after a removal would pay for it. For the same reason ext4 is told to keep the
directories in it apart, away from what others have freed: for minutes after a test run an inode under /tmp
takes 0.07 to 0.7 ms, as much as a whole task, and 0.02 ms here. A user has a configuration file, so there
is one here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CONFIG = """\
[runs]
timeout = "2h"
output_cap = "10MB"

[lanes]
build = 2

[approval]
allow = ["npm test", "cargo build"]
"""


@contextmanager
def scratch() -> Iterator[None]:
    """Put temporary files into one directory, with a configuration file instead of the user's settings."""
    for name in list(os.environ):
        # Without compiled files every start of the command line would compile the package again.
        if name.startswith("ERRANDS_") or name == "PYTHONDONTWRITEBYTECODE":
            del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="errands-bench-", ignore_cleanup_errors=True) as directory:
        _keep_apart(directory)
        tempfile.tempdir = directory
        os.environ["XDG_CONFIG_HOME"] = directory
        config = Path(directory, "errands", "config.toml")
        config.parent.mkdir()
        config.write_text(_CONFIG, encoding="utf-8")
        yield
        tempfile.tempdir = None


def _keep_apart(directory: str) -> None:
    """Let ext4 spread the directories in this one over the disk; other file systems refuse that."""
    if chattr := shutil.which("chattr"):
        subprocess.run((chattr, "+T", directory), stderr=subprocess.DEVNULL, check=False)
