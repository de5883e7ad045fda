"""A sandbox around a run: how its commands are started in bubblewrap, and what is checked afterwards."""

from __future__ import annotations

import errno
import os
import stat

from errands.ports.rundir import LOG
from errands.runners.shim.program import require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_READ = 65536
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BY_DESCRIPTOR = frozenset(("--bind-fd", "--ro-bind-fd"))  # a path stands where its descriptor has to
_COVER = ["--ro-bind", "/dev/null"]  # and the file that is hidden
# What programs print when they fail at a wall: the word for the wall, then the phrases in lower case.
_SAID = {
    "files": (b"read-only file system", b"erofs", b"os error 30"),
    "network": (
        b"network is unreachable", b"eai_again", b"could not resolve", b"couldn't resolve", b" enotfound",
        b"temporary failure in name resolution", b"name or service not known", b"dial tcp", b"no such host",
        b"getaddrinfo", b"failed to lookup address", b"enetunreach", b"unknownhostexception",
    ),
}  # fmt: skip


# What a place may consist of that is repeated; a message is read by agents, so no other words get into it.
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-@")
_BETWEEN = bytes.maketrans(b"'\"`:,;()[]<>=", b" " * 13)
_LONGEST = 120


def wall_hit(directory: str) -> str:
    """Return the wall that a failed run seems to have met, by the end of what it printed; "" if none.

    After the word for the wall comes the file that it tried to write, if that was printed.
    """
    try:
        log = os.open(f"{directory}/{LOG}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        printed = os.pread(log, _READ, max(0, os.fstat(log).st_size - _READ))
    except OSError:
        return ""
    finally:
        os.close(log)
    lowered = printed.lower()
    for wall, said in _SAID.items():
        at = max(map(lowered.rfind, said))
        if at >= 0:
            before = printed[printed.rfind(b"\n", 0, at) + 1 : at]
            after = printed[at:].partition(b"\n")[0]
            return f"{wall} {_place(before, after)}".rstrip() if wall == "files" else wall
    return ""


def _place(before: bytes, after: bytes) -> str:
    """Return the absolute path that is nearest to the words for the wall, if it is plain.

    A shell prints its own path first: `/bin/bash: line 1: /x: Read-only file system`.
    """
    for word in (*after.translate(_BETWEEN).split(), *reversed(before.translate(_BETWEEN).split())):
        if word.startswith(b"/"):
            return word.decode() if len(word) <= _LONGEST and _PLAIN.issuperset(word) else ""
    return ""


def enclosed(
    walls: Mapping[str, Any], argv: list[str], env: Mapping[str, str]
) -> tuple[list[str], list[int]]:
    """Return the words that start a command in its sandbox, and the open files that they name.

    Mounts and variables go through a file: the command sees the words and the environment of bubblewrap,
    which is its first process, and variables such as LD_PRELOAD must not reach bubblewrap itself.
    """
    require(argv[0], env)  # bubblewrap would end with a message and an exit code of its own
    files = [_filed(walls["seccomp"])]
    try:
        words = [*_still_there(walls["words"]), "--seccomp", str(files[0])]
        _open_sources(words, files)
        for name, value in env.items():
            words += ("--setenv", name, value)
        text = "".join([f"{word}\0" for word in words])
        files.append(_filed(text.encode("utf-8", "surrogateescape")))
    except BaseException:
        for each in files:
            os.close(each)
        raise
    return [walls["program"], "--args", str(files[-1]), "--", *argv], files


def _open_sources(words: list[str], files: list[int]) -> None:
    """Replace the paths of what is shown by descriptors, which are added to `files`.

    No link is followed: another run in the project could have put one in the place of what was checked.
    """
    folders = {"": os.open("/", _FOLDER)}
    try:
        for at, word in enumerate(words):
            if word in _BY_DESCRIPTOR:
                files.append(_opened(words[at + 1], folders))
                words[at + 1] = str(files[-1])
    finally:
        for folder in folders.values():
            os.close(folder)


def _opened(path: str, folders: dict[str, int]) -> int:
    above, _, name = path.rpartition("/")
    try:
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=_folder(above, folders))
    except OSError as error:
        raise OSError(error.errno, f"{path} changed while the sandbox was built ({error.strerror})") from None
    os.set_inheritable(file, True)
    if stat.S_ISLNK(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.ELOOP, f"{path} changed while the sandbox was built: it is a link now")
    return file


def _folder(path: str, folders: dict[str, int]) -> int:
    if path not in folders:
        above, _, name = path.rpartition("/")
        folders[path] = os.open(name, _FOLDER, dir_fd=_folder(above, folders))
    return folders[path]


def _still_there(words: list[str]) -> list[str]:
    """Return the words without covers for what is gone by now, such as the socket of a program that ended.

    Bubblewrap would make an empty file to cover: it fails where it may only read, and leaves the file in the
    project otherwise.
    """
    kept: list[str] = []
    at = 0
    while at < len(words):
        is_cover = words[at : at + 2] == _COVER
        if not is_cover or os.path.lexists(words[at + 2]):
            kept += words[at : at + 3] if is_cover else words[at : at + 1]
        at += 3 if is_cover else 1
    return kept


def _filed(content: bytes) -> int:
    """Return a file with this content that the next child inherits."""
    file = os.memfd_create("walls", 0)
    with open(file, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def set_aside(walls: Mapping[str, Any], run: str) -> list[str]:
    """Rename what appeared under protected names, where it could run outside of the sandbox; say so."""
    said = []
    for directory, names in walls["unprotected"].items():
        try:
            folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.readlink(f"/proc/self/fd/{folder}") != directory:
                continue  # a run in a directory above has put something else in its place
            for name, link in names.items():
                if not _is_as_before(folder, name, link):
                    said.append(_renamed(folder, directory, name, run))
        finally:
            os.close(folder)
    return said


def _renamed(folder: int, directory: str, name: str, run: str) -> str:
    # The run cannot guess this name, so it cannot keep the place taken.
    aside = f"{name}.{run}.{os.urandom(4).hex()}"
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        return f"errands: {name}, which the run made in {directory}, could not be renamed: {error}"
    return (
        f"errands: {name} in {directory} decides what runs outside of the sandbox; "
        f"what this run made there is now {aside}"
    )


def _is_as_before(folder: int, name: str, link: str) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == link
    except FileNotFoundError:
        return True
    except OSError:  # not a link
        return not link and _is_empty_directory(folder, name)


def _is_empty_directory(folder: int, name: str) -> bool:
    """Return whether this is a directory without anything in it, which runs nothing."""
    try:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        return not os.listdir(inner)
    finally:
        os.close(inner)
