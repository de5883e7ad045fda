"""A verdict: whether a command may run at once, needs a person, or is forbidden, and why.

`auto` is a proof: every part of the command was understood and found harmless. `contained` may run at once in
a sandbox, which allows all that it needs. Everything else is `ask`; `deny` comes only from a rule.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Verdict = Literal["auto", "contained", "ask", "deny"]
    Undo = Literal["yes", "no", "unknown"]


# What would happen to a command, by its verdict.
MEANINGS: dict[str, str] = {
    "auto": "it would start without approval",
    "contained": "it would start without approval, in a sandbox, because:",
    "ask": "it would wait for approval, because:",
    "deny": "it would be refused, because:",
}
# What would happen to contained work instead, if approval.mode is trusting.
TRUSTED = "it would start without approval, and without a sandbox because approval.mode is trusting; it"
# Kinds of reasons that only say that something is hidden, or that a command is too long to be analysed.
HIDING = frozenset(("hidden", "size"))


@record
class Reason:
    """Why a person must be asked, in words that a person understands.

    `undo` is "no" only for harm that is known to last, about which even the person who typed it is asked.
    `kind` groups reasons: delete, write, network, secret, script, program, option, shell, hidden ...
    """

    text: str
    undo: Undo = "unknown"
    kind: str = "unknown"


@record
class Judgement:
    """The verdict on everything one task would run.

    `programs` are the programs that the verdict rests on, each with the path it was found at; `scripts` are
    the files whose content decides what happens, so it is part of an approval's digest. `does_more` is set if
    it may do more than read, because it runs the project's tests or a rule allows it. `uncovered` names what
    else would run although an approval does not cover its content. `is_outward` if it changes something on
    another host, or writes outside of the project.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    scripts: tuple[str, ...] = ()
    does_more: bool = False
    uncovered: tuple[str, ...] = ()
    is_outward: bool = False

    @property
    def lasting(self) -> tuple[Reason, ...]:
        """The reasons about harm that cannot be undone."""
        return tuple(reason for reason in self.reasons if reason.undo == "no")
