"""The mounts of a sandbox: an allow-list. What is not named here does not exist inside.

So other projects, secrets, the store of Errands and the sockets of services need no list of their own. The
project is writable except where something in it could run outside later, such as git's hooks; the home
directory is a private one for each project, which keeps the caches of its tools warm.
"""

from __future__ import annotations

import os
import re
import stat
import sys

from errands.engine.walls.bubblewrap import bound
from errands.engine.walls.projects import has_repository, programs_below, resolved, settings_below
from errands.engine.walls.repositories import named_by, repository_words
from errands.judge.evidence.local_workspace import own_home
from errands.judge.workspace import PROTECTED, TOOLS, is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SYSTEM = ("/usr", "/etc", "/opt", "/nix", "/gnu")
_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# A person's own settings that a sandbox sees, too.
_SETTINGS = (".gitconfig", ".config/git/ignore")
# What git's settings hold where they hold a secret: a password in an address, a header, a token.
_CONFIDING = re.compile(rb"(?i)token|passw|secret|extraheader|oauth|api-?key|://(?!git@)[^/\s]*@")
_LARGEST = 1_000_000
# Names in a home directory that no sandbox may see, wherever PATH leads.
_PRIVATE = (
    ".aws", ".azure", ".config", ".docker", ".git-credentials", ".gnupg", ".kube", ".local/share/keyrings",
    ".netrc", ".npmrc", ".password-store", ".pgpass", ".pypirc", ".ssh", ".claude", ".codex", ".mozilla",
)  # fmt: skip
# Directories of a home that hold programs and secrets, and the parts of an installation that programs need.
_MIXED = frozenset((".local", ".cabal"))
_PARTS = ("bin", "sbin", "lib", "lib64", "libexec", "include")
# What the kernel lets uid 0 change or read although it has no capability.
_ROOT_READ_ONLY = ("/proc/sys", "/proc/sysrq-trigger")
_ROOT_EMPTY_FILES = (
    "/proc/kcore", "/proc/keys", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup",
    "/proc/slabinfo", "/proc/timer_list", "/proc/kallsyms",
)  # fmt: skip
_ROOT_EMPTY = ("/proc/irq", "/proc/bus", "/proc/fs")
_ROOT_EMPTY_IN_SYS = ("/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security")
_PROTECTED = frozenset(PROTECTED)
_OURS = (
    os.path.dirname(os.path.realpath(__file__)).removesuffix("/engine/walls"),
    os.path.realpath(sys.prefix),
)
_closed: dict[int, tuple[str, ...]] = {}


def mounts(
    projects: Mapping[str, str],
    *,
    person: str,
    tools: Sequence[str],
    path: str,
    store: str,
    own: Sequence[str],
    network: bool,
) -> tuple[str, ...]:
    """Return bubblewrap's arguments for all mounts; `projects` are directories with where they lead.

    `person` is the home directory that HOME names, `tools` are the tools in it, `path` is the search path,
    `store` the home of Errands; `own` are the directories in it that the task may write to.
    """
    words: list[str] = []
    readable = [each for each in _SYSTEM if _has_entries(each)]
    for each in readable:
        words += ("--ro-bind", each, each)
    for each in _SYSTEM_LINKS:
        if os.path.islink(each):
            words += ("--symlink", os.readlink(each), each)
        elif os.path.isdir(each):
            words += ("--ro-bind", each, each)
    words += ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--symlink", "/run", "/var/run")
    words += ("--perms", "1777", "--tmpfs", "/var/tmp", "--perms", "1777", "--tmpfs", "/tmp")
    for each in ("/run/current-system", *([os.path.realpath("/etc/resolv.conf")] if network else [])):
        if is_within(each, "/run") and os.path.exists(each):
            words += ("--ro-bind", each, each)
    words += _root_words() if os.geteuid() == 0 else ()
    # A search path may lead to tools of the account's own home directory, whatever HOME says.
    account = own_home()
    known = [*tools, *(home_tools(account) if account != person else ())]
    covered = [*readable, *_SYSTEM_LINKS, *known, *projects]
    for each in dict.fromkeys(known):
        words += ("--ro-bind", each, each)
    for each, real in _programs([*path.split(":"), *_environments(projects)], person, covered):
        known.append(each)
        words += bound(real, each)
    for project, real in projects.items():
        words += _project_words(project, real, path)
        words += _store_words(store, project)
    for each in own:
        words += ("--bind", each, each)
    for each in _sockets_in([*readable, *known, *projects]):
        words += ("--ro-bind", "/dev/null", each)
    return (*words, *_sys_words(), "--remount-ro", "/")


def _sys_words() -> Iterator[str]:
    """Show /sys. It comes last: bubblewrap reads all mounts again for each new one, and these are many."""
    if _has_entries("/sys"):
        yield from ("--ro-bind", "/sys", "/sys")
        for each in _ROOT_EMPTY_IN_SYS if os.geteuid() == 0 else ():
            if _has_entries(each):
                yield from ("--tmpfs", each)


