"""Commands that hide what they do: a person sees the whole question before their yes counts."""

from __future__ import annotations

from pathlib import Path

import pexpect
import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended, plain
from tests.frontends.cli.test_question import QUESTION

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
HIDING = {
    "a secret that lists mask": f"touch new {SECRET}",
    "an invisible character": "touch new a\u200bb",
    "a wide gap": "touch" + " " * 300 + "new",
    "a disguised program": "$'to\\x75ch' new",
    "more than can be read": "touch new " + "x" * 20_000,
}


@pytest.mark.spec("A4", "A5", "D2")
@pytest.mark.parametrize("line", HIDING.values(), ids=HIDING)
def test_what_only_the_whole_question_shows_is_asked_about_once_more_below_it(
    person: Person, terminal: Terminal, precious: Path, line: str
) -> None:
    waiting = person.types("propose", "-q", "--cwd", str(precious), line).out.strip()

    child = terminal.types("approve", "--wait", waiting)
    assert child.expect_exact([QUESTION, pexpect.EOF]) == 0, child.before
    before = plain(str(child.before))
    assert "because" in before
    assert SECRET not in line or SECRET in before
    child.sendline("n")
    said, code = ended(child)
    assert f"not approved: {waiting} still waits" in said
    assert (code, person.sees(waiting)["state"]) == (4, "proposed")

    child = terminal.types("approve", "--wait", "--quiet", waiting)
    child.expect_exact(QUESTION)
    assert not (precious / "new").exists()
    child.sendline("y")
    ended(child)
    assert person.sees(waiting)["approved_by"] == "ada"


def test_a_no_below_the_question_keeps_what_was_rejected_rejected(person: Person, terminal: Terminal) -> None:
    waiting = person.types("propose", "-q", f"echo {SECRET}").out.strip()
    person.types("reject", waiting)

    child = terminal.types("approve", waiting)
    child.expect_exact(QUESTION)
    child.sendline("n")

    assert f"not approved: {waiting} is rejected" in ended(child)[0]
    assert person.sees(waiting)["state"] == "rejected"
