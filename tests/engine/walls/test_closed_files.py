"""Files of the system that root may read and others may not: what a sandbox of root has to cover."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from errands.engine.walls import bubblewrap, mounts
from tests.walls import walled

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what others may not"),
    walled,
]
ANOTHER = 54321


def made(path: Path, *, owner: int, group: int, mode: int = 0o640) -> Path:
    path.write_text("secret")
    os.chown(path, owner, group)
    path.chmod(mode)
    return path


def is_readable_inside(path: Path) -> bool:
    """Return whether root can read a file in a sandbox that does not cover it."""
    words = (bubblewrap.bubblewrap(), *bubblewrap.NAMESPACES, "--ro-bind", "/", "/", "cat", str(path))
    return subprocess.run(words, capture_output=True, check=False).stdout == b"secret"


@pytest.mark.spec("A13")
def test_everything_is_covered_that_root_could_read_inside_and_nothing_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    files = [
        made(tmp_path / "of root", owner=0, group=ANOTHER),
        made(tmp_path / "of root's group", owner=ANOTHER, group=0),
        made(tmp_path / "of another account", owner=ANOTHER, group=ANOTHER),
    ]
    made(tmp_path / "of everyone", owner=0, group=0, mode=0o644)
    (tmp_path / "folder").mkdir(mode=0o755)
    files.append(made(tmp_path / "folder" / "below", owner=0, group=0, mode=0o400))
    (tmp_path / "closed folder").mkdir(mode=0o700)

    covered = set(mounts._closed_in(str(tmp_path)))

    readable = {str(each) for each in files if is_readable_inside(each)}
    assert covered == readable | {f"{tmp_path}/closed folder"}
    assert f"{tmp_path}/of another account" not in covered


@pytest.mark.spec("A13")
def test_a_file_whose_access_list_names_root_is_covered(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    listed = made(tmp_path / "listed", owner=ANOTHER, group=ANOTHER)
    nobody = 0xFFFFFFFF
    # Its owner, the user 0, its group, the mask, everyone else: kind, rights and number of each.
    entries = ((1, 6, nobody), (2, 4, 0), (4, 0, nobody), (16, 4, nobody), (32, 0, nobody))
    rights = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each) for each in entries)
    try:
        os.setxattr(listed, "system.posix_acl_access", rights)
    except OSError as error:
        pytest.skip(f"no access lists here: {error.strerror}")

    assert is_readable_inside(listed)
    assert list(mounts._closed_in(str(tmp_path))) == [str(listed)]
