"""Any program that reads a prompt and prints an answer is an agent."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from errands.agents.command import Command
from errands.agents.command.process import descendants, is_alive
from errands.model.errors import AgentError, AgentUnavailable, BadValue, SessionGone
from errands.model.record import evolve
from errands.testing.agent_context import SPEC, RecordingContext, spec_text
from errands.testing.contracts.agent import until


def desk_in(folder: Path, *, run: str = "tested-222222.1", **options: Any) -> RecordingContext:
    spec = evolve(SPEC, **{"cwd": str(folder), "system": "", **options})
    return RecordingContext(folder / "context", spec=spec, run=run)


async def test_a_program_reads_the_prompt_and_its_output_is_the_answer(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": "tr a-z A-Z"})
    session = await agent.open(context)

    answer = await agent.prompt(session, "hello", context)

    assert answer.text == "HELLO"
    assert [each.text for each in context.notes if each.kind == "text"] == ["HELLO"]


async def test_the_prompt_and_the_model_can_stand_among_the_words(tmp_path: Path) -> None:
    context = desk_in(tmp_path, model="tiny")
    agent = Command({"command": ["printf", "%s|%s", "{model}", "{prompt}"]})
    session = await agent.open(context)

    assert (await agent.prompt(session, "it's; $HOME", context)).text == "tiny|it's; $HOME"


async def test_a_program_that_takes_only_the_model_reads_the_prompt(tmp_path: Path) -> None:
    context = desk_in(tmp_path, model="tiny")
    agent = Command({"command": ["sh", "-c", 'echo "$0|$(cat)"', "{model}"]})
    session = await agent.open(context)

    assert (await agent.prompt(session, "hello", context)).text == "tiny|hello"


async def test_what_a_prompt_says_is_not_filled_in(tmp_path: Path) -> None:
    context = desk_in(tmp_path, model="tiny")
    agent = Command({"command": ["printf", "%s|%s", "{model}", "{prompt}"]})
    session = await agent.open(context)

    assert (await agent.prompt(session, "what is {model}?", context)).text == "tiny|what is {model}?"


@pytest.mark.parametrize(
    ("choice", "why"),
    [({"model": "tiny"}, "is not told which model"), ({"tools": ("web",)}, "its own tools")],
)
async def test_a_choice_that_the_program_would_never_learn_of_is_refused(
    tmp_path: Path, choice: dict[str, Any], why: str
) -> None:
    context = desk_in(tmp_path, **choice)
    agent = Command({"command": "cat"})
    session = await agent.open(context)

    with pytest.raises(AgentError, match=why):
        await agent.prompt(session, "hello", context)


async def test_it_runs_in_the_directory_of_the_task_with_its_environment(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": ["sh", "-c", 'cat >prompt; echo "$COLOUR $PWD"'], "env": {"COLOUR": "blue"}})
    session = await agent.open(context)

    assert (await agent.prompt(session, "hello", context)).text == f"blue {tmp_path}"
    assert (tmp_path / "prompt").read_text() == "hello"


@pytest.mark.spec("S2")
async def test_the_next_prompt_comes_with_the_conversation(tmp_path: Path) -> None:
    agent = Command({"command": "cat"})
    context = desk_in(tmp_path, system="Be brief.")
    session = await agent.open(context)
    await agent.prompt(session, "one", context)
    await agent.post(session, "two happened", context)

    answer = await agent.prompt(
        session, "three", desk_in(tmp_path, system="Be brief.", run="tested-222222.2")
    )

    assert answer.text == (
        "Be brief.\n\nUser: one\n\nAssistant: Be brief.\n\none\n\nNote: two happened\n\nUser: three"
    )


@pytest.mark.spec("S8")
async def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    agent = Command({"command": "cat"})
    context = desk_in(tmp_path)
    session = await agent.open(context)
    await agent.prompt(session, "one", context)
    forked = await agent.fork(session, context)

    in_the_fork = await agent.prompt(forked, "two", desk_in(tmp_path, run="tested-222222.2"))
    in_the_parent = await agent.prompt(session, "three", desk_in(tmp_path, run="tested-222222.3"))

    assert in_the_fork.text == "User: one\n\nAssistant: one\n\nUser: two"
    assert in_the_parent.text == "User: one\n\nAssistant: one\n\nUser: three"


@pytest.mark.spec("S10")
async def test_a_fork_that_is_too_long_loses_its_oldest_messages(tmp_path: Path) -> None:
    agent = Command({"command": "cat"})
    context = desk_in(tmp_path)
    session = await agent.open(context)
    for number in range(5):
        await agent.post(session, f"note {number} " + "x" * 100_000, context)

    answer = await agent.prompt(await agent.fork(session, context), "now", context)

    assert [number for number in range(5) if f"note {number} " in answer.text] == [2, 3, 4]


@pytest.mark.trap(61)
async def test_a_failing_program_gives_no_answer_and_its_output_is_kept(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": ["sh", "-c", "cat; echo out of ideas >&2; exit 3"]})
    session = await agent.open(context)

    with pytest.raises(AgentError, match="sh ended with exit code 3: out of ideas") as caught:
        await agent.prompt(session, "half an answer", context)

    assert caught.value.partial == "half an answer"


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": "no-such-program"})
    session = await agent.open(context)

    with pytest.raises(AgentUnavailable, match="no-such-program cannot be started: program not found"):
        await agent.prompt(session, "hello", context)


def test_a_preset_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadValue, match=r"no preset 'cloud'.*claude, plain"):
        Command({"preset": "cloud"})


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadValue, match="no setting 'colour'; there are agent, arguments, command"):
        Command({"colour": "blue", "lane": "agent"})


@pytest.mark.spec("S5")
async def test_a_dropped_session_is_gone_for_everything(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": "cat"})
    session = await agent.open(context)
    await agent.drop(session, context)
    await agent.drop(session, context)

    for ask in (agent.prompt, agent.recover, agent.post):
        with pytest.raises(SessionGone):
            await ask(session, "hello", context)
    with pytest.raises(SessionGone):
        await agent.fork(session, context)


@pytest.mark.spec("S14")
async def test_a_program_that_was_interrupted_is_not_asked_again(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": ["sh", "-c", "echo x >>witness; kill -9 $PPID; sleep 600"]})
    session = await agent.open(context)
    asker = _asker(context, session, "hello", ["sh", "-c", "echo x >>witness; kill -9 $PPID; sleep 600"])
    assert asker.wait() == -signal.SIGKILL

    with pytest.raises(AgentError, match="was interrupted"):
        await agent.recover(session, "hello", context)

    assert (tmp_path / "witness").read_text() == "x\n"


@pytest.mark.spec("S14")
async def test_recovery_gives_an_answer_that_was_kept_and_sends_what_was_not_sent(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    agent = Command({"command": ["sh", "-c", "echo x >>witness; cat"]})
    session = await agent.open(context)

    first = await agent.recover(session, "hello", context)
    second = await agent.recover(session, "hello", context)

    assert first == second
    assert first.text == "hello"
    assert (tmp_path / "witness").read_text() == "x\n"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return programs little time between the polite signal and the last one."""
    monkeypatch.setattr("errands.agents.command.process.GRACE", 0.5)


