"""The process beside OpenCode, driven line by line as the plugin drives it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.ports.home import Home
from tests.frontends.cli.person import COMMAND, Person
from tests.gate import Gate


class Plugin:
    """The plugin of one OpenCode; `pid` is the process that OpenCode is."""

    def __init__(
        self, person: Person, process: subprocess.Popen[str], pid: int, *, wakes: bool = True
    ) -> None:
        self._cwd = str(person.cwd)
        self._process = process
        self._count = 0
        self.writes(type="hello", pid=pid, socket=None, program="opencode", wakes=wakes)

    def writes(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def reads(self, *kinds: str) -> dict[str, Any]:
        """Read up to the next message of one of these kinds."""
        assert self._process.stdout is not None
        while (message := json.loads(self._process.stdout.readline()))["type"] not in kinds:
            pass
        return dict(message)

    def is_told(self) -> dict[str, Any]:
        """Wait for news, be ready for it, and read the report."""
        self.writes(type="ready", id=self.reads("news")["id"])
        return self.reads("notice")

    def reads_at_once(self, tool: str) -> list[str]:
        """Call a tool; return the kinds of what was said before the reply."""
        self.begins(tool)
        assert self._process.stdout is not None
        kinds: list[str] = []
        while (kind := json.loads(self._process.stdout.readline())["type"]) != "reply":
            kinds.append(kind)
        return kinds

    def begins(self, tool: str, session: str = "ses_1", message: str = "msg_1", **arguments: Any) -> None:
        self._count += 1
        caller = {
            "session": session,
            "message": message,
            "call": f"{message}:{self._count}",
            "agent": "build",
            "model": "fake/fake",
            "directory": self._cwd,
        }
        self.writes(type="call", id=self._count, tool=tool, arguments=arguments, caller=caller, asks=True)

    def calls(self, tool: str, session: str = "ses_1", **arguments: Any) -> dict[str, Any]:
        self.begins(tool, session, **arguments)
        return self.reads("reply")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "errands", tmp_path)
    yield person
    person.leaves()


@contextmanager
def plugged(person: Person, *, pid: int | None = None, **more: Any) -> Iterator[Plugin]:
    with subprocess.Popen(
        [*COMMAND, "client", "opencode", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=person.environ,
        text=True,
    ) as process:
        try:
            yield Plugin(person, process, pid or os.getpid(), **more)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(10) == 0


def ended(person: Person, line: str, session: str = "ses_1") -> str:
    said = person.types("run", "-q", "--yes", line, yes=False, ERRANDS_SESSION=f"opencode:{session}")
    person.types("wait", "-q", said.out.strip())
    return said.out.strip()


@pytest.mark.spec("N6")
@pytest.mark.trap(12)
def test_a_refused_report_stays_and_comes_with_the_session_s_next_use(person: Person) -> None:
    task = ended(person, "echo news")
    with plugged(person) as plugin:
        plugin.writes(type="watch", session="ses_1")
        refused = plugin.is_told()
        plugin.writes(type="delivered", id=refused["id"], delivered=False)
        assert task in person.types("notices", "--peek", "--owner", "opencode:ses_1").out

        plugin.writes(type="watch", session="ses_1")
        again = plugin.is_told()
        plugin.writes(type="delivered", id=again["id"], delivered=True)

        assert f"{task} completed" in refused["text"]
        assert again["text"].splitlines()[:2] == refused["text"].splitlines()[:2]
        # What was said before a call is settled when its reply comes.
        plugin.calls("background_list")
    assert person.types("notices", "--peek", "--json", "--owner", "opencode:ses_1").out == ""


@pytest.mark.spec("N6")
@pytest.mark.trap(2)
def test_what_ends_before_a_session_is_ready_is_one_report(person: Person) -> None:
    first = ended(person, "echo first")
    with plugged(person) as plugin:
        plugin.writes(type="watch", session="ses_1")
        news = plugin.reads("news")
        second = ended(person, "echo second")
        person.waits_until_reported(second, owner="opencode:ses_1")
        plugin.writes(type="ready", id=news["id"])
        report = plugin.reads("notice")
        plugin.writes(type="delivered", id=report["id"], delivered=True)

        assert f"{first} completed" in report["text"]
        assert f"{second} completed" in report["text"]
        assert plugin.reads_at_once("background_list") == []


@pytest.mark.spec("N6")
def test_a_run_of_a_schedule_is_reported_while_nothing_else_happens(person: Person) -> None:
    schedule = ("run", "-q", "--every", "1h", "--name", "tick", "--", "echo", "news")
    task = person.types(*schedule, ERRANDS_SESSION="opencode:ses_1").out.strip()
    with plugged(person) as plugin:
        plugin.writes(type="watch", session="ses_1")
        plugin.calls("background_list")  # by now it has looked once, and found nothing to report
        person.types("fire", task)

        assert f"{task} completed" in plugin.is_told()["text"]


@pytest.mark.trap(3)
def test_of_two_programs_the_one_that_used_a_session_last_reports_to_it(
    person: Person, tmp_path: Path
) -> None:
    (tmp_path / "victim").touch()
    with subprocess.Popen(["sleep", "600"]) as later, plugged(person) as mine:
        try:
            with plugged(person, pid=later.pid) as theirs:
                mine.begins("background_shell", command="rm victim")
                mine.writes(type="answer", id=mine.reads("question")["id"], answer="none")
                (task,) = mine.reads("reply")["tasks"]
                theirs.calls("background_list")

                person.types("approve", task)

                report = theirs.is_told()
                theirs.writes(type="delivered", id=report["id"], delivered=True)
                theirs.calls("background_list")
            assert mine.reads_at_once("background_list") == []
        finally:
            later.kill()


@pytest.mark.trap(3)
def test_the_end_of_a_call_takes_no_session_back_that_another_program_used_meanwhile(person: Person) -> None:
    gate = Gate(person.cwd / "gate")
    with subprocess.Popen(["sleep", "600"]) as later, plugged(person) as mine:
        try:
            with plugged(person, pid=later.pid) as theirs:
                task = mine.calls("background_shell", command="cat gate")["tasks"][0]
                mine.begins("background_shell", command="rm victim")
                question = mine.reads("question")
                theirs.calls("background_list")
                mine.writes(type="answer", id=question["id"], answer="none")
                mine.reads("reply")
                mine.writes(type="prompt", id=9, session="ses_2")
                mine.reads("reply")  # so that it has done what comes after the reply before
                gate.opens("later")

                told = ""
                while f"{task} completed" not in told:  # or it waits until the test is given up
                    report = theirs.is_told()
                    theirs.writes(type="delivered", id=report["id"], delivered=True)
                    told += report["text"]
        finally:
            later.kill()


@pytest.mark.spec("N8")
def test_a_program_that_exits_with_its_turn_is_promised_nothing(person: Person) -> None:
    with plugged(person, wakes=False) as plugin:
        reply = plugin.calls("background_shell", command="echo for later")
    (task,) = reply["tasks"]
    person.types("wait", "-q", task)

    assert "Nothing will tell you when it ends; ask with background_output(task_id=" in reply["text"]
    # Its session is told if it is continued.
    assert task in person.types("notices", "--peek", "--owner", "opencode:ses_1").out


@pytest.mark.spec("L13", "X1")
def test_what_one_message_launches_is_a_batch(person: Person) -> None:
    with plugged(person) as plugin:
        for message in ("msg_1", "msg_1", "msg_2"):
            plugin.begins("background_shell", message=message, command="true")
            plugin.reads("reply")
        batch = plugin.calls("background_list", batch_id="opencode:ses_1:msg_1")

    assert len(batch["text"].splitlines()) == 2


@pytest.mark.spec("X1")
def test_an_interrupted_call_leaves_its_task_running_and_reported(person: Person) -> None:
    gate = Gate(person.cwd / "gate")
    with plugged(person) as plugin:
        task = plugin.calls("background_shell", command="cat gate")["tasks"][0]
        plugin.begins("background_output", task_id=task, block=True)
        plugin.writes(type="cancel", id=2)
        plugin.calls("background_list")  # so that the cancellation has arrived
        gate.opens("later")

        assert f"{task} completed" in plugin.is_told()["text"]


# Answers every question with yes, as a plugin inside a run would.
_YES = """
import json, os, subprocess, sys
serving = subprocess.Popen([*sys.argv[1:], "client", "opencode", "serve"], stdin=-1, stdout=-1, text=True)
def write(**message):
    print(json.dumps(message), file=serving.stdin, flush=True)
