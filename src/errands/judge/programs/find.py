"""`find`: places to start from, then an expression of tests and actions.

Actions that run programs or write are refused. The judge follows what `-exec` runs and cuts it out first.
"""

from __future__ import annotations

import re

from errands.judge.programs.entry import ask
from errands.judge.programs.globs import Glob
from errands.judge.programs.harms import shortened
from errands.judge.programs.name_patterns import looks_for_a_name
from errands.judge.programs.places import objection_to_listing
from errands.judge.programs.usage import objection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons
    from errands.judge.workspace import Workspace
    from errands.model.verdict import Reason, Undo

# How to follow links and how hard to optimise; only before the first place.
_FIRST = frozenset("-H -L -P -O0 -O1 -O2 -O3".split())

_PLAIN = frozenset(
    """
    -depth -d -follow -mount -xdev -noleaf -daystart -warn -nowarn -ignore_readdir_race -noignore_readdir_race
    -empty -readable -writable -executable -true -false -nouser -nogroup
    -print -print0 -ls -prune -quit
    ! ( ) , -a -and -o -or -not -help --help -version --version
    """.split()
)

_WITH_VALUE = {
    name: kind
    for names, kind in {
        "-maxdepth -mindepth": "NUMBER",
        "-mtime -atime -ctime -mmin -amin -cmin -used -uid -gid -links -inum": "NUMBER",
        "-size": "SIZE",
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname": "PATTERN",
        "-regextype -type -xtype -perm -user -group -fstype -context -printf": "TEXT",
        "-newer -anewer -cnewer -samefile": "LOOK",
    }.items()
    for name in names.split()
}

_REFUSED: dict[str, tuple[str, str, Undo]] = {
    "-delete": ("deletes every file it finds; cannot be undone", "delete", "no"),
    "-exec": ("runs a program for every file it finds", "program", "unknown"),
    "-execdir": ("runs a program for every file it finds", "program", "unknown"),
    "-ok": ("runs a program for every file it finds, and waits for an answer", "program", "unknown"),
    "-okdir": ("runs a program for every file it finds, and waits for an answer", "program", "unknown"),
    "-fprint": ("writes a file", "write", "no"),
    "-fprint0": ("writes a file", "write", "no"),
    "-fprintf": ("writes a file", "write", "no"),
    "-fls": ("writes a file", "write", "no"),
    "-files0-from": ("reads the names of places from a file", "option", "unknown"),
}

_PATHS = frozenset("-path -ipath -wholename -iwholename -regex -iregex".split())
# Actions that list, as an expression without any does; and what makes it hard to say what is listed.
_LISTING = frozenset("-print -print0 -ls -printf -fprint -fprint0 -fprintf -fls".split())
_GROUPS = frozenset("( ) ! -not ,".split())
# `-newerXY`: X and Y name the dates to compare; with Y = t the value is a date.
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")


def chooses_paths(finding: tuple[str, ...]) -> bool:
    """Return whether a find picks files by their whole path, except to leave them out."""
    return any(
        word in _PATHS and finding[at - 1] not in ("!", "-not") and finding[at + 2 : at + 3] != ("-prune",)
        for at, word in enumerate(finding)
    )


def becomes_program(inner: list[str]) -> bool:
    """Return whether a name that is found may become the program of a `jq`, or the script of a `sed`."""
    # The values of long options look like operands.
    is_long = any(word.startswith("--") for word in inner)
    operands = [word for word in inner[1:] if not word.startswith("-")]
    return inner[0] in ("jq", "sed") and (is_long or operands[:1] == ["{}"])


def takes_value(word: str) -> bool:
    """Return whether the next word is the value of this part of an expression."""
    return word in _WITH_VALUE or _NEWER.fullmatch(word) is not None


def reasons_for_find(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Judge a whole `find` command."""
    rest = list(words[1:])
    while rest and rest[0] in _FIRST:
        rest.pop(0)
    places = []
    while rest and not rest[0].startswith("-") and rest[0] not in ("!", "(", ")", ","):
        places.append(rest.pop(0))
    reasons: list[Reason] = []
    is_sought = _looks_for_names(rest)
    for place in places or ["."]:
        if secret := objection("LOOK", place, workspace):
            reasons.append(secret)
        elif not is_sought and (whole := objection_to_listing(place, workspace)):
            reasons += ask(whole, "secret")
    while rest:
        word = rest.pop(0)
        kind = "DATE" if _NEWER.fullmatch(word) and word.endswith("t") else _WITH_VALUE.get(word)
        if kind is None and _NEWER.fullmatch(word):
            kind = "LOOK"
        if isinstance(word, Glob):
            reasons += ask(f"`{word}` may become any part of what `find` does", "shell")
        elif word in _PLAIN:
            continue
        elif kind is not None:
            reasons += _about_value(word, kind, rest.pop(0) if rest else None, workspace)
        elif word in _REFUSED:
            said, group, undo = _REFUSED[word]
            reasons += ask(f"`find {shortened(places)}`: `{word}` {said}", group, undo)
            if group == "program":
                break
        else:
            reasons += ask(f"`find`: `{word}` is not on the list of its harmless parts", "option")
    return tuple(reasons)


def _looks_for_names(expression: list[str]) -> bool:
    """Return whether all that is listed has a certain name, which is not that of a secret."""
    if not _GROUPS.isdisjoint(expression):
        return False
    branches: list[list[str]] = [[]]
    for word in expression:
        if word in ("-o", "-or"):
            branches.append([])
        else:
            branches[-1].append(word)
    has_action = not _LISTING.isdisjoint(expression)
    return all(
        _begins_with_name(branch) or (has_action and _LISTING.isdisjoint(branch)) for branch in branches
    )


def _begins_with_name(branch: list[str]) -> bool:
    """Return whether a name is tested before anything is listed."""
    words = iter(branch)
    for word in words:
        if word in _LISTING:
            return False
        value = next(words, "") if takes_value(word) else ""
        if word in ("-name", "-iname"):
            return not isinstance(value, Glob) and looks_for_a_name(value)
    return False


def _about_value(name: str, kind: str, value: str | None, workspace: Workspace) -> Reasons:
    if value is None:
        return ask(f"`find`: `{name}` lacks its value", "option")
    if isinstance(value, Glob):
        return ask(f"`find`: the value of `{name}` is a wildcard: {value}", "shell")
    found = objection(kind, value, workspace)
    return () if found is None else ask(f"`find` ({name}): {found.text}", found.kind)


PROGRAMS: dict[str, Entry] = {"find": reasons_for_find, "gfind": reasons_for_find}
