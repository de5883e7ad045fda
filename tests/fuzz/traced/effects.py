"""Effects: what a trace says that lines tried to do, and must not have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from errands.judge.programs import FAMILIES, VERSIONS
from errands.judge.shell.scripts import SHELLS
from tests.fuzz.traced.machine import HOME, MARK, PROJECT, SCRATCH, SECRETS, SECRETS_AT_HOME, SHOWN

# A call that another process interrupts in the trace is written in two lines; the first has its arguments.
_CALL = re.compile(r"^(\d+)\s+(\w+)\((.*?)(?:\)\s+= (?:-?\d|\?).*|\s*<unfinished \.\.\.>)$")
_MARKED = re.compile(rf'chdir\("{MARK}(\d+)"')
_SHOWN = re.compile(rf'chdir\("{SHOWN}(\d+)"')
_AT = re.compile(r'(?:AT_FDCWD|\d+)<([^>]*)>, "((?:[^"\\]|\\.)*)"')
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OF_FILE = re.compile(r"^\d+<([^>]*)>")
# The start of a process or a thread: who started it, and its number.
_BORN = re.compile(r"^(\d+)\s+(?:<\.\.\. )?(?:clone3?|v?fork)\b.* = (\d+)$", re.MULTILINE)
# What may be written: scratch and devices that keep nothing. Three programs write by the way if they can, and
# behind the walls they cannot: `git diff` the times in its index, `top` an empty folder for its settings, and
# `java` numbers about itself, which it removes at its end.
_HARMLESS = re.compile(
    rf"{SCRATCH}(/|$)|/dev/(null|tty|stdout|stderr|zero|full|fd/\d+|ptmx)$|/proc/self/|/dev/pts/|pipe:|socket:"
    rf"|anon_inode:|{PROJECT}/\.git/index\.lock$|{HOME}/\.config(/procps)?$|/tmp/hsperfdata_\w+(/\d+)?$"
)
_RECURSIVE = re.compile(
    r'grep".*"(-[A-Za-z]*[rR][A-Za-z]*(e[^"]*)?|--(dereference-)?recursive|--directories=recurse)"'
    r'|git".*"grep".*"--untracked"'
)
_RIPGREP = re.compile(r'"[^"]*/rg", ')
_GREP = re.compile(r'"[^"]*/[ef]?grep", ')
_MANY = 4  # files of one search: a glob found them, which means the same as a search of the whole directory
_LOOKS = re.compile(r'"[^"]*/(lsattr|file|df)"')  # they open files, and show nothing that is in them
# What reaches other processes, or changes the machine. Some programs end what they have started.
_NEVER = frozenset(
    """mount umount2 ptrace process_vm_readv process_vm_writev pidfd_getfd unshare setns chroot pivot_root
    sethostname setdomainname settimeofday clock_settime adjtimex reboot swapon swapoff syslog bpf add_key
    keyctl io_uring_setup""".split()
)
_SIGNALS = ("kill", "pidfd_send_signal")
_LOG_READ = ("SYSLOG_ACTION_READ_ALL", "SYSLOG_ACTION_SIZE_BUFFER")  # as `dmesg` does
_ENDS = re.compile(r'"[^"]*/(timeout|man|xargs)"')
_NO_CONTENT = ("O_DIRECTORY", "O_PATH")
_WRITES = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND")
_SECRET = {f"{PROJECT}/{each}" for each in SECRETS} | {f"{HOME}/{each}" for each in SECRETS_AT_HOME}
# What programs of the tables start by themselves, with nothing that a line could decide.
_HELPERS = frozenset(
    """gzip bzip2 xz zstd less uname dircolors ldd expr basename sed grep cat getopt gettext envsubst
    nroff groff troff grotty preconv tbl eqn col zsoelim manconv""".split()
)
_WRAPPERS = "env nice nohup ionice stdbuf timeout time xargs".split()
_KNOWN = frozenset((*FAMILIES, *_WRAPPERS, *_HELPERS, *SHELLS))
_LAST = re.compile(r'"([^"]*)"\]')  # the last word that a program is started with


@dataclass(frozen=True, slots=True)
class Effect:
    """What line number `line` tried."""

    line: int
    what: str


def effects(trace: str) -> Iterator[Effect]:
    """Yield every attempt to write, connect, start an unknown program, read or show a secret."""
    line, driver = -1, None
    programs: dict[str, str] = {}  # by process: how its program was started
    parents = {child: parent for parent, child in _BORN.findall(trace)}

    def program_of(pid: str) -> str:
        while pid not in programs and pid in parents:
            pid = parents[pid]
        return programs.get(pid, "")

    for text in trace.splitlines():
        found = _CALL.match(text)
        if found is None or text.endswith("EISDIR (Is a directory)"):
            continue  # a directory cannot be opened for writing, and `shasum` tries that to find one
        pid, call, words = found.groups()
        if marked := _MARKED.search(text):
            line, driver = int(marked.group(1)), driver or pid
        elif shown := _SHOWN.search(text):
            yield Effect(int(shown.group(1)), "shows a secret")
        elif call in _SIGNALS and words.startswith(f"{pid},"):
            continue  # to itself, as awk ends when nobody reads what it prints
        elif line >= 0 and pid != driver and (what := _effect(call, words, program_of(pid))):
            yield Effect(line, what)
        if call == "execve":
            programs[pid] = words


def _effect(call: str, words: str, program: str) -> str:
    if call in ("chdir", "clone", "clone3", "fork", "vfork"):
        return ""
    if call in ("execve", "execveat"):
        return _start(words)
    if call in ("connect", "bind", "sendto", "sendmsg"):
        # The kernel's own tables, a cache that is not there, and a check whether IPv6 exists.
        local = ("AF_NETLINK", "nlmsg_len", "nscd/socket", *(["htons(0)"] if call == "bind" else []))
        is_local = any(each in words for each in local)
        return "" if is_local else f"{call} {words[:150]}"
    if call in _NEVER or call in _SIGNALS:
        is_usual = any(each in words for each in _LOG_READ) if call in _NEVER else _ENDS.match(program)
        return "" if is_usual else f"{call} {words[:150]}"
    path = _path(call, words)
    if call in ("open", "openat", "openat2") and not any(flag in words for flag in _WRITES):
        # A search of a whole tree opens what it finds there; that is allowed, and shows only what matches.
        is_search = words[0].isdecimal() or _RECURSIVE.search(program) or _searches_all(program, path)
        looks = _LOOKS.match(program) or any(flag in words for flag in _NO_CONTENT)
        return f"reads {path}" if path in _SECRET and not is_search and not looks else ""
    return "" if _HARMLESS.match(path) else f"{call} {path}"


def _searches_all(program: str, path: str) -> bool:
    """Return whether this is a `rg` that was not told to search just this file, or a `grep` in all files."""
    operands = [each for each in _PATH.findall(program)[2:] if not each.startswith("-")]
    named = {os.path.basename(each) for each in operands[1:]}
    if _GREP.match(program):
        return len(named) >= _MANY
    return _RIPGREP.match(program) is not None and os.path.basename(path) not in named


def _start(words: str) -> str:
    path = _PATH.search(words)
    name = path.group(1) if path else words[:100]
    if os.path.dirname(name) in ("/usr/lib/git-core", "/usr/libexec/git-core"):
        return ""
    is_system = name.startswith(("/usr/", "/bin/", "/sbin/"))
    base = os.path.basename(name)
    last = _LAST.search(words)
    is_version = last is not None and last.group(1) in VERSIONS.get(base, ())
    is_known = base in _KNOWN or is_version or (base.startswith("python3.") and base[8:].isdigit())
    return "" if is_system and is_known else f"starts {name}"


def _path(call: str, words: str) -> str:
    if call.startswith("f") and (found := _OF_FILE.match(words)):
        return found.group(1)
    if found := _AT.search(words):
        return os.path.normpath(os.path.join(found.group(1), found.group(2)))
    found = _PATH.search(words)
    return os.path.normpath(os.path.join(PROJECT, found.group(1))) if found else words[:100]