write(type="hello", pid=os.getpid(), socket=None, program="opencode", wakes=True)
caller = {"session": "ses_1", "message": "msg_1", "call": "1", "agent": "build", "model": "fake/fake"}
call = {"tool": "background_shell", "arguments": {"command": "rm victim"}, "asks": True}
write(type="call", id=1, caller={**caller, "directory": os.getcwd()}, **call)
for line in serving.stdout:
    said = json.loads(line)
    print(said["type"], flush=True)
    if said["type"] == "question":
        write(type="answer", id=said["id"], answer="always")
    if said["type"] == "reply":
        break
serving.stdin.close()
"""


@pytest.mark.spec("A8")
@pytest.mark.trap(66)
def test_a_plugin_inside_a_run_is_asked_nothing_that_it_could_answer_itself(
    person: Person, tmp_path: Path
) -> None:
    (tmp_path / "victim").touch()
    (tmp_path / "plugin.py").write_text(_YES)
    command = shlex.join(["env", "-u", "ERRANDS_RUN_ID", sys.executable, "plugin.py", *COMMAND])

    said = person.types("run", "--wait", command).out

    assert said.splitlines() == ["reply"]
    assert (tmp_path / "victim").exists()
    (task,) = person.types("ls", "--json", "--state", "proposed").objects
    assert task["command"] == "rm victim"


@pytest.mark.spec("A8", "X18")
def test_only_a_person_s_answer_approves(person: Person, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    with plugged(person) as plugin:
        plugin.begins("background_shell", command=f"rm {victim}")
        question = plugin.reads("question")
        assert question["command"] == f"rm {victim}"
        plugin.writes(type="answer", id=question["id"], answer="none")

        reply = plugin.reads("reply")["text"]
        assert reply.startswith("Not started yet.")
        assert "awaiting approval" in reply
    assert victim.exists()


@pytest.mark.spec("A8", "A10", "X17")
@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_a_question_that_is_answered_elsewhere_is_withdrawn_and_the_call_goes_on(
    person: Person, tmp_path: Path, answer: str
) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    with plugged(person) as plugin:
        plugin.begins("background_shell", command=f"rm {victim}")
        question = plugin.reads("question")
        (task,) = [each["id"] for each in person.types("ls", "--json", "--state", "proposed").objects]
        person.types(answer, task)

        withdrawn = plugin.reads("withdraw", "reply")
        assert (withdrawn["type"], withdrawn["id"]) == ("withdraw", question["id"])
        reply = plugin.reads("reply")
        plugin.writes(type="answer", id=question["id"], answer="no")  # too late, and nobody asked

        assert reply["tasks"] == [task]
        assert reply["failed"] == (answer == "reject")
        said = "did not start and will not" if answer == "reject" else "Background command launched."
        assert said in reply["text"]
        others = plugin.reads_at_once("background_list")  # it still listens
        assert answer == "approve" or others == []  # the reply says no, and no report repeats it
    person.types("wait", "-q", task, code=None)
    assert person.sees(task)["state"] == ("rejected" if answer == "reject" else "completed")


@pytest.mark.spec("A14")
def test_of_the_two_yeses_in_opencode_always_reaches_as_far_as_possible(
    person: Person, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).touch()
    with plugged(person) as plugin:
        for name, answer in (("first", "yes"), ("second", "always")):
            plugin.begins("background_shell", command=f"rm {tmp_path}/{name}")
            question = plugin.reads("question")
            reach = "`Allow always` means this command, here, from any caller"
            assert question["reasons"][-1] == reach
            plugin.writes(type="answer", id=question["id"], answer=answer)
            (task,) = plugin.reads("reply")["tasks"]
            person.types("wait", "-q", task)
    assert not any((tmp_path / name).exists() for name in ("first", "second"))
    standing = person.types("audit", "--always", "--json").object
    assert standing["command"] == f"rm {tmp_path}/second"


@pytest.mark.spec("A6", "X17")
def test_what_an_agent_may_do_is_asked_about_in_opencode(person: Person) -> None:
    with plugged(person) as plugin:
        plugin.begins("background_task", prompt="look", agent="offline", allow=["gh run list *"])
        question = plugin.reads("question")
        assert question["reasons"] == ["lets the agent run `gh run list *` without asking"]
        plugin.writes(type="answer", id=question["id"], answer="yes")
        (task,) = plugin.reads("reply")["tasks"]
    asked = person.types("audit", task, "--json").object
    assert (asked["state"], asked["scope"]) == ("granted", "task")


@pytest.mark.spec("S16")
def test_a_deleted_session_is_over_here_too(person: Person) -> None:
    """What it started falls under retention, while another session's tasks are kept."""
    with plugged(person) as plugin:
        for session in ("ses_gone", "ses_kept"):
            (task,) = plugin.calls("background_shell", session, command=f"echo {session}")["tasks"]
            plugin.calls("background_output", session, task_id=task, block=True)
        plugin.writes(type="deleted", session="ses_gone")
        plugin.calls("background_list")
    engine = open_engine(Home(path=str(person.home)))
    try:
        now = engine.clock.now()
        engine.sessions.see_session(
            "opencode:ses_kept"
        )  # the other is not kept for as long as that one is used
        (expired,) = engine.store.expired_tasks(before=now, limit=10)
        (view,) = engine.summaries([expired])
    finally:
        engine.close()

    assert view.parent == "opencode:ses_gone"
