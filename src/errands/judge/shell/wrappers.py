"""Wrappers: programs that run another one, resolved to exactly what they run.

Only listed options of a wrapper are accepted. Anything else leaves a doubt, and then the commands found in
its words are only good for naming a danger.
"""

from __future__ import annotations

from errands.judge.programs.globs import may_match_plain
from errands.judge.programs.name_patterns import may_name_secret
from errands.judge.shell.fd import follow_fd
from errands.judge.shell.followed import LOOKERS, READERS, VARIABLE, Followed, unknown
from errands.judge.shell.grammar import Step, Word
from errands.judge.shell.scripts import OTHER_SHELLS, SHELLS
from errands.model.record import evolve, record
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Follow = Callable[[tuple[Word, ...], "Step | None"], "Followed"]

# These run other commands in ways that are not analysed; what they might run still names dangers.
RUNNERS = OTHER_SHELLS | frozenset(
    """setsid flock watch exec builtin eval sudo doas su runuser pkexec chroot unshare nsenter
    taskset chrt numactl busybox toybox script expect parallel ssh strace ltrace gdb perf valgrind
    systemd-run at batch entr daemonize rbash rksh setpriv setarch linux32
    linux64 catchsegv trap coproc nsjail bwrap firejail proot fakeroot unbuffer rlwrap sem
    caffeinate capsh dbus-run-session xvfb-run start-stop-daemon torsocks proxychains tmux
    screen direnv devbox nix-shell hyperfine""".split()
)


# With these `rg` does not search its input: `-f` may read its patterns from there, the others list.
_SEARCHES_NO_INPUT = regex(r"-[A-Za-z]*f|--file|--type-list")


def follow(words: tuple[Word, ...], source: Step | None = None) -> Followed | None:
    """Return what a wrapper runs, or None for any other program; `source` is the command piped into it."""
    name = words[0].text
    if name in RUNNERS:
        return unknown(words, f"runs another command with `{name}`, which is not analysed")
    if name == "rg" and source is not None and not any(_SEARCHES_NO_INPUT.match(word.text) for word in words):
        return Followed(itself=(*words, Word(text="-")))  # without a path, it searches what it is fed
    known = _FOLLOWING.get(name)
    return known(words, source) if known else None


def is_wrapper(name: str) -> bool:
    """Return whether the purpose of a program is to run another one."""
    return name in _FOLLOWING or name in RUNNERS


@record
class Prefix:
    """A wrapper in front of a command: flags, options with a value, and operands of its own."""

    flags: str = ""
    valued: str = ""  # as the next word
    joined: str = ""  # a pattern for options with their value in the same word
    value: str = r"[A-Za-z0-9.+-]+"
    operands: tuple[str, ...] = ()
    writes: bool = False  # a file of its own, so it is judged, too


_PREFIXES = {
    "nohup": Prefix(writes=True),
    "time": Prefix(flags="-p"),
    "nice": Prefix(valued="-n --adjustment", joined=r"-n?[+-]?\d+|--adjustment=[+-]?\d+", value=r"[+-]?\d+"),
    "ionice": Prefix(
        flags="-t --ignore",
        valued="-c -n --class --classdata",
        joined=r"-[cn]\d|--class=(\d|none|realtime|best-effort|idle)|--classdata=\d",
        value=r"\d|none|realtime|best-effort|idle",
    ),
    "stdbuf": Prefix(
        valued="-i -o -e --input --output --error",
        joined=r"-[ioe](0|L|\d+[KMG]?)|--(input|output|error)=(0|L|\d+[KMG]?)",
        value=r"0|L|\d+[KMG]?",
    ),
    "timeout": Prefix(
        flags="-v --verbose --foreground --preserve-status",
        valued="-s -k --signal --kill-after",
        joined=r"(-[sk]|--signal=|--kill-after=)[A-Za-z0-9.]+",
        value=r"[A-Za-z0-9.]+",
        operands=(r"(\d+(\.\d*)?|\.\d+)[smhd]?",),
    ),
}


