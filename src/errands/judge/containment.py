"""Containment: whether a command that is not proven harmless needs no more than the walls of a sandbox allow.

Inside, the project is writable and nothing else is there but tools, so the project's own work (tests, builds,
scripts) may start at once, and so may lines that are not followed: those that we could not parse for certain.
What deletes, needs a network, secrets or privileges, or reaches beyond the project is too much for a sandbox:
it is asked about, because it would fail or do harm even there. Commands that hide what they do are asked
about too.
"""

from __future__ import annotations

import posixpath
import re

from errands.judge.lookalikes import only_allows, placed, without_signs
from errands.judge.programs import FAMILIES, is_secret
from errands.judge.programs.deleting import deletion_of
from errands.judge.programs.globs import Glob
from errands.judge.programs.harms import harm_of
from errands.judge.programs.needs import (
    ALWAYS,
    DOWNLOADERS,
    READING_GIT,
    WRITERS,
    is_typical,
    needs_network,
)
from errands.judge.shell.grammar import LONGEST
from errands.judge.shell.payload import LOCAL, without_pattern, without_payload, without_tests
from errands.judge.shell.scripts import RUNNING, is_interpreter, names_program, run_by
from errands.judge.workspace import PROTECTED, TOOLS, is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.judge.workspace import Workspace
    from errands.model.verdict import Reason

