"""Look-alikes: words that look like a place outside the project, or like harm, and are neither."""

from __future__ import annotations

import posixpath

from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.workspace import Workspace

_ALLOWING = regex(r"[ugoa]*\+[rwxX]+(?:,[ugoa]*\+[rwxX]+)*")
_SYMBOLIC = regex(r"-[a-z]*s[a-z]*|--symbolic")
_RANGING = frozenset("perl ruby raku ghc runghc julia swift cargo".split())
_RANGE = regex(r"(?<=[\w/)\]\"']) \.\.\.? (?=[\w/(\[\"'$])")
_FORMATTING = frozenset("erl iex elixir mix rebar3 sbcl clisp guile racket".split())
_FORMAT = regex(r"~[A-Za-z%](?!\w)")


def only_allows(words: tuple[str, ...]) -> bool:
    """Return whether `chmod` only gives permissions: nothing is lost, even in a whole tree."""
    operands = [word for word in words[1:] if word not in ("-R", "--recursive", "-v", "-c")]
    return bool(operands) and _ALLOWING.fullmatch(operands[0]) is not None


def placed(words: tuple[str, ...], workspace: Workspace) -> tuple[str, ...]:
    """Return the words of `ln -s` with relative targets as seen from here, not from the link."""
    operands = [at for at in range(1, len(words)) if not words[at].startswith("-")]
    if len(operands) != 2 or not any(_SYMBOLIC.fullmatch(word) for word in words):
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
