"""The same program, started by another one, or by a shell."""

from __future__ import annotations

import base64
import re
from random import Random

from tests.fuzz.words import BUILTINS, RESERVED, is_complete, plain, quoted, simple

_NAMES = """
env|env --|env -|env -i|env FOO=1|env -u HOME|env -u HOME LANG=C|/usr/bin/env|nohup|nohup --|timeout -v 5
timeout 5|timeout 1.5m|timeout -s KILL 5|timeout --signal=9 -k 1 5|timeout -k1 --foreground 5|ionice -c3
nice|nice -5|nice -n 5|nice -n5|nice --adjustment=5|nice -n -5|ionice -t|stdbuf -o0|stdbuf -oL -eL
stdbuf --output=L|setsid|setsid -w|chrt -b 0|taskset 1|unshare -r|setarch x86_64|prlimit --nofile=99
sudo|sudo -n|sudo -u bob|doas|flock /tmp/l|chroot /|strace|ltrace|busybox|toybox|parallel|watch|arch
exec|exec -a ls|exec -c|command|command -p|command --|time|time -p|time --|! time|coproc|\\time
xargs|xargs -r|xargs -0|xargs -n1|xargs -a /dev/null|xargs -I@@|xargs --max-args=1|xargs -P2 -n 1
uv run|npx|uvx|caffeinate|proxychains|faketime now
"""
WRAPPERS = _NAMES.strip().replace("\n", "|").split("|")
_INNER = [wrapper for wrapper in WRAPPERS if wrapper.split()[0] not in BUILTINS | RESERVED]
_FEEDS = ("echo x", "ls", "printf 'x\\n'", "find . -maxdepth 0", "git ls-files", "rg --files")
_REPLACING = "-I@@|-I @@|--replace=@@|-i@@|-t -I@@|-n1 -I@@|-P2 -I@@|-r -I@@".split("|")
_ACTIONS = ("-exec", "-execdir", "-ok", "-okdir", "-type d -exec", "-name x -prune -o -exec")
_SPLITS = (
    "env -S '{}'",
    "env -S'{}'",
    'env --split-string="{}"',
    "env -iS '{}'",
    "env -vS '{}'",
    "env -S '-i {}'",
)

_BASH = (
    "bash -c|bash -lc|bash -ec|bash -e -u -c|bash -o pipefail -c|/bin/bash -c|env bash -c|bash +x -c".split(
        "|"
    )
)
_BASH += "timeout 9 bash -c|nohup bash -c|xargs bash -c|nice bash --norc -c|bash -c --|command bash -c".split(
    "|"
)
_SH = "sh -c|sh -ec|dash -c|zsh -c|busybox sh -c|/bin/sh -c|env -i sh -c|sh -c --|setsid sh -c".split("|")
_OTHER = "su -c|script -qc|watch|trap --|ssh localhost|parallel".split("|")
_NOT_FOR_SH = re.compile(r"\$['\"({]|\[\[|[<>]\(|&>|<<<|\{|\|&")


def wrap(text: str, random: Random) -> str | None:
    return f"{random.choice(WRAPPERS)} {text}" if _is_started(text) else None


def wrap_deeply(text: str, random: Random) -> str | None:
    return " ".join([*random.choices(_INNER, k=random.randint(2, 12)), text]) if _is_started(text) else None


def wrap_builtin(text: str, random: Random) -> str | None:
    command = simple(text)
    if command is None or command.program not in BUILTINS or command.assignments:
        return None
    return (
        random.choice(("command", "builtin", "command --", "time", "time -p", "command command")) + f" {text}"
    )


def find_exec(text: str, random: Random) -> str | None:
    if not _is_started(text) or re.search(r";|\{\}", text):
        return None
    start = random.choice(("find .", "find . -maxdepth 0", "find", "find . -type d"))
    return f"{start} {random.choice(_ACTIONS)} {text} " + random.choice(("\\;", "';'", '";"'))


def xargs(text: str, random: Random) -> str | None:
    if not _is_started(text):
        return None
    return f"{random.choice(_FEEDS)} | xargs {random.choice(_REPLACING)} {text}"


def split_string(text: str, random: Random) -> str | None:
    command = plain(text)
    if command is None or not command.is_started:
        return None
    return random.choice(_SPLITS).format(text)


def shell(text: str, random: Random) -> str | None:
    if not is_complete(text):
        return None
    names = list(_BASH)
    if not _NOT_FOR_SH.search(text):
        names += _SH
    if simple(text) is not None:
        names += _OTHER
    tail = random.choice(("", "", " name", " name 1 2", " 2>&1", " | cat"))
    return f"{random.choice(names)} {quoted(text, random)}{tail}"


def evaluate(text: str, random: Random) -> str | None:
    if not is_complete(text):
        return None
    name = random.choice(("eval", "eval --", "command eval", "builtin eval", "eval eval --", "time eval"))
    return f"{name} {quoted(text, random)}" + random.choice(("", " 2>&1", " | cat"))


def feed_shell(text: str, random: Random) -> str | None:
    if not is_complete(text):
        return None
    word = quoted(text, random)
    ways = [
        f"bash <<< {word}",
        f"printf %s {word} | bash",
        f"bash <(printf %s {word})",
        f"bash <<'E'\n{text}\nE",
    ]
    ways += [
        f"source /dev/stdin <<< {word}",
        f"printf %s {word} | env bash -s",
        f"printf %s {word} | xargs -0 sh -c",
    ]
    if text.isascii():
        ways += [f"echo {base64.b64encode(text.encode()).decode()} | base64 -d | bash"]
        ways += ["printf '" + "".join(f"\\{ord(sign):03o}" for sign in text) + "' | bash"]
    return random.choice(ways)


def _is_started(text: str) -> bool:
    command = simple(text)
    return command is not None and command.is_started


WRAPPING = (wrap, wrap_deeply, wrap_builtin, find_exec, xargs, split_string, shell, evaluate, feed_shell)
