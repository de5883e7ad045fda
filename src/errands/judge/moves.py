"""Moves: where the `cd` of a line leads, as far as that can be known."""

from __future__ import annotations

import posixpath

from errands.judge.words import expanded
from errands.judge.workspace import is_within
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

    from errands.judge.shell.grammar import Step
    from errands.judge.workspace import Workspace

# Only where no other command changes the directory, and nothing runs if this one fails.
_ENTERING = regex(
    r"""\s*cd\s+["']?((?:\./)?\w(?:[\w-]|\.(?!\.)|/)*)["']?\s*&&(?!(?s:.*)\b(?:cd|pushd|popd)\b)"""
)
# A `cd` to a directory below, or up again and nothing else.
_MOVE = regex(
    r"""(?x)((?:^|[\s;&|({])(?:cd|pushd)\s+)
    (?:(?P<up>\.\.(?:/\.\.)*)/?|(?P<down>"?(?:\./)?(?:\w|\$\w|\$\{\w+\})(?:[\w./-]|\$\w|\$\{\w+\})*"?))
    (?=\s*(?:[;&|)}>\n]|$))"""
)


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


def entered(source: str, workspace: Workspace) -> Workspace:
    """Return where a line that is not followed runs, if it begins with a `cd` to a directory below.

    Its `..` is then still in the project: `cd build && cmake .. && make -j$(nproc)`.
    """
    found = _ENTERING.match(source)
    if found is None:
        return workspace
    if not is_within(workspace.real(found[1]), workspace.real(workspace.project)):
        return workspace
    return workspace.at(posixpath.normpath(posixpath.join(workspace.cwd, found[1])))


def without_returns(source: str) -> str:
    """Return a line without the effect of each `cd ..` that only leaves a directory the line has entered.

    This keeps questions rare in a line that is not followed; walls hold wherever it leads.
    """
    depth = 0

    def moved(found: Match[str]) -> str:
        nonlocal depth
        if down := found["down"]:
            depth += 0 if ".." in down else len([part for part in down.split("/") if part not in ("", ".")])
            return found[0]
        steps = found["up"].count("..")
        if steps > depth:
            return found[0]
        depth -= steps
        return f"{found[1]}."

    return _MOVE.sub(moved, source)


def distinct(places: list[Workspace]) -> list[Workspace]:
    """Return each place once."""
    return list({workspace.cwd: workspace for workspace in places}.values())
