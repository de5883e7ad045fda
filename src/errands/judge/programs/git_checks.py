"""What the tables of git cannot say: which files a subcommand shows, when an operand changes something."""

from __future__ import annotations

import re

from errands.judge.programs.places import (
    may_name_secret,
    objection_to_place,
    objection_to_recursion,
)
from errands.judge.programs.words import WILDCARDS, Glob
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Check
    from errands.judge.programs.usage import Usage
    from errands.judge.surroundings import Surroundings

# Settings that hold no secret and name no program.
_SETTINGS = re.compile(
    r"(user\.(name|email)|init\.defaultbranch|pull\.(rebase|ff)|push\.(default|autosetupremote)|merge\.ff|"
    r"core\.(autocrlf|bare|eol|filemode|ignorecase|logallrefupdates|precomposeunicode|quotepath|"
    r"repositoryformatversion|safecrlf|symlinks|whitespace|excludesfile|attributesfile|worktree|abbrev)|"
    r"branch\.[^\s]+\.(remote|merge|rebase|description)|remote\.[^\s]+\.(url|fetch|pushurl)|remote\.pushdefault|"
    r"color\.[a-z.]+|rebase\.auto[a-z]+|fetch\.prune|commit\.gpgsign|diff\.(renames|algorithm)|submodule\.recurse)",
    re.IGNORECASE,
)


def shows(use: str, *, skip: int = 0) -> Check:
    """Check the files and `revision:file` among the operands, as far as their content is shown."""

    def check(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
        # `-L 1,5:file` follows lines of a file.
        traced = [value.rpartition(":")[2] for value in usage.values("-L") if ":" in value]
        found = (_objection(word, use, surroundings) for word in (*usage.operands[skip:], *traced))
        return tuple(Reason(text=said, kind="secret") for said in found if said is not None)

    return check


def _objection(word: str, use: str, surroundings: Surroundings) -> str | None:
    # `:!x` and `:^x` leave files out; `:(magic)x` and `revision:x` name them.
    if word.startswith((":!", ":^", ":(exclude)")):
        return None
    path = re.sub(r"^:\([a-z,]*\)|^:/", "", word)
    if path == word and ":" in word:
        # A date in the revision may hold a colon, and so may the name of a file.
        last = word.rpartition(":")[2]
        path = word.partition(":")[2]
        if last != path and (said := objection_to_place(last, use, surroundings)):
            return said
    # git expands wildcards by itself, and lets them match a dot at the beginning.
    if any(mark in path for mark in WILDCARDS):
        if may_name_secret(path):
            return f"reads {word}, which may match a file with secrets"
        return objection_to_place(Glob(path), "SEARCH", surroundings)
    return objection_to_place(path, use, surroundings)


def compares(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    """Check what `git diff` compares."""
    # Outside of the repository git compares whole directories.
    outside = [word for word in usage.operands if word.startswith(("/", "~")) or word.split("/")[0] == ".."]
    found = (objection_to_recursion(word, surroundings) for word in outside)
    reasons = tuple(Reason(text=said, kind="secret") for said in found if said is not None)
    return reasons or shows("READ")(usage, surroundings)


def searches(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    """Check the files that `git grep` searches; its first operand is a pattern."""
    return shows("SEARCH", skip=0 if usage.has("-e", "-f") else 1)(usage, surroundings)


def lists(*names: str) -> Check:
    """Accept operands only where they are patterns of a list; elsewhere they create something."""

    def check(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
        if not usage.operands or usage.has(*names):
            return ()
        return (Reason(text=f"`{usage.name}` creates or changes {usage.operands[0]}", kind="write"),)

    return check


def reads_reflog(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    """Accept `git reflog` as long as it shows the reflog."""
    if usage.operands[:1] and usage.operands[0] in ("expire", "delete", "drop", "write"):
        return (
            Reason(text=f"`git reflog {usage.operands[0]}` changes the reflog", undo="no", kind="delete"),
        )
    return shows("READ")(usage, surroundings)


def reads_setting(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    """Accept `git config` for one setting that holds no secret."""
    if usage.operands and _SETTINGS.fullmatch(usage.operands[0]):
        return ()
    return (Reason(text="shows configuration of git, where secrets may be kept", kind="secret"),)