@pytest.mark.trap(64)
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["cancel", "abort"])
async def test_all_that_the_program_started_ends_with_the_prompt(tmp_path: Path, how: str) -> None:
    context = desk_in(tmp_path)
    line = "trap '' TERM; echo $$ >leader; setsid sleep 610 & echo $! >pid; sleep 620"
    agent = Command({"command": ["sh", "-c", line]})
    session = await agent.open(context)
    asking = asyncio.create_task(agent.prompt(session, "hello", context))
    await until(lambda: _number(tmp_path / "pid"), asking)
    leader = _number(tmp_path / "leader")
    tree = [leader, *descendants(leader)]
    assert _number(tmp_path / "pid") in tree

    if how == "cancel":
        asking.cancel()
    else:
        await agent.abort(session)
    await asyncio.wait([asking])

    assert asking.cancelled() if how == "cancel" else "aborted" in str(asking.exception())
    assert [pid for pid in tree if is_alive(pid)] == []


@pytest.mark.trap(64)
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["cancel", "abort"])
async def test_a_program_that_is_given_up_while_it_starts_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    start, is_there = asyncio.create_subprocess_exec, asyncio.Event()

    async def slowly(*words: Any, **named: Any) -> asyncio.subprocess.Process:
        process = await start(*words, **named)
        while not _number(tmp_path / "pid"):
            await asyncio.sleep(0.01)
        is_there.set()
        await asyncio.sleep(0.1)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    context = desk_in(tmp_path)
    agent = Command({"command": ["sh", "-c", "echo $$ >leader; setsid sleep 640 & echo $! >pid; sleep 650"]})
    session = await agent.open(context)
    asking = asyncio.create_task(agent.prompt(session, "hello", context))
    await is_there.wait()
    leader = _number(tmp_path / "leader")
    tree = [leader, *descendants(leader)]

    if how == "cancel":
        asking.cancel()
    else:
        await agent.abort(session)
    done, _ = await asyncio.wait([asking], timeout=60)

    assert done == {asking}
    assert [pid for pid in tree if is_alive(pid)] == []


async def test_the_program_ends_when_its_caller_is_killed(tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await Command({"command": "cat"}).open(context)
    asker = _asker(context, session, "hello", ["sh", "-c", "echo $$ >pid; exec sleep 630"])
    await until(lambda: _number(tmp_path / "pid"), asker)

    asker.kill()
    asker.wait()

    pid = _number(tmp_path / "pid")
    deadline = asyncio.get_running_loop().time() + 60
    while is_alive(pid):
        assert asyncio.get_running_loop().time() < deadline, "it outlived its caller"
        await asyncio.sleep(0.01)


def _asker(context: RecordingContext, session: str, text: str, command: list[str]) -> subprocess.Popen[bytes]:
    """Start another process that asks."""
    words = ["errands.agents.command:Command", json.dumps({"command": command}), str(context.folder)]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "errands.testing.prompt_process",
            *words,
            spec_text(context.spec),
            session,
            text,
        ]
    )


def _number(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0