def _follow_prefix(words: tuple[Word, ...], source: Step | None) -> Followed:
    import re  # few commands have a wrapper

    name = words[0].text
    prefix = _PREFIXES[name]
    flags, valued = prefix.flags.split(), prefix.valued.split()
    wanted = list(prefix.operands)
    at = 1
    while at < len(words):
        word = words[at]
        text = word.text
        if not _is_fixed(word):
            break
        if text.startswith("-") and len(wanted) == len(prefix.operands):
            if text in valued and at + 1 < len(words) and re.fullmatch(prefix.value, words[at + 1].text):
                at += 1
            elif text not in flags and not (prefix.joined and re.fullmatch(prefix.joined, text)):
                return unknown(words, f"passes `{name}` an option that is not known to be harmless: {text}")
        elif wanted and re.fullmatch(wanted[0], text):
            wanted.pop(0)
        else:
            break
        at += 1
    if wanted or at >= len(words):
        return unknown(words, f"passes `{name}` nothing that can be analysed")
    return Followed(steps=(Step(words=words[at:]),), itself=words[:1] if prefix.writes else ())


_XARGS_NUMBER = regex(r"-[nPL]\d+")


def _follow_env(words: tuple[Word, ...], source: Step | None) -> Followed:
    assignments: list[tuple[str, Word]] = []
    for at, word in enumerate(words[1:], start=1):
        if not _is_fixed(word):
            break
        if found := VARIABLE.fullmatch(word.text):
            assignments.append((found[1], evolve(word, text=found[2])))
        elif word.text.startswith("-"):
            return unknown(words, f"passes `env` an option that is not known to be harmless: {word.text}")
        else:
            return Followed(steps=(Step(words=words[at:], assignments=tuple(assignments)),))
    return unknown(words, "prints every variable of the environment, where secrets may be kept")


def _follow_command(words: tuple[Word, ...], source: Step | None) -> Followed:
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        return Followed(itself=words)
    if len(words) < 2 or words[1].text.startswith("-"):
        return unknown(words, "uses `command` in a way that is not analysed")
    return Followed(steps=(Step(words=words[1:]),))


_SHELL_FLAGS = frozenset(("-e", "-u", "-eu", "-ue"))
_SHELL_COMMANDS = frozenset(("-c", "-ec", "-uc", "-euc", "-uec"))


def _follow_shell(words: tuple[Word, ...], source: Step | None) -> Followed:
    """Follow `sh -c LINE` with nothing after the line; `bash -n FILE` and `bash --version` run nothing."""
    name = words[0].text
    if len(words) == 2 and words[1].text == "--version":
        return Followed(itself=words)
    if len(words) == 3 and words[1].text == "-n" and name != "zsh" and not words[2].text.startswith("-"):
        return Followed(itself=words)
    at = 1
    while at < len(words) and words[at].text in _SHELL_FLAGS:
        at += 1
    rest = words[at:]
    if len(rest) == 2 and rest[0].text in _SHELL_COMMANDS and _is_fixed(rest[1]):
        return Followed(lines=(rest[1].text,))
    if any(word.text.startswith("-") and word.text.endswith("c") for word in words[1:]):
        lines = tuple(word.text for word in words[2:] if word.literal and not word.text.startswith("-"))
        return Followed(lines=lines[:1], doubt=f"passes `{name}` a line in a way that is not analysed")
    if all(word.text.startswith("-") for word in words[1:]):
        return Followed(doubt=f"`{name}` runs whatever it reads", kind="input")
    script = next(word.text for word in words[1:] if not word.text.startswith("-"))
    return Followed(doubt=f"runs a script: {script}", kind="script")


# These are harmless whatever words they get.
_SAYERS = frozenset("echo basename dirname".split())
# Predicates of find without a value: the next word is another predicate.
_ALONE = frozenset(
    """-print -print0 -prune -o -or -a -and ! -not -empty -ls -readable -executable -writable -true
    -depth -daystart -xdev -mount -noleaf -nouser -nogroup -quit ( ) , -L -H -P""".split()
)
_EXECS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))

# find and xargs pass names of files to a command. The names begin with the place where find started, so none
# is an option; the command must be one of those that only read.


