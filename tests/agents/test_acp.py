"""What an agent that speaks the Agent Client Protocol learns, and what it may do here."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from errands.agents.acp.transcript import Transcript, quoted
from errands.model.errors import AgentError
from errands.testing.agent_context import SPEC, no
from tests.agents.acp_stage import ALL, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# The client's side: files and terminals


@pytest.mark.spec("A8")
async def test_a_terminal_runs_what_was_allowed(stage: Stage) -> None:
    context = stage.context()
    assert "exit 3 signal None truncated False: hello" in await stage.says(
        "TERMINAL echo hello; exit 3", context=context
    )
    assert [each.command for each in context.asked] == ["echo hello; exit 3"]


@pytest.mark.spec("A8")
async def test_a_terminal_in_another_directory_is_judged_there(stage: Stage) -> None:
    (stage.project / "sub").mkdir()
    context = stage.context()
    sub = stage.project / "sub"

    assert f": {sub}" in await stage.says(f"INSIDE {sub} pwd", context=context)
    assert f": {stage.project}" in await stage.says(f"INSIDE {stage.project} pwd", context=context)
    assert [each.command for each in context.asked] == [f"cd {sub} && pwd", "pwd"]


@pytest.mark.spec("A8")
async def test_a_refused_terminal_never_starts(stage: Stage) -> None:
    answer = await stage.says("TERMINAL touch witness", context=stage.context(decide=no))
    assert "no terminal: the person said no" in answer
    assert not (stage.project / "witness").exists()


async def test_a_killed_terminal_says_what_it_printed_last(stage: Stage) -> None:
    answer = await stage.says("KILL echo the beginning and the end; sleep 600 & wait")
    assert "killed: SIGKILL: d the end" in answer


async def test_a_terminal_ends_with_its_command_not_with_what_holds_its_pipe(stage: Stage) -> None:
    async with asyncio.timeout(60):
        assert "exit 0" in await stage.says("TERMINAL sleep 600 & echo started")


async def test_a_file_is_read_in_part(stage: Stage) -> None:
    (stage.project / "poem").write_text("one\ntwo\nthree\n")
    assert await stage.says("READ poem") == "second line: two"


async def test_a_file_is_written_after_asking(stage: Stage) -> None:
    context = stage.context()
    assert await stage.says("WRITE sub/poem a rose", context=context) == "written"
    assert (stage.project / "sub" / "poem").read_text() == "a rose"
    assert [(each.tool, each.arguments["path"]) for each in context.asked] == [
        ("write_text_file", "sub/poem")
    ]


async def test_a_refused_file_is_not_written(stage: Stage) -> None:
    assert "cannot write: the person said no" in await stage.says(
        "WRITE poem x", context=stage.context(decide=no)
    )
    assert not (stage.project / "poem").exists()


async def test_a_call_that_was_allowed_is_not_asked_about_again_when_we_carry_it_out(stage: Stage) -> None:
    context = stage.context()
    assert await stage.says(f"EDIT {stage.project}/poem a rose", context=context) == "written"
    assert [each.id for each in context.asked] == ["edit-1"]
    assert context.asked[0].arguments["content"] == "a rose"


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret", "link/secret"])
async def test_nothing_outside_of_the_directory_is_read_or_written(stage: Stage, path: str) -> None:
    (stage.folder / "secret").write_text("a\nb\n")
    (stage.project / "link").symlink_to(stage.folder)
    context = stage.context()
    answer = await stage.says(f"READ {path}\nWRITE {path} x", context=context)
    assert answer.count("is outside ") == 2
    assert context.asked == []
    assert (stage.folder / "secret").read_text() == "a\nb\n"


async def test_a_pipe_is_not_a_file_to_read(stage: Stage) -> None:
    os.mkfifo(stage.project / "pipe")
    assert "cannot read" in await stage.says("READ pipe")


async def test_a_long_answer_is_received_whole(stage: Stage) -> None:
    answer = await stage.says("TERMINAL head -c 500000 /dev/zero | tr '\\0' x")
    assert answer.count("x") > 500_000 - 10


# What is sent


async def test_the_system_prompt_goes_before_the_first_prompt_only(stage: Stage) -> None:
    context = stage.context(system=SPEC.system)
    async with stage.agent() as agent:
        session = await agent.open(context)
        await agent.prompt(session, "first", context)
        await agent.prompt(session, "second", stage.context(run="tested-222222.2"))
    assert stage.prompts() == [f"{SPEC.system}\n\nfirst", "second"]


async def test_the_settings_reach_the_agent(stage: Stage) -> None:
    assert await stage.says("META", meta={"colour": "blue"}) == '"blue"'


async def test_the_model_of_the_launch_is_chosen_and_chosen_again_by_the_next_process(stage: Stage) -> None:
    context = stage.context(model="large")
    async with stage.agent(*ALL, "models") as agent:
        session = await agent.open(context)
        assert (await agent.prompt(session, "MODEL", context)).text == "model large"
    async with stage.agent(*ALL, "models") as agent:
        answer = await agent.prompt(session, "MODEL", stage.context(model="large", run="tested-222222.2"))
        assert answer.text == "model large"


@pytest.mark.parametrize(
    ("can", "options", "words"),
    [
        (ALL, {"model": "large"}, "offers no choice of models"),
        ((*ALL, "models"), {"model": "huge"}, "no model huge"),
        (ALL, {"tools": ("shell",)}, "brings its own tools"),
    ],
)
async def test_what_the_agent_cannot_do_is_refused(
    stage: Stage, can: tuple[str, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(AgentError, match=words):
        await stage.says("hello", *can, context=stage.context(**options))


# Forks


@pytest.mark.spec("S9", "S10")
def test_a_retelling_clips_results_and_leaves_out_the_oldest() -> None:
    call = {"role": "tool", "id": "c1", "name": "read", "arguments": {"path": "a"}, "ended": True}
    call |= {"failed": False, "result": "r" * 2000}
    told = quoted([{"role": "user", "text": "old " * 110_000}, {"role": "agent", "text": "young"}, call])
    assert "[1 older parts of the conversation are left out]" in told
    assert "AGENT: young" in told
    assert 'TOOL read {"path": "a"} (call c1) gave:' in told
    assert "2,000 characters" in told
    assert told.count("r" * 1500) == 1
    assert all(line.startswith(">") for line in told.splitlines())


def test_unknown_updates_are_no_part_of_a_transcript() -> None:
    transcript = Transcript()
    assert transcript.add(object()) is None
    assert transcript.pieces == []


@pytest.mark.spec("S9", "S10")
@pytest.mark.parametrize("can", [ALL, ("fork",)])
async def test_a_history_that_is_too_long_is_not_copied_by_the_agent(
    stage: Stage, can: tuple[str, ...]
) -> None:
    context = stage.context()
    async with stage.agent(*can) as agent:
        session = await agent.open(context)
        await agent.prompt(session, "RUN printf short", context)
        forked = await agent.fork(session, context)
        assert "it printed short" in (stage.home / f"{forked}.session").read_text()

        again = stage.context(run="tested-222222.2")
        await agent.prompt(session, "RUN yes | head -c 4000 | tr -d '\\n'", again)
        cut = await agent.fork(session, context)
        assert "yyy" not in (stage.home / f"{cut}.session").read_text()
        told = (await agent.prompt(cut, "RECALL", stage.context(run="other-222222.1"))).text
        assert "[truncated: the first 1,500 of 2,000 characters]" in told


@pytest.mark.spec("S8")
async def test_what_was_posted_to_the_parent_is_known_in_the_fork(stage: Stage) -> None:
    for can in (ALL, ("load",), ("nothing",)):
        context = stage.context()
        async with stage.agent(*can) as agent:
            session = await agent.open(context)
            await agent.prompt(session, "hello", context)
            await agent.post(session, "the password is swordfish", context)
            fork = await agent.fork(session, context)
            assert (
                "swordfish" in (await agent.prompt(fork, "RECALL", stage.context(run="other-222222.1"))).text
            )


# Recovery


@pytest.mark.spec("S14")
async def test_a_prompt_that_never_reached_the_agent_is_sent_again(stage: Stage) -> None:
    context = stage.context()
    async with stage.agent() as agent:
        session = await agent.open(context)
        await agent.prompt(session, "the first", context)
    context = stage.context(run="tested-222222.2")
    lost = {"role": "user", "text": "the second", "prompt": "the second", "run": context.run}
    context.append_messages(session, [json.dumps(lost)])
    async with stage.agent() as agent:
        answer = await agent.recover(session, "the second", context)
    assert answer.text == "I heard: the second"


@pytest.mark.spec("S14")
async def test_a_recovered_agent_learns_which_calls_may_have_been_carried_out(stage: Stage) -> None:
    context = stage.context()
    async with stage.agent() as agent:
        session = await agent.open(context)
        asking = asyncio.create_task(agent.prompt(session, "RUN touch begun; sleep 600", context))
        while not (stage.project / "begun").exists():
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])
    async with stage.agent() as agent:
        await agent.recover(session, "RUN touch begun; sleep 600", context)
    *_, note = stage.prompts()
    assert "You were interrupted" in note
    assert 'shell {"command": "touch begun; sleep 600"}' in note