def _store_words(store: str, project: str) -> Iterator[str]:
    """Hide a store that lies in a project, under each name that the project has inside."""
    real, place = resolved(project), resolved(store)
    if is_within(place, real):
        for each in dict.fromkeys((project, real)):
            yield from ("--tmpfs", each + place[len(real) :])


def unprotected(project: str) -> dict[str, dict[str, str]]:
    """Return the protected names that cannot be mounted, by directory: they are missing ("") or links."""
    found: dict[str, str] = {}
    there = frozenset(os.listdir(project))
    # Without a repository in `.git`, git takes a directory with this for one, and runs what it says.
    for name in PROTECTED if has_repository(project) else (*PROTECTED, "HEAD"):
        path = f"{project}/{name}"
        if name not in there:
            found[name] = ""
            continue
        if os.path.islink(path):
            found[name] = os.readlink(path)
        elif not os.path.lexists(path) or (name == ".git" and _is_empty(path)):
            found[name] = ""
    real = resolved(project)
    everywhere = {real: found}
    for path in named_by(real):
        if os.path.islink(path):
            everywhere.setdefault(os.path.dirname(path), {})[os.path.basename(path)] = os.readlink(path)
            continue
        while not os.path.lexists(path) and not os.path.isdir(os.path.dirname(path)):
            path = os.path.dirname(path)
        if not os.path.lexists(path):
            everywhere.setdefault(os.path.dirname(path), {})[os.path.basename(path)] = ""
    return everywhere


def home_tools(person: str) -> list[str]:
    """Return the tools in a home directory, without links, which could lead to a secret."""
    home = resolved(person) if os.path.isabs(person) else "/"
    if home == "/":
        return []
    return [
        f"{person}/{name}"
        for name in (*TOOLS, *_SETTINGS)
        if os.path.lexists(f"{home}/{name}") and _is_there(home, name) and not _confides(f"{home}/{name}")
    ]


def _confides(path: str) -> bool:
    """Return whether these are settings of git that hold a secret."""
    if not path.endswith("/.gitconfig"):
        return False
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return _CONFIDING.search(os.read(file, _LARGEST)) is not None
    except OSError:
        return True
    finally:
        os.close(file)


def _is_there(home: str, name: str) -> bool:
    return resolved(f"{home}/{name}") == f"{home}/{name}"


def _environments(projects: Iterable[str]) -> list[str]:
    """Return the programs of virtual environments in a project: their interpreter is elsewhere."""
    return [f"{project}/{name}/bin" for project in projects for name in (".venv", "venv", "env")]


def _project_words(project: str, real: str, path: str) -> Iterator[str]:
    for each in dict.fromkeys((project, real)):
        yield from bound(real, each, writable=True)
    yield from _leading_words(project, real)
    there = _PROTECTED.intersection(os.listdir(real))
    found = (*settings_below(real), *programs_below(real, path))
    below = [each[len(real) + 1 :] for each in found]
    for name in (*sorted(there), *_own_files(real), *below):
        # A link itself cannot be mounted, but where it leads in the project can.
        inner = resolved(f"{real}/{name}")
        if is_within(inner, real) and inner != real and (os.path.isfile(inner) or os.path.isdir(inner)):
            for each in dict.fromkeys((project, real)):
                yield from bound(inner, each + inner[len(real) :])
    for name in (*there, *below):
        if os.path.basename(name) == ".git":
            yield from repository_words(f"{real}/{name}", real)


def _leading_words(project: str, real: str) -> Iterator[str]:
    """Keep what the settings of git at the top lead to in place, and read-only.

    Its parents are mounts of their own: a run could rename them, and put others in their place.
    """
    found = [path for path in named_by(real) if os.path.lexists(path)]
    kept = dict.fromkeys(parent for path in found for parent in reversed(_between(path, real)))
    for writable, places in ((True, kept), (False, found)):
        for place in places:
            inner = resolved(place)
            if is_within(inner, real) and inner != real:
                for each in dict.fromkeys((project, real)):
                    yield from bound(inner, each + inner[len(real) :], writable=writable)


def _between(path: str, project: str) -> list[str]:
    """Return the directories between a path and the project that it is in, the deepest first."""
    found = []
    while (path := os.path.dirname(path)) != project:
        found.append(path)
    return found


def _own_files(project: str) -> Iterator[str]:
    """Yield where Errands itself is installed in a project: its next command runs outside of the sandbox."""
    for each in _OURS:
        if is_within(each, project) and each != project:
            yield each[len(project) + 1 :]