def _follow_find(words: tuple[Word, ...], source: Step | None) -> Followed:
    """Cut every -exec out of a find; the rest is judged as it is."""
    texts = [word.text for word in words]
    if not _EXECS.intersection(texts):
        return Followed(itself=words)
    rest: list[Word] = []
    steps: list[Step] = []
    doubt = ""
    at = 0
    while at < len(words):
        if texts[at] not in _EXECS:
            rest.append(words[at])
            at += 1
            continue
        end = next((i for i in range(at + 1, len(words)) if _ends_clause(texts, i)), len(words))
        inner = words[at + 1 : end]
        # With -execdir the words of the command mean other files in every directory.
        if end == len(words) or not inner or texts[at] != "-exec":
            return unknown(words, f"runs a command for each file in a way that is not analysed ({texts[at]})")
        before = texts[at - 1]
        alone = before in _ALONE or not before.startswith("-") or before[1:2].isdigit()
        if not alone or any(word.pattern for word in words):
            doubt = "runs a command for each file in a way that is not analysed"
        if inner[0].text not in READERS:
            steps.append(Step(words=inner))
            doubt = doubt or f"runs `{inner[0].text}` for each file that is found"
        else:
            # Only the tests before -exec limit the files that it gets.
            steps.extend(_on_files(inner, tuple(texts[:at])))
        if any("{}" in word.text and word.text != "{}" for word in inner):
            doubt = doubt or "puts file names inside other words"
        at = end + 1
    return Followed(steps=tuple(steps), itself=tuple(rest), doubt=doubt)


def _ends_clause(texts: list[str], at: int) -> bool:
    return texts[at] == ";" or (texts[at] == "+" and texts[at - 1] == "{}")


def _follow_xargs(words: tuple[Word, ...], source: Step | None) -> Followed:
    """Follow `find ... -print0 | xargs -0 ...`; other input may be split into anything."""
    at, exact = 1, False
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if text in ("-n", "-P", "-L") and at + 1 < len(words) and words[at + 1].text.isdigit():
            at += 1
        elif text in ("-0", "--null", "-0r", "-r0"):
            exact = True
        elif text not in ("-r", "--no-run-if-empty") and not _XARGS_NUMBER.fullmatch(text):
            return unknown(words, f"passes `xargs` an option that is not known to be harmless: {text}")
        at += 1
    inner = words[at:]
    if not inner:
        return unknown(words, "passes `xargs` no command")
    if inner[0].text in _SAYERS:
        return Followed(steps=(Step(words=inner),))
    finding = [word.text for word in source.words] if source else []
    printing = bool(finding) and finding[0] == "find" and finding[-1] == "-print0"
    # Anything else in the pipe, error messages for instance, would be read as names.
    mixed = source is not None and any(
        (each.descriptor, each.operator) != ("2", ">") for each in source.redirections
    )
    if not exact or not printing or mixed or sum(text in _ACTIONS for text in finding) != 1:
        doubt = f"runs `{inner[0].text}` on its input, which may be anything"
        if source and source.words and source.words[0].text in ("echo", "printf"):
            return Followed(steps=(Step(words=(*inner, *source.words[1:])),), doubt=doubt)
        return Followed(steps=(Step(words=inner),), doubt=doubt)
    if inner[0].text not in READERS:
        doubt = f"runs `{inner[0].text}` for each file that is found"
        return Followed(steps=(Step(words=inner),), doubt=doubt)
    steps = _on_files((*inner, Word(text="{}")), tuple(finding))
    return Followed(steps=steps)


# Stands for every hidden file with secrets.
_SECRET = ".env"
# The settings of a repository, which are found in `.git` below any directory.
_SETTINGS = "config"
_FOLLOWING_LINKS = frozenset(("-L", "-H", "-follow"))
_ACTIONS = frozenset((*_EXECS, *"-print -print0 -printf -ls -fls -fprint -fprint0 -fprintf".split()))


