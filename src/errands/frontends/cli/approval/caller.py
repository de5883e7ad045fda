"""The caller: a person or a program, and what they consent to by typing a command.

A caller with a terminal for input and errors is a person, who has approved what they typed. Any other is a
program and gets a proposal, unless it passes `--yes`. A run is never a person, even with a terminal.
"""

from __future__ import annotations

import sys

from errands.frontends.cli.parser import Arguments, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from errands.model.approval import Consent

    class CallerConsent(TypedDict):
        """The fields of a draft that say who the caller is, and what they consent to."""

        consent: Consent
        door: str


YES = option("-y, --yes", "approve it without being asked, and the audit log records that")


def is_person() -> bool:
    """Return whether the caller is a person, who can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from errands.engine.actor import enclosing_run

    return not enclosing_run()


def door_of(*, person: bool) -> str:
    return "terminal" if person else "cli"


def consent_of(arguments: Arguments) -> CallerConsent:
    """Return the fields of a draft that say who the caller is, and what they consent to."""
    person = is_person()
    return {
        "consent": "yes" if arguments.yes else "typed" if person else "none",
        "door": door_of(person=person),
    }
