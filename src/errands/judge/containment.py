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

from errands.judge.code import change_of_data, command_in, danger_in, disguise_in
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
    need_of,
)
from errands.judge.reach import (
    PATTERNED,
    SAYING,
    has_several,
    objection_to_writing,
    pieces_of,
    place_in_text,
    place_of_words,
    sets_value,
    value_of,
    writes_inside,
)
from errands.judge.shell.grammar import LONGEST
from errands.judge.shell.payload import LOCAL, without_pattern, without_payload, without_tests
from errands.judge.shell.scripts import RUNNING, is_interpreter, names_program, run_by
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.judge.workspace import Workspace

# Kinds of reasons that a sandbox does not remove.
_BEYOND = frozenset("delete network secret privilege process rule size stranger helper waits".split())
# Kinds of reasons that do not apply to `npm install --help`.
_HELPING = frozenset("network script program option waits".split())
# Builtins that evaluate what looks like plain words: `let 'a[$(rm x)]'`, `mapfile -C 'rm x'`.
_EVALUATING = frozenset(
    """alias bind compgen complete declare enable export hash jobs let local mapfile printf read readarray
    test trap typeset
    [""".split()
)
# A variable that is set in the line, and the uses of variables, whole or shortened.
_SET = re.compile(r"(?:^|[\s;&|(])(\w+)=([\"']?)([\w./~-]+)\2(?=[\s;&|)]|$)")
_USED = re.compile(r"\$(?:\{(\w+)([^{}]*)\}|(\w+))")
_MOST_NAMES = 1_000  # that a line puts together: judging more takes over a second
_TARGET = re.compile(r"(?<![-=<>])(?:&|\d)?>{1,2}[|&]?\s*([^\s;&|<>()]+)")
# It only prints words and variables.
_ECHOED = re.compile(
    r"\s*(?:echo|printf)(?:\s+(?:[\w.,:%/@+-]|\$\w+|\$\{\w+\}|\"(?:[^\"`\\$]|\$\w+|\$\{\w+\})*\")+)*\s*"
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
_PLAIN = re.compile(r"[\w./:=,@+-]*")
_TESTS = (("-m", "pytest"), ("-m", "unittest"))
_SUBSTITUTED = re.compile(r"[`(<]")


def excess_of(words: tuple[str, ...], reasons: Iterable[Reason], workspace: Workspace) -> Reason | None:
    """Return what in a command needs more than a sandbox allows; None if walls are enough.

    It is one of the reasons to ask about it, or another.
    """
    name = posixpath.basename(words[0])
    if len(words) == 2 and words[1] in ("--version", "--help"):
        return None
    if name == "git" and _shows_repository(words, workspace):
        return _reason(place_of_words(words, workspace))
    reasons = tuple(reasons)
    if reasons and all(each.kind == "settings" for each in reasons):
        # Everything but what its files are called is harmless.
        return _reason(place_of_words(words, workspace))
    if words[-1] == "--help" and len(words) <= 4 and _HELPING.issuperset(each.kind for each in reasons):
        return _reason(place_of_words(words, workspace))
    for reason in reasons:
        if reason.kind in _BEYOND or (reason.kind == "write" and not _writes_inside(name, words, workspace)):
            return reason
        if (
            reason.undo == "no"
            and (name != "tee" or "{}" in words or len(words) == 1)
            and not (name == "chmod" and only_allows(words, workspace))
        ):
            return reason
    if reasons and (FAMILIES.get(name) == "system" or (name in ALWAYS and harm_of(words))):
        return reasons[0]
    return _reason(_need(name, words, workspace) or _told(name, words, workspace))


def _reason(text: str, kind: str = "walls") -> Reason | None:
    return Reason(text=text, kind=kind) if text else None


def _first(texts: Iterable[str]) -> str:
    """Return the first text that is not empty; "" if all are."""
    return next(filter(None, texts), "")


def _need(name: str, words: tuple[str, ...], workspace: Workspace) -> str:
    """Return what a program needs that a sandbox does not have."""
    if not name.isascii():
        return f"runs `{name}`, whose name is not in plain letters"
    if need := need_of(name, words[1:]):
        return f"`{' '.join(words[:3])}` {need}"
    if name == "git" and _changes_repository(words[1:]):
        return f"`{' '.join(words[:2])}` may change the repository, which is read-only in a sandbox"
    if name in RUNNING and (inner := run_by(words)):
        excess = excess_of_unknown(inner, workspace)
        return excess.text if excess else ""
    if name in DOWNLOADERS and not is_typical(words[1:]):
        return f"`{' '.join(words[:2])}` may download a package, and a sandbox has no network"
    return ""


def _told(name: str, words: tuple[str, ...], workspace: Workspace) -> str:
    """Return what the words of a command say that a sandbox does not allow."""
    told = without_pattern(words)[1:]
    if said := _first(map(danger_in, _code(name, words))):
        return said
    if name not in PATTERNED and (said := _first(map(command_in, told))):
        return said
    if hidden := next((word for word in words if _becomes_option(word)), ""):
        return f"has a pattern that becomes an option: {hidden}"
    return place_of_words(words, workspace) or _first(
        place_in_text(without_signs(name, word), workspace)
        for word in without_tests((name, *told))[1:]
        if has_several(word) and (name not in SAYING or _SUBSTITUTED.search(word))
    )


def _becomes_option(word: str) -> bool:
    return isinstance(word, Glob) and word.startswith("-") and "=" not in word.prefix


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


def excess_of_harmless(commands: Iterable[tuple[tuple[str, ...], Workspace]]) -> Reason | None:
    """Return what harmless commands, each with its place, need that a sandbox does not show or allow."""
    commands = tuple(commands)
    return _reason(
        change_of_data(word for texts, _ in commands for word in texts)
        or _first(place_of_words(texts, place) for texts, place in commands)
    )


def excess_of_text(text: str, workspace: Workspace) -> Reason | None:
    """Return what a text that we could not parse needs more than a sandbox allows; None if nothing."""
    if _ECHOED.fullmatch(text) or LOCAL.fullmatch(text):
        return None
    text = without_payload(text)
    if len(text) > LONGEST:
        return _reason(f"is longer than {LONGEST:,} characters", "size")
    if said := danger_in(text):
        return _reason(said)
    if said := disguise_in(text):
        return _reason(said, "hidden")
    for target in _TARGET.findall(text):
        if said := objection_to_writing(target, workspace):
            return _reason(said)
    pieces = pieces_of(text)
    return _reason(
        change_of_data(pieces) or place_in_text(text, workspace) or _puts_together(text, pieces, workspace)
    )


def _puts_together(text: str, pieces: Iterable[str], workspace: Workspace) -> str:
    """Return the name of a secret that a line puts together: `x=.e; cat ${x}nv`, `${f%.example}`."""
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
            return "puts too many names together to be analysed"
    secret = next((name for name in sorted(names) if is_secret(name, workspace)), "")
    return f"puts the name {secret} together, which may hold secrets" if secret else ""


def redirected(text: str) -> list[str]:
    """Return the files to which something that is not followed redirects its output."""
    if ">" not in text:
        return []
    targets = [target.strip("'\"") for target in _TARGET.findall(without_payload(text))]
    return [target for target in targets if not target.isdigit()]


def excess_of_unknown(words: tuple[str, ...], workspace: Workspace) -> Reason | None:
    """Return what a command in a line that is not followed might need more than a sandbox allows."""
    named = (posixpath.basename(words[0]), *words[1:])
    harm = None if _is_env_prefix(named) else harm_of(named) or deletion_of(named)
    return excess_of(words, () if harm is None else (harm,), workspace)


def _is_env_prefix(words: tuple[str, ...]) -> bool:
    """Return whether this is `env` in front of a command, which prints no variables."""
    return words[0] == "env" and any(word[:1] != "-" and "=" not in word for word in words[1:])


def _writes_inside(name: str, words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether a program that writes does so in the project, as far as its operands tell."""
    if name not in WRITERS:
        return False
    operands = [word for word in placed(words, workspace)[1:] if not word.startswith("-")]
    if name in PATTERNED:
        operands = operands[1:]
    # Where to write may also be the value of an option (`7z x a.7z -o/etc`), but not of `--exclude`.
    operands += [value_of(word) for word in words[1:] if sets_value(word) and word[:4] != "--ex"]
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
