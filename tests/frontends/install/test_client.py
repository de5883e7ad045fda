"""What clients start once Errands is installed: hooks that wake and remind, and the process of a plugin."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.frontends.cli.person import COMMAND, Person
from tests.frontends.install.test_serving import called

SESSION = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
OWNER = f"claude:{SESSION}"


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("client")
    person = Person(place / "errands", place)
    yield person
    person.leaves()


def started(person: Person, line: str, owner: str) -> str:
    return person.types("run", "-q", "--yes", line, yes=False, ERRANDS_SESSION=owner).out.strip()


def ended(person: Person, line: str, owner: str) -> str:
    task = started(person, line, owner)
    person.types("wait", "-q", task)
    return task


def told(session: str, **more: object) -> str:
    """The input of a hook from Claude Code."""
    return json.dumps({"session_id": session, **more})


@pytest.mark.spec("N6")
@pytest.mark.trap(3)
def test_a_hook_wakes_claude_code_when_a_task_ends(person: Person) -> None:
    task = started(person, "sleep 0.3; echo 12 passed", OWNER)

    woken = person.types("client", "claude", "wake", given=told(SESSION), code=2)

    assert f"{task} completed" in woken.err
    assert "12 passed" in woken.err
    assert woken.out == ""
    assert person.types("client", "claude", "wake", given=told(SESSION)).err == ""


@pytest.mark.spec("N6", "X21")
def test_what_a_model_reads_is_not_wrapped_at_the_width_of_a_terminal(person: Person) -> None:
    """Claude Code tells its hooks how wide its terminal is."""
    line = "src/" + "a-long-name/" * 10 + "module.py:3: unused import of something"
    ended(person, f"echo {line!r}", OWNER)

    woken = person.types("client", "claude", "wake", given=told(SESSION), code=2, COLUMNS="80")

    assert line in woken.err
    assert "answers no question and approves nothing.]\n- " in woken.err
    assert woken.err.endswith("]\n")
    assert not woken.err.endswith("\n\n")


@pytest.mark.trap(5)
def test_it_wakes_for_the_session_that_the_server_was_started_in(person: Person) -> None:
    """Claude Code begins a new session in the same process, and its server only knows the first."""
    task = ended(person, "echo from before", "claude:first")
    ended(person, "echo of nobody here", "claude:other")

    heard = told("second", tool_response=[{"type": "text", "text": f'{{"task_id": "{task}"}}'}])
    woken = person.types("client", "claude", "wake", given=heard, code=2)

    assert "from before" in woken.err
    assert "of nobody here" not in woken.err


@pytest.mark.spec("N8")
def test_a_client_that_answers_once_is_not_kept_waiting(person: Person) -> None:
    task = started(person, "sleep 600", "claude:once")

    silent = person.types("client", "claude", "wake", given=told("once"), CLAUDE_CODE_ENTRYPOINT="sdk-cli")

    assert (silent.out, silent.err) == ("", "")
    person.types("cancel", task)


@pytest.mark.spec("N6", "N8")
def test_the_next_prompt_hears_once_what_a_client_that_answers_once_has_started(person: Person) -> None:
    once = {"CLAUDE_CODE_SESSION_ID": "single", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    (reply,) = called(person, "claude", {"command": "echo 12 passed", "name": "single"}, **once)
    task = re.findall(r"single-[a-z0-9]{6}", reply)[0]
    person.waits_until_reported(task)

    def prompted(session: str) -> str:
        return person.types("client", "claude", "remind", given=told(session)).out

    assert prompted("another") == ""
    said = prompted("single")
    assert f"- {task} completed" in said
    assert "12 passed" in said
    assert "answers no question and approves nothing." in said
    assert prompted("single") == "", "it was told before"
    assert task in person.types("notices").out, "and so is the person"


@pytest.mark.trap(5)
def test_a_hook_names_the_session_in_a_call_and_decides_nothing(person: Person) -> None:
    call = {"command": "make", "_session": "forged"}
    given = told(SESSION, hook_event_name="PreToolUse", tool_input=call)

    said = person.types("client", "claude", "session", given=given).object

    assert said == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {"command": "make", "_session": SESSION},
        }
    }


@pytest.mark.parametrize("given", ["", "no JSON", "[]", '{"session": 1}'])
def test_a_hook_without_news_prints_nothing(person: Person, given: str) -> None:
    for deed in ("wake", "remind", "session"):
        silent = person.types("client", "claude", deed, given=given)
        assert (silent.out, silent.err) == ("", "")


@pytest.mark.spec("N6")
def test_a_hook_reminds_with_the_next_prompt_once(person: Person) -> None:
    task = ended(person, "echo forgotten", "claude:reminded")

    assert f"{task} completed" in person.types("client", "claude", "remind", given=told("reminded")).out
    assert person.types("client", "claude", "remind", given=told("reminded")).out == ""


@pytest.mark.spec("N8")
def test_a_question_that_was_answered_is_not_told_any_more(person: Person) -> None:
    (person.cwd / "precious").touch()
    asked = person.types(
        "run", "rm precious; sleep 600", yes=False, code=None, ERRANDS_SESSION="claude:asked"
    )

    approved = person.types("approve", asked.proposal)

    # Claude Code alone reports it: `errands notices` of the person who approves it does not have it.
    assert "  result   claude reports its result\n" in asked.out
    assert "; claude reports when it ends)" in " ".join(approved.out.split())
    person.types("cancel", asked.proposal)
    woken = person.types("client", "claude", "wake", given=told("asked"), code=2)
    assert f"{asked.proposal} cancelled" in woken.err
    assert "proposed" not in woken.err


def test_a_hook_ends_when_claude_code_has_ended(person: Person) -> None:
    task = started(person, "sleep 600", "claude:gone")
    with subprocess.Popen(["sleep", "60"]) as claude:
        waiting = subprocess.Popen(
            [*COMMAND, "client", "claude", "wake"],
            stdin=subprocess.PIPE,
            env={**person.environ, "CLAUDE_PID": str(claude.pid)},
            text=True,
        )
        with waiting:
            assert waiting.stdin is not None
            waiting.stdin.write(told("gone"))
            waiting.stdin.close()
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(0.5)
            claude.kill()
            claude.wait()
            assert waiting.wait(10) == 0
    person.types("cancel", task)


@pytest.mark.trap(41)
def test_the_verb_is_hidden_from_help(person: Person) -> None:
    for words in (
        ("claude", "serve"),
        ("opencode", "wake"),
        ("opencode", "mcp", "--dialect", "opencode"),
        ("claude", "mcp"),
        ("claude", "remind", "--dialect", "native"),
    ):
        assert "this is for clients" in person.types("client", *words, code=2).err
    assert "client" not in person.types("--help").out.split()
