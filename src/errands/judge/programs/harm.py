"""A harm: what a well-known program would do, said in one sentence with its operands filled in."""

from __future__ import annotations

from errands.judge.programs.words import shown
from errands.model.record import record
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.verdict import Undo


@record
class Harm:
    """What a program does: `{}` in the text stands for the operands.

    `when` are options of which one must be there (`-r` also inside a bundle such as `-rf`); the first harm of
    a program that fits is the one that is told.
    """

    text: str
    kind: str
    undo: Undo = "unknown"
    when: str = ""
    # What is said when there are no operands.
    nothing: str = "nothing named"


def told(words: tuple[str, ...], harms: tuple[Harm, ...], *, skip: int) -> Reason | None:
    """Tell the first of these harms that fits; `skip` words name the program and its subcommand."""
    rest = words[skip:]
    for harm in harms:
        if harm.when and not any(_has(rest, option) for option in harm.when.split()):
            continue
        operands = _operands(rest)
        text = harm.text.replace("{}", shown(operands, longest=120) if operands else harm.nothing)
        if harm.undo == "no":
            text += "; cannot be undone"
        return Reason(text=text, undo=harm.undo, kind=harm.kind)
    return None


def _has(words: tuple[str, ...], option: str) -> bool:
    if option.startswith("--") or not option.startswith("-") or len(option) > 2:
        return any(word == option or word.startswith(option + "=") for word in words)
    return any(word[:1] == "-" and word[:2] != "--" and option[1] in word[1:] for word in words)


def _operands(words: tuple[str, ...]) -> list[str]:
    found, separated = [], False
    for word in words:
        if word == "--" and not separated:
            separated = True
        elif separated or not word.startswith("-") or word == "-":
            found.append(word)
    return found