# Kinds of reasons that a sandbox does not remove.
_BEYOND = frozenset("delete network secret privilege process rule size stranger helper waits".split())
# Kinds of reasons that do not apply to `npm install --help`.
_HELPING = frozenset("network script program option waits".split())
# In a line that we could not parse, and in code on the command line, one of these words is reason enough to
# ask. Where no word begins, all that stands behind one `\b` is skipped at once: searching a line of 44
# characters takes 4.4 instead of 12.8 us, one of 86 characters 7.8 instead of 25.6.
_WORDS = re.compile(
    r"""(?<![\w.-])(?:rm|rmdir|unlink|shred|srm|truncate|dd|mkfs|fdisk|parted|curl|wget|ssh|scp|sftp|rsync|nc
    |ncat|netcat|socat|telnet|ftp|sudo|doas|su|pkexec|kill|pkill|killall|reboot|shutdown|docker|podman|kubectl
    |crontab|eval|exec(?!(?:\s+\d*(?:>>?|<)(?:&\d|&-|\s*[\w.][\w./-]*))+\s*(?:[;\n]|&&|$)|$))(?![\w-])
    | \b(?:
        (?:rmtree|rmSync|unlinkSync|rmdirSync|removedirs|urlopen|rm_rf|rm_r|urllib\.request)\b
        | os\.(?:remove|rmdir|unlink|truncate)\b | File\.delete\b | Deno\.remove
        | (?:delete|destroy)_all\b | Remove-Item\b | file\s+delete\b
        | (?:removeSync|remove_(?:dir|file|entry)\w*)\b
        | import\s+(?:remove|unlink|rmdir)\b
        | (?:globalThis|window)\.fetch\b | git\s+(?:-\S+\s+)*fetch\b
        # Imported or mentioned is not used yet, and these parts of them need no network.
        | (?<!\bimport\ )(?:urllib|httpx|aiohttp|requests|socket)\s*
          (?:\.(?!(?:__\w+__|parse|exceptions|gethostname)\b)\w|\()
        | from\s+(?:urllib|httpx|aiohttp|requests|socket)\b(?!\.(?:parse|exceptions)\b)
        | (?:urllib|httpx|aiohttp|requests|socket)\s+as\b
        | (?:__import__|import_module)\(\W*(?:urllib|httpx|aiohttp|requests|socket)\b
      )
    | -delete\b | \.(?:unlink\( | rm\( | delete\(\s*\)) | \(delete-(?:file|directory)\b
    | (?<![\w.])(?<!\bdef\ )(?<!\bfunction\ )fetch\s*\(""",
    re.VERBOSE,
)
# Builtins that evaluate what looks like plain words: `let 'a[$(rm x)]'`, `mapfile -C 'rm x'`.
_EVALUATING = frozenset(
    """alias bind compgen complete declare enable export hash jobs let local mapfile printf read readarray
    test trap typeset
    [""".split()
)
# Another command as one word, which an option or a setting may run: `git -c core.pager='rm -rf x'`.
_COMMAND = re.compile(
    r"(?:^(?:-[A-Za-z])?|[=!\s\"'(`;])(?:[^\s=]*/)?(?:rm|rmdir|unlink|shred|srm|dd|curl|wget|ssh|scp|nc|ncat|socat|sudo|doas)"
    r"[\s,]+[^\s|]"
)
# A pattern for hidden files that begins like a name, and not like the `.*` of a regular expression.
_HIDDEN = re.compile(r"(?:.*/)?\.[\w\[{?][^/]*")
_WILD = re.compile(r"[*?\[{]")
# A directory that a variable names, which is most often one in the project.
_BEFORE = re.compile(r"\$(?:\w+|\{\w+\}?)/(?=.)")
_DATABASES = frozenset(("sqlite3", "duckdb"))
_STATEMENTS = re.compile(
    r"\b(?:delete|drop|truncate|update|attach|alter)\b|\.(?:shell|system|import)", re.IGNORECASE
)
# A function that starts itself in the background never ends; a shell that reads a pipe runs anything.
_BOMB = re.compile(r"\(\)\s*\{[^}]*(?<![>&])&(?![>&\d])")
_FED_SHELL = re.compile(r"\|\s*(?:[^\s|]*/)?(?:ba|z|da|k)?sh\b(?!\s+(?:-c\b|\S*\.sh\b))")
_SPELLED = re.compile(r"(?:^|[;&|(])\s*\$'")
# A letter, and not a control character such as the beginning of a colour, as a number: `$'\x2eenv'`.
_ENCODED = re.compile(r"\$'[^']*\\(?:x[2-7][0-9a-fA-F]|u00[2-7][0-9a-fA-F]|0?[4-7][0-7](?![0-7])|1[0-7]{2})")
# A variable that is set in the line, and the uses of variables, whole or shortened.
_SET = re.compile(r"(?:^|[\s;&|(])(\w+)=([\"']?)([\w./~-]+)\2(?=[\s;&|)]|$)")
_USED = re.compile(r"\$(?:\{(\w+)([^{}]*)\}|(\w+))")
_MOST_NAMES = 1_000  # that a line puts together: judging more takes over a second
# An option that is put together by the shell.
_BUILT = re.compile(r"(?<!\S)-+\w*\{(?!\})")
_SPLITTING = re.compile(r"(?:^|[\s;&|])IFS=[^\s;]*\s*(?:[;&|\n]|$)")
_TARGET = re.compile(r"(?<![-=<>])(?:&|\d)?>{1,2}[|&]?\s*([^\s;&|<>()]+)")
# It only prints words and variables.
_ECHOED = re.compile(
    r"\s*(?:echo|printf)(?:\s+(?:[\w.,:%/@+-]|\$\w+|\$\{\w+\}|\"(?:[^\"`\\$]|\$\w+|\$\{\w+\})*\")+)*\s*"
)
# Read-only inside, or private to the sandbox.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/etc", "/proc", "/sys")
_DEVICES = frozenset(
    """/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/stdin /dev/stdout
    /dev/stderr""".split()
)
# Places that most machines have; inside a longer text, anything else with a slash is rather a pattern.
_PLACES = re.compile(
    r"(?:/private)?/(?:tmp|var|home|root|srv|mnt|media|boot|run|dev|etc|Users|Volumes|workspace|data)(?:/|$)"
)
# Uses of other subcommands that show something and change nothing, by their options or first operands.
_SHOWING = {
    "apply": re.compile(r"(?!.*--apply).*--(?:check|stat|numstat|summary)\b"),
    "clean": re.compile(
        r"(?=.* (?:-[dfqxX]*n[dfnqxX]*|--dry-run)(?: |$))(?: -[dfnqxX]+| --dry-run| [^-]\S*)*$"
    ),
    "archive": re.compile(r"(?: (?!-)\S*| -[vl0-9]| --list| --(?:format|prefix)=\S*)*$"),
    "config": re.compile(
        r"(?: --(?:global|local))? --get-regexp \^?(?:alias|branch|color|core|diff|init|merge|pull)"
        r"\\?\.[\w.*\\-]*$"
    ),
    "format-patch": re.compile(r".* --stdout\b"),
    "remote": re.compile(r" show$"),
    "hash-object": re.compile(r"(?!.* -\w*w)"),
    "lfs": re.compile(r" (?:ls-files|status)\b"),
    "submodule": re.compile(r" (?:status|summary)\b"),
}
_PROTECTED = frozenset(PROTECTED)
# The private home directory leads to these tools of the real one.
_TOOLS = re.compile(rf"(?:~|\$HOME|\$\{{HOME\}})/(?:{'|'.join(map(re.escape, TOOLS))})(?:[/:]|$)")
_SEPARATORS = re.compile(r"""[\s;&|<>()'"`,]+""")
_ASSIGNED = re.compile(r"(?:-{0,2}[\w.-]+=|-[A-Za-z])(?=[/~.$])")
_ADDRESSES = ("http://", "https://", "ftp://", "ssh://")
_HOMES = re.compile(r"~(?:/|$)|~[a-z_][a-z0-9_-]*/|\$\{?HOME\b")
# The first operand of these is a pattern or a program of their own, not a file.
_PATTERNED = frozenset("grep egrep fgrep rg sed gsed awk gawk mawk nawk jq yq perl tr ag ack".split())
# What they are given instead, and what `git log` looks for in changes.
_EXPRESSIONS = frozenset("-e --expression --regexp".split())
_PICKING = frozenset(("-S", "-G"))
# Their operands are labels such as //src:all, or paths in a document.
_LABELLING = frozenset("bazel bazelisk buck buck2 pants xmllint xmlstarlet".split())
_SWITCH = re.compile(r"/[A-Za-z]+:")  # `/p:Name=value` is not a path
_PLAIN = re.compile(r"[\w./:=,@+-]*")
_TESTS = (("-m", "pytest"), ("-m", "unittest"))
_SAYING = frozenset("echo printf : true false".split())
_SUBSTITUTED = re.compile(r"[`(<]")


