"""The words of a command as the judge looks at them: expanded, and as patterns where a shell expands them."""

from __future__ import annotations

from errands.judge.programs.globs import Glob
from errands.judge.shell.scripts import MOST_NESTED
from errands.judge.shell.wrappers import is_wrapper
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.shell.grammar import Word
    from errands.judge.workspace import Workspace

# Options that only select files by name: what follows the equals sign does not matter.
_NAMING = regex(r"--(?:include|exclude|exclude-dir)=")
_ANCHORED = regex(rf"{_NAMING.pattern}|[A-Za-z0-9_./~@+]")
_CLIMBING = regex(r"[*?\[].*/\.\.(?:/|$)")
_ONE_VARIABLE = regex(
    r'"?(?:python|pip|ruby|node|php|go|gcc|clang)?'  # and its version
    r"\$(?:\{\w+\}|\w+|\{\w+:-(?P<usual>[\w./-]+)\}|\((?:which|command -v) (?P<found>[\w.-]+)\)|\(pwd\))"
    r'(?P<rest>(?:/[\w./-]*)?)"?'
)

# With these words `uv`, `npm` or `conda` run another program.
_RUN_BY = frozenset("run exec x".split())


def is_too_nested(words: tuple[Word, ...]) -> bool:
    """Return whether programs start each other so often that following them would take very long."""
    if len(words) <= MOST_NESTED:
        return False
    return sum(each.text in _RUN_BY or is_wrapper(each.text) for each in words) > MOST_NESTED


def is_word(words: tuple[Word, ...], text: str) -> bool:
    """Return whether the first of these words is just that text."""
    return bool(words) and words[0].text == text and words[0].plain


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


def program_in(text: str) -> str | None:
    """Return which program a variable stands for: `${CC:-gcc}`; "" if that is not said.

    None: the text is more than one variable, and may be put together to hide what it is.
    """
    found = _ONE_VARIABLE.fullmatch(text)
    if found is None:
        return None
    name = found["usual"] or found["found"]
    return f"{name}{found['rest']}" if name else ""
