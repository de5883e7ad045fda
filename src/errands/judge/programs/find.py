"""`find`: places to start from, then an expression of tests and actions.

Actions that run programs or write are not here. What `-exec` runs is followed by whoever calls the judge and
cut out before.
"""

from __future__ import annotations

import re

from errands.judge.programs.places import is_whole
from errands.judge.programs.values import objection
from errands.judge.programs.words import Glob, shown
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry
    from errands.judge.surroundings import Surroundings

# How links are followed and how hard to optimise; only before the first place.
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

_REFUSED = {
    "-delete": ("deletes every file it finds; cannot be undone", "no", "delete"),
    "-exec": ("runs a program for every file it finds", "unknown", "program"),
    "-execdir": ("runs a program for every file it finds", "unknown", "program"),
    "-ok": ("runs a program for every file it finds, and waits for an answer", "unknown", "program"),
    "-okdir": ("runs a program for every file it finds, and waits for an answer", "unknown", "program"),
    "-fprint": ("writes a file", "no", "write"),
    "-fprint0": ("writes a file", "no", "write"),
    "-fprintf": ("writes a file", "no", "write"),
    "-fls": ("writes a file", "no", "write"),
    "-files0-from": ("reads the names of places from a file", "unknown", "option"),
}

# `-newerXY`: X and Y say which date of which file; with Y = t the value is a date.
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")


def reasons_for_find(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    """Judge a whole `find` command."""
    rest = list(words[1:])
    while rest and rest[0] in _FIRST:
        rest.pop(0)
    places = []
    while rest and not rest[0].startswith("-") and rest[0] not in ("!", "(", ")", ","):
        places.append(rest.pop(0))
    reasons = [*_about_places(places or ["."], surroundings)]
    while rest:
        word = rest.pop(0)
        kind = "TEXT" if _NEWER.fullmatch(word) and word.endswith("t") else _WITH_VALUE.get(word)
        if kind is None and _NEWER.fullmatch(word):
            kind = "LOOK"
        if isinstance(word, Glob):
            reasons.append(Reason(text=f"`{word}` may become any part of what `find` does", kind="shell"))
        elif word in _PLAIN:
            continue
        elif kind is not None:
            reasons += _about_value(word, kind, rest.pop(0) if rest else None, surroundings)
        elif word in _REFUSED:
            said, undo, group = _REFUSED[word]
            reasons.append(Reason(text=f"`find {shown(places)}`: `{word}` {said}", undo=undo, kind=group))  # type: ignore[arg-type]
            if group == "program":
                break
        else:
            reasons.append(
                Reason(text=f"`find`: `{word}` is not on the list of its harmless parts", kind="option")
            )
    return tuple(reasons)


def _about_places(places: list[str], surroundings: Surroundings) -> list[Reason]:
    reasons = []
    for place in places:
        found = objection("LOOK", place, surroundings)
        if found is not None:
            reasons.append(Reason(text=found[0], kind="secret"))
        elif is_whole(place, surroundings):
            reasons.append(Reason(text=f"lists everything in {place}", kind="secret"))
    return reasons


def _about_value(name: str, kind: str, value: str | None, surroundings: Surroundings) -> list[Reason]:
    if value is None:
        return [Reason(text=f"`find`: `{name}` lacks its value", kind="option")]
    if isinstance(value, Glob):
        return [Reason(text=f"`find`: the value of `{name}` is a wildcard: {value}", kind="shell")]
    found = objection(kind, value, surroundings)
    return [] if found is None else [Reason(text=f"`find` ({name}): {found[0]}", kind=found[1])]


PROGRAMS: dict[str, Entry] = {"find": reasons_for_find, "gfind": reasons_for_find}