def needs_more(words: tuple[str, ...], reasons: Iterable[Reason], workspace: Workspace) -> bool:
    """Return whether a command with these reasons to ask needs more than a sandbox allows."""
    name = posixpath.basename(words[0])
    if len(words) == 2 and words[1] in ("--version", "--help"):
        return False
    if name == "git" and _shows_repository(words, workspace):
        return reads_outside(words, workspace)
    reasons = tuple(reasons)
    if reasons and all(each.kind == "settings" for each in reasons):
        return reads_outside(words, workspace)  # everything but what its files are called is harmless
    if words[-1] == "--help" and len(words) <= 4 and _HELPING.issuperset(each.kind for each in reasons):
        return reads_outside(words, workspace)
    for reason in reasons:
        if reason.kind in _BEYOND or (reason.kind == "write" and not _writes_inside(name, words, workspace)):
            return True
        if (
            reason.undo == "no"
            and (name != "tee" or "{}" in words or len(words) == 1)
            and not (name == "chmod" and only_allows(words, workspace))
        ):
            return True
    if name in ALWAYS or not name.isascii() or needs_network(name, words[1:]):
        return True
    if (reasons and FAMILIES.get(name) == "system") or (name == "git" and _changes_repository(words[1:])):
        return True
    if name in RUNNING and (inner := run_by(words)) and may_be_too_much(inner, workspace):
        return True
    told = without_pattern(words)[1:]
    if name in DOWNLOADERS and not is_typical(words[1:]):
        return True
    if any(_WORDS.search(word) for word in _code(name, words)):
        return True
    if name not in _PATTERNED and any(_COMMAND.search(word) for word in told):
        return True
    if any(isinstance(word, Glob) and word.startswith("-") and "=" not in word.prefix for word in words):
        return True
    return reads_outside(words, workspace) or any(
        _names_place(without_signs(name, word), workspace)
        for word in without_tests((name, *told))[1:]
        if _SEPARATORS.search(word) and (name not in _SAYING or _SUBSTITUTED.search(word))
    )