def _on_files(inner: tuple[Word, ...], finding: tuple[str, ...]) -> tuple[Step, ...]:
    """Return a command with every name that a find may pass to it, as globs."""
    from errands.judge.programs.find import becomes_program, chooses_paths

    starts = []
    for text in finding[1:]:
        if (text.startswith("-") and text not in ("-L", "-H", "-P")) or text in ("!", "(", ")", ","):
            break
        if not text.startswith("-"):
            starts.append(text)
    wanted, plain = _wanted(finding[1 + len(starts) :])
    # Unlike those of a shell, the wildcards of find match a leading dot.
    is_open = any(
        each == "*" or may_name_secret(each) or may_match_plain(_SETTINGS, each.casefold()) for each in wanted
    )
    names = [*wanted, *([_SECRET] if is_open else [])]
    # `grep x` in every file is `grep -r x`, whose own pattern says what it shows.
    searched = _searched(inner) if wanted == ["*"] and not chooses_paths(finding) else ()
    names = [] if searched else names
    # Without `-type f`, find passes on the names of links, which the command follows.
    recursive = "-r" if plain and not _FOLLOWING_LINKS.intersection(finding) else "-R"
    steps = []
    if becomes_program([word.text for word in inner]):
        steps.append(Step(words=(inner[0], Word(text="*", pattern=True))))
    for start in starts or ["."]:
        # `find FILE` finds that very file.
        for name in [start, *(f"{start.rstrip('/')}/{name}" for name in names)]:
            pattern = any(letter in name for letter in "*?[")
            replaced = tuple(
                Word(text=name, pattern=pattern) if word.text == "{}" else word for word in inner
            )
            steps.append(Step(words=replaced))
        if inner[0].text not in LOOKERS:
            # Reading what find finds is as harmless as searching the whole directory.
            whole = searched or (Word(text="grep"), Word(text="-e"), Word(text="zxq"))
            steps.append(Step(words=(whole[0], Word(text=recursive), *whole[1:], Word(text=start))))
    return tuple(steps)


def _searched(inner: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return a plain `grep` of files without these; () for any other command."""
    is_plain = inner[0].text in ("grep", "egrep") and inner[-1].text == "{}" and len(inner) > 2
    if not is_plain or inner[-2].text.startswith("-") or any("{}" in word.text for word in inner[:-1]):
        return ()
    return inner[:-1]


_EITHER = frozenset(("-o", "-or", ","))
_NAMES = frozenset(("-name", "-iname"))


def _wanted(expression: tuple[str, ...]) -> tuple[list[str], bool]:
    """Return the patterns that names match at the end of an expression, and whether only files get there.

    What is before an `-o` does not limit what comes after it; a group of names in parentheses does.
    """
    from errands.judge.programs.find import takes_value

    if _EXECS.intersection(expression):
        return ["*"], False  # the words of a command look like tests, too
    names: list[str] = []
    group: list[str] | None = None
    plain, is_not, rest = False, False, iter(expression)
    for word in rest:
        value = next(rest, "") if takes_value(word) else ""
        if word in ("!", "-not"):
            is_not = True
            continue
        if word in _EITHER and group is None:
            names, plain = [], False
        elif word == "(" and group is None:
            group = [] if is_not or names else [word]
        elif word == ")" and group is not None:
            names = names or group[1:]
            group = None
        elif word in ("(", ")"):
            return ["*"], False
        elif group is not None:
            # Only names, one or the other; anything else in the group says nothing about them.
            is_name = word in _NAMES and not is_not and group
            group = [*group, value] if is_name else group if word in _EITHER else []
        elif not is_not and word in _NAMES:
            names = [value]
        elif not is_not and (word, value) == ("-type", "f"):
            plain = True
        is_not = False
    return (["*"], False) if group is not None else (names or ["*"], plain)


def _is_fixed(word: Word) -> bool:
    """Return whether a word is exactly its text, whatever the shell does."""
    return word.literal and not word.pattern and not word.home


_FOLLOWING: dict[str, Follow] = {
    **dict.fromkeys(("fd", "fdfind"), follow_fd),
    **dict.fromkeys(_PREFIXES, _follow_prefix),
    **dict.fromkeys(SHELLS, _follow_shell),
    **dict.fromkeys(("env", "/usr/bin/env"), _follow_env),
    "command": _follow_command,
    "find": _follow_find,
    "xargs": _follow_xargs,
}
