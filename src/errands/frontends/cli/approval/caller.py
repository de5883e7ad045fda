"""The door: who is at the command line, and what their command counts for.

A terminal to ask on and to be answered from is a person, who has approved what they typed. Anything else is a
program: it gets a proposal, unless it passes `--yes`. A run is never a person, whatever terminal it has.
"""

from __future__ import annotations

import sys

from errands.frontends.cli.parser import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from errands.frontends.cli.parser import Arguments
    from errands.model.approval import Consent

    class Wish(TypedDict):
        """The fields of a draft that say who asks, and what they have agreed to by asking."""

        consent: Consent
        door: str


YES = Option(flags=("-y", "--yes"), help="start it without a question, on record as such")


def is_person() -> bool:
    """Tell whether somebody is there who can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from errands.engine.actor import enclosing_run

    return not enclosing_run()


def door_of(*, person: bool) -> str:
    return "terminal" if person else "cli"


def consent_of(arguments: Arguments) -> Wish:
    """Say who asks, and what they have agreed to by asking."""
    person = is_person()
    return {
        "consent": "yes" if arguments.yes else "typed" if person else "none",
        "door": door_of(person=person),
    }