def _code(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that may be code: not the plain ones that a script is given, and none of a test's."""
    if name in _EVALUATING:
        return words[1:]
    if not is_interpreter(name):
        return ()
    if names_program(name, words[1:]):
        # A script may run what it is given (`manage.py shell -c CODE`), but a plain word is not code.
        return () if words[1:3] in _TESTS else tuple(word for word in words[1:] if not _PLAIN.fullmatch(word))
    return words[2:] if words[1:2] == ("eval",) else words[1:]  # as deno calls `-e`


def reads_outside(words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether an operand of a command names a place that does not exist inside a sandbox."""
    name = posixpath.basename(words[0])
    rest = (without_pattern if name in ("fd", "fdfind") else without_tests)(placed(words, workspace))[1:]
    if name in _SAYING:
        return False
    if words[:2] == ("git", "grep"):
        given = _without_values(words[2:], _EXPRESSIONS)
        rest = given if given != words[2:] else without_pattern(words)[2:]
    if name in _PATTERNED:
        first = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
        given = _without_values(rest, _EXPRESSIONS)
        rest = given if given != rest else rest[:first] + rest[first + 1 :]
    if name == "git" and words[1:2] and words[1] in ("log", "show", "diff"):
        rest = _without_values(rest, _PICKING)
    if name in _LABELLING:
        rest = tuple(word for word in rest if not word.startswith("//"))
    if name in ("dotnet", "msbuild"):
        rest = tuple(word for word in rest if not _SWITCH.match(word))
    return any(reaches_out(word, workspace) for word in (words[0], *rest))


def _without_values(words: tuple[str, ...], options: frozenset[str]) -> tuple[str, ...]:
    return tuple(word for before, word in zip(("", *words), words, strict=False) if before not in options)


def reaches_out(word: str, workspace: Workspace) -> bool:
    """Say whether a word names a place that does not exist inside a sandbox, or a secret of the project."""
    path = _value(word)
    home = f"{workspace.home}/"
    if _TOOLS.match(f"~/{path[len(home) :]}" if path.startswith(home) else path):
        return False
    if "://" in word or _HOMES.match(path):
        return True
    if path.startswith("-"):
        return False
    if is_secret(_as_pattern(path), workspace):
        return True
    if not path.startswith(("/", "..")) and "/../" not in path:
        return False
    real = workspace.real(path)
    if path in _DEVICES or any(is_within(real, place) for place in _SYSTEM):
        return False
    return not is_within(real, workspace.real(workspace.project))


def changes_data(texts: Iterable[str]) -> bool:
    """Return whether a line with these words changes the rows of a database, whatever feeds it."""
    found = tuple(texts)
    return not _DATABASES.isdisjoint(found) and any(_STATEMENTS.search(each) for each in found)


def is_beyond(commands: Iterable[tuple[tuple[str, ...], Workspace]]) -> bool:
    """Return whether commands, each with its place, need more than walls allow although each is harmless."""
    commands = tuple(commands)
    return changes_data(word for texts, _ in commands for word in texts) or any(
        reads_outside(texts, place) for texts, place in commands
    )


def writes_inside(path: str, workspace: Workspace) -> bool:
    """Return whether a file may be written: it is in the project, and nothing outside acts on it."""
    project = workspace.real(workspace.project)
    real = workspace.real(path)
    if not is_within(real, project) or is_secret(path, workspace):
        return False
    return _PROTECTED.isdisjoint(real[len(project) :].split("/"))


def is_too_much(text: str, workspace: Workspace) -> bool:
    """Return whether a text that we could not parse needs more than a sandbox allows."""
    if _ECHOED.fullmatch(text) or LOCAL.fullmatch(text):
        return False
    text = without_payload(text)
    if len(text) > LONGEST or any(
        each.search(text) for each in (_WORDS, _BOMB, _FED_SHELL, _SPELLED, _ENCODED, _BUILT, _SPLITTING)
    ):
        return True
    if any(_writes_outside(target, workspace) for target in _TARGET.findall(text)):
        return True
    pieces = _SEPARATORS.split(text)
    return changes_data(pieces) or _names_place(text, workspace) or _puts_together(text, pieces, workspace)


def _puts_together(text: str, pieces: Iterable[str], workspace: Workspace) -> bool:
    """Return whether a line puts the name of a secret together: `x=.e; cat ${x}nv`, `${f%.example}`."""
    values = {name: value for name, _, value in _SET.findall(text)}
    names: set[str] = set()
    for piece in pieces if values else ():
        used = [(found[1] or found[3], found[2]) for found in _USED.finditer(piece)]
        if not any(name in values for name, _ in used):
            continue
        whole = _USED.sub(lambda found: values.get(found[1] or found[3], ""), piece)
        cut = {values[name] for name, how in used if how and name in values}
        names |= {whole, *(value[:end] for value in cut for end in range(3, len(value)))}
        if len(names) > _MOST_NAMES or len(whole) > LONGEST:
            return True
    return any(is_secret(name, workspace) for name in names)


def redirected(text: str) -> list[str]:
    """Return the files to which something that is not followed redirects its output."""
    if ">" not in text:
        return []
    targets = [target.strip("'\"") for target in _TARGET.findall(without_payload(text))]
    return [target for target in targets if not target.isdigit()]


def may_be_too_much(words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether a command in a line that is not followed might need more than a sandbox allows."""
    named = (posixpath.basename(words[0]), *words[1:])
    harm = None if _is_env_prefix(named) else harm_of(named) or deletion_of(named)
    return needs_more(words, () if harm is None else (harm,), workspace)


def _is_env_prefix(words: tuple[str, ...]) -> bool:
    """Return whether this is `env` in front of a command, which prints no variables."""
    return words[0] == "env" and any(word[:1] != "-" and "=" not in word for word in words[1:])


def _names_place(text: str, workspace: Workspace) -> bool:
    """Return whether a text of several words, such as code, names a place outside, or a secret."""
    pieces = (_value(piece).strip("{}[]") for piece in dict.fromkeys(_SEPARATORS.split(text)))
    paths = [path for path in pieces if path and not _TOOLS.match(path)]
    # First what costs little: most texts that name a place name the home directory or an address.
    if any(_HOMES.match(path) or path.startswith(_ADDRESSES) for path in paths):
        return True
    for path in paths:
        named = path.startswith("../") or path == ".." or _PLACES.match(path) or "/../" in path
        if named and reaches_out(path, workspace):
            return True
        path = _BEFORE.sub("", path) or path
        if path[0] not in "/$*" and is_secret(_as_pattern(path), workspace):
            return True
        if not _PROTECTED.isdisjoint(path.split("/")[:-1]):
            return True
    return False


def _value(word: str) -> str:
    """Return what an option or a variable is set to in a word, or the word; a wildcard counts as a name."""
    assigned = _ASSIGNED.match(word)
    return word[assigned.end() if assigned else 0 :]


def _as_pattern(path: str) -> str:
    """Return a pattern for hidden files as what a program or the shell makes of it; braces count as `*`."""
    is_pattern = _WILD.search(path) and _HIDDEN.fullmatch(path)
    return Glob(path.partition("{")[0] + "*" if "{" in path else path) if is_pattern else path


def _writes_outside(target: str, workspace: Workspace) -> bool:
    path = target.strip("'\"")
    if path in _DEVICES or path.isdigit() or path == "-" or "$" in path:
        return False  # an expansion may be anything, and the walls hold
    return bool(_HOMES.match(path)) or not writes_inside(path, workspace)


def _writes_inside(name: str, words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether a program that writes does so in the project, as far as its operands tell."""
    if name not in WRITERS:
        return False
    operands = [word for word in placed(words, workspace)[1:] if not word.startswith("-")]
    if name in _PATTERNED:
        operands = operands[1:]
    # Where to write may also be the value of an option (`7z x a.7z -o/etc`), but not of `--exclude`.
    operands += [_value(word) for word in words[1:] if _ASSIGNED.match(word) and word[:4] != "--ex"]
    return all(writes_inside(word, workspace) for word in operands)


def _shows_repository(words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether a `git` command only shows something, as long as the repository runs no program."""
    from errands.judge.programs.git import about_words

    if words[1:2] == ("-C",) and "$" in "".join(words[2:3]):
        words = words[:1] + words[3:]  # wherever that is, the walls hold
    showing = _SHOWING.get(words[1]) if len(words) > 1 else None
    if showing is not None and showing.match(f" {' '.join(words[2:])}"):
        return True
    return not about_words(words, workspace)[0]


def _changes_repository(words: tuple[str, ...]) -> bool:
    """Return whether git would write to a repository, which is read-only in a sandbox, or show a secret."""
    rest = iter(words)
    for word in rest:
        if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace"):
            next(rest, None)
        elif not word.startswith("-"):
            return word not in READING_GIT
    return True