def _programs(entries: Sequence[str], person: str, covered: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what the search path needs: its directories, and all of an installation in front of a `bin`.

    Behind each of them stands where it leads.
    """
    homes = {resolved(each) for each in (person, own_home()) if each} - {"/"}
    for entry in dict.fromkeys(entries):
        if not entry.startswith("/") or not os.path.isdir(entry):
            continue
        top = os.path.dirname(entry)
        is_installation = os.path.basename(entry) in ("bin", "sbin") and (
            os.path.isdir(f"{top}/lib") or os.path.isfile(f"{top}/pyvenv.cfg")
        )
        wanted = [top] if is_installation else [entry]
        if is_installation and os.path.basename(resolved(top)) in _MIXED:
            wanted = _parts(top)
        # An interpreter of a virtual environment is elsewhere, and that may be a project of its own.
        if is_installation and os.path.isfile(f"{top}/pyvenv.cfg"):
            base = resolved(f"{entry}/python")
            wanted += _parts(os.path.dirname(os.path.dirname(base))) if _is_interpreter(base) else []
        for each in wanted:
            real = resolved(each)
            if not any(is_within(each, known) for known in covered) and not _is_private(real, homes):
                yield each, real


def _parts(installation: str) -> list[str]:
    return [place for name in _PARTS if os.path.isdir(place := f"{installation}/{name}")]


def _is_interpreter(path: str) -> bool:
    """Return whether this is Python in an installation; a run could make `.venv/bin/python` lead anywhere."""
    top = os.path.dirname(os.path.dirname(path))
    return (
        os.path.isfile(path)
        and os.path.basename(path).startswith(("python", "pypy"))
        and os.path.basename(os.path.dirname(path)) == "bin"
        and os.path.isdir(f"{top}/lib")
    )


def _is_private(real: str, homes: set[str]) -> bool:
    """Return whether a directory is, holds or lies in something that no sandbox may see."""
    hidden = [f"{home}/{name}" for home in homes for name in _PRIVATE]
    return (
        real == "/"
        or any(is_within(real, each) or (is_within(each, real) and os.path.lexists(each)) for each in hidden)
        or any(is_within(home, real) for home in homes)
    )


def _root_words() -> Iterator[str]:
    for each in _ROOT_READ_ONLY:
        if os.path.exists(each):
            yield from ("--ro-bind", each, each)
    for each in _ROOT_EMPTY_FILES:
        if _is_closed(each):
            yield from ("--ro-bind", "/dev/null", each)
    for each in _ROOT_EMPTY:
        if _has_entries(each):
            yield from ("--tmpfs", each)
    if 0 not in _closed:
        _closed[0] = tuple(_closed_in("/etc"))  # 3 ms; what others may not read there hardly changes
    for each in _closed[0]:
        if _has_entries(each):
            yield from ("--tmpfs", each)
        elif os.path.isfile(each) and os.path.getsize(each):
            yield from ("--ro-bind", "/dev/null", each)


def _is_closed(file: str) -> bool:
    """Return whether a file is there that only root may read; an ordinary user sees the others, too."""
    try:
        return not os.stat(file).st_mode & stat.S_IROTH
    except OSError:
        return False


def _closed_in(directory: str) -> Iterator[str]:
    """Yield what root may read and others may not: inside, uid 0 still counts as the owner.

    What belongs to another account, such as that of a database, is closed to root without capabilities.
    """
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        found = entry.stat(follow_symlinks=False)
        is_directory = entry.is_dir(follow_symlinks=False)
        if found.st_mode & (stat.S_IXOTH if is_directory else stat.S_IROTH):
            if is_directory:
                yield from _closed_in(entry.path)
        elif _is_ours(entry.path, found):
            yield entry.path


def _is_ours(path: str, found: os.stat_result) -> bool:
    """Return whether this account may read something as its owner, through a group or by an access list."""
    if found.st_uid == os.geteuid() or found.st_gid in (os.getegid(), *os.getgroups()):
        return True
    try:
        return "system.posix_acl_access" in os.listxattr(path, follow_symlinks=False)
    except OSError:
        return False  # the file system has no access lists


def _sockets_in(mounted: Sequence[str]) -> list[str]:
    """Return the sockets below what is mounted: a read-only mount would not keep anything from connecting."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        return []
    # A machine may have thousands, most of them far from what is mounted: look at their folders first.
    folders: dict[str, list[str]] = {}
    for line in lines:
        folder, slash, name = line.partition(" /")[2].rpartition("/")
        if slash or name:
            folders.setdefault(f"/{folder}", []).append(name)
    places = tuple({f"{resolved(place).rstrip('/')}/" for place in mounted})
    found = set()
    for folder, names in folders.items():
        real = f"{resolved(folder).rstrip('/')}/"
        if real.startswith(places):
            found |= {real + name for name in names if os.path.exists(real + name)}
    return sorted(found)


def _has_entries(directory: str) -> bool:
    try:
        found = os.stat(directory)
        if found.st_nlink > 2 and stat.S_ISDIR(found.st_mode):
            return True  # most file systems count the directories in it, and a large one is slow to list
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _is_empty(directory: str) -> bool:
    try:
        return not os.path.islink(directory) and not os.listdir(directory)
    except OSError:
        return False
