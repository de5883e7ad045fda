"""The words of a command as the judge looks at them: expanded, and as patterns where a shell expands them."""

from __future__ import annotations

import posixpath

from errands.judge.programs.globs import Glob
from errands.judge.workspace import is_within
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.shell.grammar import Step, Word
    from errands.judge.workspace import Workspace

# Options that only select files by name: what follows the equals sign does not matter.
_NAMING = regex(r"--(?:include|exclude|exclude-dir)=")
_ANCHORED = regex(rf"{_NAMING.pattern}|[A-Za-z0-9_./~@+]")
_CLIMBING = regex(r"[*?\[].*/\.\.(?:/|$)")
_ONE_VARIABLE = regex(
    r'"?(?:python|pip|ruby|node|php|go|gcc|clang)?'  # and its version
    r'\$(?:\{\w+\}|\w+|\{\w+:-[\w./-]+\}|\((?:which|command -v) [\w.-]+\)|\(pwd\))(?:/[\w./-]*)?"?'
)


def is_word(words: tuple[Word, ...], text: str) -> bool:
    """Return whether the first of these words is just that text."""
    return bool(words) and words[0].text == text and words[0].plain


def goes_nowhere(step: Step) -> bool:
    """Return whether this is only a `cd` to a known place, which has no effect at the end of a line."""
    words = step.words[1:]
    is_known = len(words) == 1 and not words[0].pattern and not words[0].text.startswith("-")
    return is_known and not step.assignments and not step.redirections


def leaves_project(step: Step, workspace: Workspace) -> bool:
    """Return whether a `cd` to one place leads out of the project, as it is written or through a link."""
    if len(step.words) != 2:
        return False
    path = expanded(step.words[1], workspace)
    target = posixpath.normpath(posixpath.join(workspace.cwd, path))
    return not is_within(target, workspace.project) or not is_within(
        workspace.real(path), workspace.real(workspace.project)
    )


def staying(step: Step, places: list[Workspace]) -> list[Workspace]:
    """Return from which of these places a `cd` stays in the project; all, if it leaves from the first.

    The first is where every `cd` before has led, if none failed.
    """
    inside = [each for each in places if not leaves_project(step, each)]
    return inside if inside[:1] == places[:1] else places


def expanded(word: Word, workspace: Workspace) -> str:
    """Return a word as the program gets it."""
    return workspace.home + word.text[1:] if word.home else word.text


def texts_of(words: tuple[Word, ...], workspace: Workspace) -> tuple[str, ...]:
    """Return the words as the program gets them; a pattern whose expansion matters is a Glob."""
    return tuple(
        Glob(expanded(word, workspace))
        if word.pattern and not _NAMING.match(word.text)
        else expanded(word, workspace)
        for word in words
    )


def is_anchored(text: str) -> bool:
    """Return whether nothing that a pattern matches can be an option or climb out of its directory."""
    return _ANCHORED.match(text) is not None and not _CLIMBING.search(text)


def is_one_variable(text: str) -> bool:
    """Return whether a name is a single variable, and not put together from parts to hide something."""
    return _ONE_VARIABLE.fullmatch(text) is not None
