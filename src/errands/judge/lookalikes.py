"""Look-alikes: words that look like a place outside the project, or like harm, and are neither."""

from __future__ import annotations

import posixpath

from errands.judge.workspace import is_within
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.workspace import Workspace

_ALLOWING = regex(r"(?:u?\+[rwxX]+|[ugoa]+\+[rxX]+)(?:,(?:u?\+[rwxX]+|[ugoa]+\+[rxX]+))*")
_SHOWING = regex(r"(?:^|,)(?:[ua]*[goa][ugoa]*)?\+[wxX]*r")  # lets others read
_SYMBOLIC = regex(r"-[fnv]*s[fnv]*|--symbolic")
_RANGING = frozenset("perl ruby raku ghc runghc julia swift cargo".split())
_RANGE = regex(r"(?<=[\w/)\]\"']) \.\.\.? (?=[\w/(\[\"'$])")
_FORMATTING = frozenset("erl iex elixir mix rebar3 sbcl clisp guile racket".split())
_FORMAT = regex(r"~[A-Za-z%](?!\w)")


def only_allows(words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether `chmod` only adds permissions, so that nothing becomes inaccessible, even in a tree.

    Nor may others get to read what only its owner could.
    """
    rest = [word for word in words[1:] if word not in ("-R", "--recursive", "-v", "-c")]
    has_others = any(word.startswith("-") for word in rest)  # `--reference=x`, or a mode such as `-w`
    if not rest or has_others or not _ALLOWING.fullmatch(rest[0]):
        return False
    return not (_SHOWING.search(rest[0]) and any(_is_all(place, workspace) for place in rest[1:]))


def _is_all(place: str, workspace: Workspace) -> bool:
    """Return whether a place may be the whole project, with files that only their owner may read."""
    return "$" in place or is_within(workspace.real(workspace.project), workspace.real(place))


def placed(words: tuple[str, ...], workspace: Workspace) -> tuple[str, ...]:
    """Return the words of `ln -s` with a relative target rewritten to start from the current directory.

    As it is written, it starts from the link's.
    """
    options = [word for word in words[1:] if word.startswith("-")]
    operands = [at for at in range(1, len(words)) if not words[at].startswith("-")]
    if (
        posixpath.basename(words[0]) != "ln"
        or len(operands) != 2
        or not options
        or not all(map(_SYMBOLIC.fullmatch, options))
    ):
        return words
    target, link = (words[at] for at in operands)
    is_directory = link.endswith("/") or workspace.is_directory(link)
    place = link if is_directory else posixpath.dirname(link)
    changed = list(words)
    changed[operands[0]] = posixpath.normpath(posixpath.join(place, target))
    return tuple(changed)


def without_signs(name: str, code: str) -> str:
    """Return code without what only looks like a place: a range such as `1 .. 9`, a format such as `~s~n`."""
    if name in _RANGING:
        code = _RANGE.sub(" ", code)
    return _FORMAT.sub("", code) if name in _FORMATTING else code
