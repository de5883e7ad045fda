"""Proposals at the command line: they wait where everybody sees them, and every answer is on record."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person


@pytest.mark.spec("A7")
def test_the_audit_lists_every_answer_newest_first(newcomer: Person, precious: Path) -> None:
    assert "no questions yet" in newcomer.types("audit").out
    task_id = newcomer.finishes("true")
    assert newcomer.types("audit", task_id).out.startswith(f"no questions about {task_id}; ")
    yes = newcomer.finishes(f"touch {precious}/x")
    no = newcomer.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    newcomer.types("reject", no)
    listed = newcomer.types("audit").out.splitlines()
    objects = newcomer.types("audit", "--json").objects

    assert [line.split()[2:4] for line in listed[1:]] == [[no, "rejected"], [yes, "approved"]]
    assert "ada (--yes)" in listed[2]
    assert "completed" in listed[2]
    assert [each["then"] for each in objects] == ["", "completed"]
    assert [(each["task"], each["state"], each["door"]) for each in objects] == [
        (no, "refused", "cli"),
        (yes, "granted", "cli"),
    ]
    assert objects[0]["reasons"][0]["undo"] == "no"
    assert newcomer.types("audit", "-n", "1", "--json").object["task"] == no
    assert newcomer.types("audit", no).out.startswith("asked ")


@pytest.mark.spec("A7", "A8")
def test_the_audit_remembers_what_was_cleared_and_what_an_agent_started(
    newcomer: Person, precious: Path
) -> None:
    agent = newcomer.types("ask", "-q", f"`rm -rf {precious}`").out.strip()
    newcomer.waits_until(agent, "waiting", "approval")
    newcomer.types("approve", agent)
    newcomer.types("wait", agent)
    (before,) = newcomer.types("audit", agent, "--json").objects
    newcomer.types("clear", "--all")
    (after,) = newcomer.types("audit", agent, "--json").objects

    assert (before["command"], before["then"], before["exit_code"]) == (f"rm -rf {precious}", "completed", 0)
    assert after == {**before, "cleared": True}
    assert newcomer.types("audit", "--json").object == after
    assert f"of {before['task']} (cleared)" in newcomer.types("audit", before["task"]).out


@pytest.mark.spec("X15")
def test_doctor_warns_of_an_unanswered_question(newcomer: Person, precious: Path) -> None:
    waiting = newcomer.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    young = newcomer.types("doctor").out
    newcomer.types("daemon", "stop")
    with sqlite3.connect(newcomer.home / "errands.db") as store:
        store.execute("UPDATE approvals SET asked_at = asked_at - 2 * 86400 * 1000000")
    store.close()
    old = newcomer.types("doctor").out

    assert "nothing has been waiting for approval for long" in young
    assert f"{waiting} has been waiting for approval for 2d; it expires in 7 days" in old
    assert f"errands show {waiting}, then errands approve or errands reject" in old


def test_proposals_are_completed_where_they_are_answered(person: Person, precious: Path) -> None:
    waiting = person.types(
        "run", "-q", "--name", "maybe", f"rm -rf {precious}", yes=False, code=4
    ).out.strip()

    for verb in ("approve", "reject", "show", "cancel", "audit"):
        assert waiting in person.types("complete", "zsh", "--", verb, "may").out
    assert person.types("complete", "zsh", "--", "ls", "--state", "prop").out == "proposed\n"
    person.types("cancel", waiting)
    assert person.sees(waiting)["state"] == "cancelled"


def test_a_prefix_that_matches_one_proposal_is_enough_to_answer_it(person: Person, precious: Path) -> None:
    words = ("run", "-q", "--name", "sweep", f"rm -rf {precious}")
    first = person.types(*words, yes=False, code=4).out.strip()
    person.types("reject", "sweep")
    second = person.types(*words, yes=False, code=4).out.strip()

    assert first != second
    assert person.types("reject", "--json", "sweep").object["id"] == second
    assert "sweep" in person.types("approve", "sweep", code=3).err


def test_a_second_start_with_the_key_of_a_proposal_returns_that_proposal(
    person: Person, precious: Path
) -> None:
    words = ["run", "--key", "the-only", f"rm -rf {precious}"]
    first = person.types(*words, yes=False, code=4).proposal

    assert person.types(*words, yes=False, code=4).proposal == first
    person.types("reject", first)
    assert f"{first} is rejected" in person.types(*words, yes=False, code=4).err


@pytest.mark.spec("A10")
def test_a_proposal_outlives_the_daemon(newcomer: Person, precious: Path) -> None:
    waiting = newcomer.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    newcomer.types("daemon", "stop")

    assert newcomer.sees(waiting)["state"] == "proposed"
    newcomer.types("approve", "--wait", waiting)
    assert not precious.exists()


@pytest.mark.spec("O12", "A4")
@pytest.mark.fault("F35")
def test_the_text_of_a_proposal_cannot_control_the_terminal_and_keeps_secrets(person: Person) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    answer = person.types("run", "--", "rm", f"x\x1b]0;owned\x07\u202e{secret}", yes=False, code=4)
    waiting = answer.proposal

    for said in (answer.out, person.types("show", waiting).out, person.types("audit", waiting).out):
        assert "\x1b" not in said
        assert "\u202e" not in said
        assert secret not in said
    person.types("reject", waiting)


@pytest.mark.fault("F35")
def test_an_error_about_a_script_cannot_control_the_terminal(person: Person, tmp_path: Path) -> None:
    script = tmp_path / "x\x1b]0;owned\x07\u202e.sh"
    script.write_text("true\n")
    waiting = person.types("run", "-q", "--", "sh", str(script), yes=False, code=4).out.strip()
    script.write_text("false\n")
    complaint = person.types("approve", waiting, code=4).err

    assert "has changed" in complaint
    assert complaint.rstrip("\n").isprintable()
    person.types("reject", waiting)


def test_a_proposal_in_json_is_one_object(person: Person, precious: Path) -> None:
    waiting = person.types("run", "--json", f"rm -rf {precious}", yes=False, code=4).object
    answered = person.types("reject", "--json", waiting["id"]).object

    assert (waiting["state"], answered["state"]) == ("proposed", "rejected")
    assert list(waiting) == list(answered)


@pytest.mark.spec("N5", "A10")
def test_a_proposal_that_was_answered_is_not_shown_among_the_notices(person: Person) -> None:
    answered, waiting = (
        person.types("run", "-q", f"touch /nowhere/{each}", yes=False, code=4).out.strip() for each in "ab"
    )
    person.types("reject", answered)

    peeked = person.types("notices", "--peek").out
    shown = person.types("notices").out

    for out in (peeked, shown):
        assert f"{waiting} " in out
        assert not [line for line in out.splitlines() if line.startswith(answered) and "proposed" in line]
    assert person.types("notices").out == "nothing new since you last looked\n"
