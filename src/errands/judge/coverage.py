"""Coverage: what an approval of a task covers besides its words, and what it cannot cover.

The content of a script is part of what is approved. A script that is looked for in several directories is
listed in each: one that does not exist must not appear later.
"""

from __future__ import annotations

import posixpath

from errands.judge.recipes import deciding_files
from errands.judge.shell.scripts import SHELLS, is_interpreter, printed_scripts, scripts, uncovered
from errands.judge.shell.wrappers import is_wrapper
from errands.judge.words import expanded, is_word, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.judge.shell.grammar import Step, Word
    from errands.judge.workspace import Workspace

_MOST_PLACES = 8
_MOST_STEPS = 500


class Coverage:
    def __init__(self) -> None:
        self.scripts: dict[str, None] = {}
        self.uncovered: dict[str, None] = {}
        self._seen: set[tuple[tuple[str, ...], str]] = set()

    def add_command(self, texts: tuple[str, ...], cwd: str) -> None:
        """Note the scripts of one command."""
        if (texts, cwd) in self._seen:  # every command of a line that is not followed is met twice
            return
        self._seen.add((texts, cwd))
        self.scripts.update(dict.fromkeys(scripts(texts, cwd)))
        self.scripts.update(dict.fromkeys(posixpath.join(cwd, file) for file in deciding_files(texts)))
        if what := uncovered(texts):
            self.uncovered[f"runs more with `{what}` than the files whose content an approval covers"] = None

    def add_input(self, step: Step, source: Step | None, workspace: Workspace) -> None:
        """Note what a shell, an interpreter or a wrapper reads its commands from: a file or a pipe."""
        name = step.words[0].text if step.words else ""
        if not (name in SHELLS or is_interpreter(name) or is_wrapper(name)):
            return
        files = [each.target for each in step.redirections if each.operator == "<"]
        for each in files:
            if not each.text.startswith("/dev/"):
                path = posixpath.join(workspace.cwd, expanded(each, workspace))
                self.scripts[posixpath.normpath(path)] = None
        if source is None or not source.words or files:
            return
        source_texts = texts_of(source.words, workspace)
        found = printed_scripts(texts_of(step.words, workspace), source_texts, workspace.cwd)
        if found is None:
            said = f"runs with `{name}` what `{source_texts[0]}` prints, which an approval does not cover"
            self.uncovered[said] = None
        else:
            self.scripts.update(dict.fromkeys(found))

    def add_unknown_directory(self) -> None:
        """Note that a command runs in a directory which only the shell will know."""
        self.uncovered["runs in a directory that is not known, so an approval covers no scripts there"] = None

    def add_line(self, steps: Sequence[Step], workspace: Workspace) -> None:
        """Note the scripts of a line that is not followed, in all directories that it might lead to."""
        places = [workspace]
        if len(steps) > _MOST_STEPS:
            self.uncovered["has too many commands to find the scripts that an approval would cover"] = None
        for at, step in enumerate(steps[:_MOST_STEPS]):
            source = steps[at - 1] if at and step.before == "|" else None
            if is_word(step.words[:1], "cd"):
                if _is_known(step.words[1:]) and len(places) < _MOST_PLACES:
                    target = expanded(step.words[1], workspace)
                    places += [
                        each.at(posixpath.normpath(posixpath.join(each.cwd, target))) for each in places
                    ]
                else:
                    self.add_unknown_directory()
                continue
            if _is_nameless(step.words):
                said = "runs a script whose name only the shell will know, so an approval does not cover it"
                self.uncovered[said] = None
            for each in places:
                if step.words:
                    self.add_command(texts_of(step.words, each), each.cwd)
                self.add_input(step, source, each)


def _is_nameless(words: tuple[Word, ...]) -> bool:
    """Return whether the name of a program, or of the script that it is given, is not in the line."""
    if not words or not words[0].literal:
        return bool(words)
    name = posixpath.basename(words[0].text)
    is_carrier = name in SHELLS or is_interpreter(name) or name in (".", "source")
    operand = next((word for word in words[1:] if not word.text.startswith("-")), None)
    return is_carrier and operand is not None and not operand.literal


def _is_known(words: tuple[Word, ...]) -> bool:
    return len(words) == 1 and words[0].literal and not words[0].pattern and not words[0].text.startswith("-")
