"""The machine: an image of temporary directories, in which a tracer watches lines run.

The system is there, read-only; the project and the home are scratch copies, read-only, too: an attempt to
write is seen all the same, and a wrong line harms neither this machine nor the lines after it. None of the
walls of Errands is built. Only the scratch directory, as TMPDIR, can be written to.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from errands.judge.programs import FAMILIES
from errands.runners.shim.read_only import QUIET

PROJECT, HOME, SCRATCH = "/project", "/home/person", "/scratch"
MARK, SHOWN = "/next-line/", "/shows-a-secret/"
CANARY = "QZ_WXKJV=7fq3"  # in secret files; the judge tries patterns of searches on it, too
WITHIN = 3  # seconds for one line
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FILES = [
    "README.md",
    "src/main.py",
    "src/util.py",
    "data.json",
    "notes.txt",
    "src",
    "tests/test_a.py",
    "a b.txt",
]
SECRETS = (".env", "server.pem", "config/database.yml", ".mcp.json")
SECRETS_AT_HOME = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".bash_history", ".config/gh/hosts.yml")
# What changes a file, its name or its rights, connects, starts a program, a process or a thread, or reaches
# other processes and the machine itself.
_CALLS = """
open openat openat2 creat rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link linkat symlink
symlinkat chmod fchmod fchmodat chown fchown lchown fchownat truncate ftruncate mknod mknodat utime utimes
utimensat futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr fallocate connect bind
sendto sendmsg sendmmsg execve execveat chdir mount umount2 ptrace clone clone3 fork vfork kill
pidfd_send_signal pidfd_getfd process_vm_readv process_vm_writev unshare setns chroot pivot_root sethostname
setdomainname settimeofday clock_settime adjtimex reboot swapon swapoff syslog bpf add_key keyctl
io_uring_setup
""".split()
_DRIVER = f"""
import json, os, select, signal, subprocess, sys, time
lines, canary = json.load(sys.stdin)
os.environ["API_TOKEN"], canary = canary, canary.encode()  # not on a command line, which `ps` may show
for number, line in enumerate(lines):
    try:
        os.chdir("{MARK}%d" % number)
    except OSError:
        pass
    out, into = os.pipe()
    files = dict(stdin=subprocess.DEVNULL, stdout=into, stderr=into)
    try:
        child = subprocess.Popen(["/bin/bash", "-c", line], cwd="{PROJECT}", start_new_session=True, **files)
    except (OSError, ValueError):
        os.close(out)
        continue
    finally:
        os.close(into)
    ended = os.pidfd_open(child.pid)  # unlike `wait` with a time-out, which looks less and less often
    waiting, until, shown, is_secret = [out, ended], time.monotonic() + {WITHIN}, b"", False
    while (left := until - time.monotonic()) > 0:
        ready = select.select(waiting, [], [], left)[0]
        if out in ready:
            piece = os.read(out, 65536)
            shown = shown[-len(canary):] + piece
            is_secret = is_secret or canary in shown
            waiting = waiting if piece else [ended]
        elif ended in ready:
            break
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass
    child.wait()
    os.close(ended)
    os.close(out)
    if is_secret:
        try:
            os.chdir("{SHOWN}%d" % number)
        except OSError:
            pass
"""


def missing() -> str:
    """Return what this machine lacks for it; "" if nothing."""
    lacking = [name for name in ("bwrap", "strace", "git") if shutil.which(name) is None]
    if lacking or sys.platform != "linux":
        return f"needs Linux and {', '.join(lacking) or 'its tracer'}"
    image = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    tracer = ("strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=execve", "true")
    probe = ["bwrap", "--unshare-user", "--unshare-pid", *image, "--", *tracer]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"cannot trace in a sandbox: {done.stderr.strip()[:300]}" if done.returncode else ""


def absent() -> list[str]:
    """Return the programs of the tables that are not installed here: lines with them show nothing."""
    script = 'for each; do type -t "$each" >/dev/null || echo "$each"; done'
    words = ["bash", "-c", script, "bash", *FAMILIES]
    done = subprocess.run(words, env={"PATH": _PATH}, capture_output=True, text=True, check=True)
    return done.stdout.split()


class Machine:
    def __init__(self, place: Path) -> None:
        self._place = place
        self.directories = frozenset([PROJECT, *(f"{PROJECT}/{each}" for each in ("src", "tests", "config"))])
        for folder in ("project", "home", "scratch"):
            (place / folder).mkdir(parents=True)
        for name in FILES:
            path = place / "project" / name
            if "." in name:
                path.parent.mkdir(exist_ok=True)
                path.write_text(
                    '{"a": [1, 2, {"b": "x"}]}\n' if name.endswith("json") else f"a {name}\nline 2\nabc\n"
                )
        (place / "project/.gitignore").write_text(".env\n*.pem\n.mcp.json\n")
        self._git("init", "-q", "-b", "main")
        self._git("add", "-A")
        self._git("commit", "-qm", "first")
        (place / "project/notes.txt").write_text("changed\n")
        self._git("commit", "-qam", "second")
        for folder, names in (("project", SECRETS), ("home", SECRETS_AT_HOME)):
            for name in names:
                secret = place / folder / name
                secret.parent.mkdir(parents=True, exist_ok=True)
                secret.write_text(f"{CANARY}\n")

    def trace(self, lines: Sequence[str]) -> str:
        """Run lines, one after another, and return the trace of all of them; `MARK` precedes each."""
        out = self._place / f"trace-{os.getpid()}"
        out.touch()
        words = [
            "bwrap", "--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
            "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--die-with-parent", "--clearenv",
            "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", *_top_links(),
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var",
            "--ro-bind", str(self._place / "project"), PROJECT, "--ro-bind", str(self._place / "home"), HOME,
            "--tmpfs", SCRATCH, "--ro-bind", sys.base_prefix, sys.base_prefix, "--bind", str(out), "/trace",
            *(word for pair in self._variables().items() for word in ("--setenv", *pair)),
            "--", "strace", "-f", "-qq", "-y", "-s", "300", "--seccomp-bpf",
            "-e", f"trace={','.join(_CALLS)}", "-o", "/trace",
            os.path.realpath(sys.executable), "-I", "-S", "-c", _DRIVER,
        ]  # fmt: skip
        done = subprocess.run(
            words, input=json.dumps((lines, CANARY)), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the tracer failed: {done.stderr[-2000:]}")
        return out.read_text(errors="replace")

    def _variables(self) -> dict[str, str]:
        return {
            "HOME": HOME,
            "PATH": _PATH,
            "USER": "person",
            # Not LANG: each program would open a file for every category, most of what is traced.
            "LC_CTYPE": "C.UTF-8",
            "TERM": "dumb",
            **QUIET,
            **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), SCRATCH),
        }

    def _git(self, *words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
        environ = {"PATH": os.environ["PATH"], "HOME": str(self._place / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(
            ["git", *who, *words], cwd=self._place / "project", env=environ, check=True, capture_output=True
        )


def _top_links() -> list[str]:
    """Return the words that make /bin, /lib and the like as they are here."""
    words = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    return words
