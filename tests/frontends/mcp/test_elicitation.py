"""A person is asked through the client, in both protocols; unanswered tasks stay proposed."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

import pytest

from errands.engine.approval.question_facts import facts_of, headline
from errands.frontends.mcp import elicitation
from errands.ports.store import Query
from errands.testing.engines import TestEngine, embedded
from errands.text import Look
from errands.text.question import question
from tests.frontends.mcp.conversation import (
    BESIDE_THE_POINT,
    DISMISSED,
    ERAS,
    NO,
    NOT_CHOSEN,
    REJECTED,
    SESSION,
    YES,
    YES_ALWAYS,
    YES_FOR_THE_TASK,
    Person,
    call,
    choices,
    connected,
    text,
)

pytestmark = [pytest.mark.spec("X5"), pytest.mark.parametrize("era", ERAS)]
HARMFUL = "rm -r precious"


@pytest.fixture
def reading_time() -> float:
    """How many seconds a person needs at least to have read a form."""
    return elicitation._READ.total_seconds()


@pytest.fixture(autouse=True)
def _no_reading_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every answer count at once, except in the tests of that time."""
    if "reading_time" not in request.fixturenames:
        monkeypatch.setattr(elicitation, "_READ", timedelta())


@pytest.mark.spec("A8")
async def test_an_accepted_command_runs_in_the_name_of_the_person(
    engine: TestEngine, project: Path, era: str
) -> None:
    person = Person(YES)
    async with connected(engine, era, person=person) as client:
        result = await call(client, "run", command=HARMFUL, wait=20_000)

    assert (result.is_error, result.structured_content["state"]) == (False, "completed")
    assert not (project / "precious").exists()
    (asked,) = person.asked
    assert HARMFUL in asked
    assert str(project) in re.sub(r"\n *┆ ", "", asked)  # a long line is wrapped
    assert "cannot be undone" in asked
    approval = engine.engine.audit()[0].approval
    assert (approval.state, approval.by, approval.door) == ("granted", "ada (a-client)", "mcp")


async def test_a_launch_in_the_background_returns_once_it_is_accepted(engine: TestEngine, era: str) -> None:
    async with connected(engine, era, person=Person(YES)) as client:
        result = await call(client, "run", command=HARMFUL)

    assert "proposed" not in text(result)
    (view,) = await engine.list()
    assert (await engine.wait(view.id, timeout=60)).state == "completed"


@pytest.mark.parametrize("answer", [NO, REJECTED], ids=["declined", "rejected"])
async def test_a_declined_command_never_starts(
    engine: TestEngine, project: Path, era: str, answer: object, reading_time: float
) -> None:
    person = Person(answer, reads=reading_time + 0.1)  # type: ignore[arg-type]
    async with connected(engine, era, person=person) as client:
        result = await call(client, "run", command=HARMFUL, wait=20_000)

    assert result.is_error
    assert "Declined by the person asked" in text(result)
    assert (project / "precious").exists()
    approval = engine.engine.audit()[0].approval
    assert (approval.state, approval.by) == ("refused", "ada (a-client)")


@pytest.mark.spec("S7")
async def test_a_session_whose_person_declined_is_not_told_again(engine: TestEngine, era: str) -> None:
    async with connected(engine, era, person=Person(NO), wake="session") as client:
        result = await call(client, "run", command=HARMFUL)

    assert "Declined by the person asked" in text(result)
    (view,) = await engine.list(states=("rejected",))
    assert view.owner == SESSION
    # A notice that is held back for a while would be there.
    assert engine.engine.store.inbox(SESSION) == []


@pytest.mark.spec("A4")
@pytest.mark.usefixtures("reading_time")
@pytest.mark.parametrize("answer", [NO, REJECTED], ids=["declined", "rejected"])
async def test_a_form_that_no_person_can_have_read_leaves_the_task_proposed(
    engine: TestEngine, project: Path, era: str, answer: object
) -> None:
    """Programs that run without a person declare that they show forms, and decline them at once."""
    async with connected(engine, era, person=Person(answer)) as client:  # type: ignore[arg-type]
        result = await call(client, "run", command=HARMFUL, wait=20_000)

        (view,) = await engine.list()
        assert view.state == "proposed"
        assert f"errands approve {view.id}" in text(result)
        assert engine.engine.audit()[0].approval.state == "waiting"


@pytest.mark.spec("X18")
@pytest.mark.parametrize(
    ("dialect", "tool", "more"),
    [
        ("native", "run", {}),
        ("claude", "Bash", {"run_in_background": True}),
        ("claude", "Bash", {}),
        ("co", "start_background_task", {"description": "tidy up"}),
    ],
)
async def test_a_declined_command_is_reported_as_started_nowhere(
    engine: TestEngine, era: str, dialect: str, tool: str, more: dict[str, object]
) -> None:
    async with connected(engine, era, person=Person(NO), dialect=dialect) as client:
        result = await call(client, tool, command=HARMFUL, **more)

    (view,) = await engine.list(states=("rejected",))
    said = f"Declined by the person asked: {view.id} did not start and will not."
    assert (result.is_error, text(result)) == (True, said)
    facts = result.structured_content
    assert facts is not None
    assert facts["error"] == said
    assert facts.get("state", facts.get("status")) in ("rejected", "cancelled")
    assert "tarted" not in str({**facts, "error": "", "display": facts.get("display", "").replace(said, "")})


@pytest.mark.spec("A5")
@pytest.mark.parametrize(
    "answer",
    [DISMISSED, NOT_CHOSEN, BESIDE_THE_POINT],
    ids=["dismissed", "not chosen", "beside the point"],
)
async def test_an_unanswered_question_leaves_the_task_proposed(
    engine: TestEngine, project: Path, era: str, answer: object, reading_time: float
) -> None:
    """Sending the form as it came is no answer: some clients offer that before anything is chosen."""
    person = Person(answer, reads=reading_time + 0.1)  # type: ignore[arg-type]
    async with connected(engine, era, person=person) as client:
        result = await call(client, "run", command=HARMFUL, wait=20_000)

        (view,) = await engine.list()
        assert view.state == "proposed"
        assert f"errands approve {view.id}" in text(result)
        assert len(person.asked) == 1
        await engine.approve(view.id, by="bob")
        assert (await call(client, "wait", id=view.id)).structured_content["state"] == "completed"
    assert not (project / "precious").exists()


@pytest.mark.trap(70)
async def test_a_client_that_cannot_ask_is_told_how_to_approve(engine: TestEngine, era: str) -> None:
    async with connected(engine, era) as client:
        result = await call(client, "run", command=HARMFUL, wait=20_000)

    (view,) = await engine.list()
    assert view.state == "proposed"
    assert f"errands approve {view.id}" in text(result)


async def test_reading_about_a_proposed_task_asks_for_nothing(engine: TestEngine, era: str) -> None:
    person = Person(DISMISSED)
    async with connected(engine, era, person=person) as client:
        await call(client, "run", command=HARMFUL)
        (view,) = await engine.list()
        await call(client, "show", id=view.id)
        await call(client, "wait", id=view.id, timeout=10)

    assert len(person.asked) == 1


@pytest.mark.trap(8)
async def test_no_person_is_asked_inside_a_run(
    engine: TestEngine, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_RUN_ID", "sleep-abcdef.1")
    person = Person(YES)
    async with connected(engine, era, person=person) as client:
        await call(client, "run", command=HARMFUL)

    assert person.asked == []
    assert [view.state for view in await engine.list()] == ["proposed"]


async def test_no_person_is_asked_where_only_a_terminal_may_answer(
    own_home: Path, project: Path, era: str
) -> None:
    person = Person(YES)
    async with (
        embedded(str(own_home), yes=False, **{"approval.yes": "false"}) as strict,
        connected(strict, era, person=person) as client,
    ):
        await call(client, "run", command=HARMFUL)

        assert [view.state for view in await strict.list()] == ["proposed"]
    assert person.asked == []


@pytest.mark.parametrize("padding", [" " * 5000, "\n" * 80], ids=["long", "tall"])
async def test_no_person_is_asked_about_a_command_that_a_form_cannot_show(
    engine: TestEngine, project: Path, era: str, padding: str
) -> None:
    person = Person(YES)
    async with connected(engine, era, person=person) as client:
        result = await call(client, "run", command=f"echo harmless;{padding}{HARMFUL}")

    assert person.asked == []
    assert "errands approve" in text(result)
    assert (project / "precious").exists()


@pytest.mark.trap(9)
async def test_a_command_cannot_draw_on_the_form(engine: TestEngine, era: str) -> None:
    person = Person(DISMISSED)
    async with connected(engine, era, person=person) as client:
        await call(client, "run", command="rm -r precious #\x1b[2K\rls \u202e harmless")

    assert all(each.isprintable() for each in person.asked[0].split("\n"))
    assert "rm -r precious #<U+001B>[2K<U+000D>ls <U+202E> harmless" in person.asked[0]


async def test_a_form_shows_what_every_other_question_shows(
    engine: TestEngine, project: Path, era: str
) -> None:
    person = Person(DISMISSED)
    async with connected(engine, era, person=person) as client:
        await call(client, "run", command=HARMFUL)

    (view,) = engine.engine.list(Query(states=("proposed",)))
    view = engine.engine.get(view.id)
    facts = facts_of(engine.engine, os.environ, view)
    shown = question(facts, Look(colour=False, unicode=True, columns=80))
    assert person.asked == ["\n".join([headline(view), *shown])]


@pytest.mark.spec("A14")
async def test_a_person_can_approve_for_the_whole_task_of_an_agent(
    engine: TestEngine, project: Path, era: str
) -> None:
    person = Person(YES_FOR_THE_TASK)
    async with connected(engine, era, person=person) as client:
        prompt = f"`{HARMFUL}` and `echo between` and `{HARMFUL}`"
        result = await call(client, "ask", prompt=prompt, agent="offline", wait=60_000)

    assert len(person.asked) == 1, text(result)
    commands = [each for each in await engine.list() if each.command == HARMFUL]
    (agent,) = [each for each in await engine.list() if each.agent is not None]
    approvers = ["ada (a-client)", f"ada (a-client) (for {agent.id})"]
    assert sorted(each.approved_by or "" for each in commands) == approvers


@pytest.mark.spec("A14")
async def test_a_form_offers_the_answers_of_every_frontend(engine: TestEngine, era: str) -> None:
    person = Person(YES_ALWAYS, DISMISSED)
    async with connected(engine, era, person=person) as client:
        await call(client, "run", command=HARMFUL)
        await call(client, "run", command="sh -c 'rm -r other'")

    assert [choices(each) for each in person.schemas] == [
        ["reject", "approve once", "always approve"],
        ["reject", "approve once"],
    ]
    # Nothing is chosen for the person.
    assert not [each for each in person.schemas if "default" in each["properties"]["answer"]]
    (standing,) = engine.engine.standing_approvals()
    assert (standing.command, standing.by) == (HARMFUL, "ada (a-client)")


@pytest.mark.spec("A6", "A8")
async def test_what_an_agent_may_do_is_asked_about_at_its_start(
    engine: TestEngine, project: Path, era: str
) -> None:
    person = Person(YES)
    async with connected(engine, era, person=person) as client:
        rules = ["rm -r *"]
        result = await call(client, "ask", prompt=f"`{HARMFUL}`", agent="offline", allow=rules, wait=60_000)

    assert not result.is_error, text(result)
    (asked,) = person.asked
    assert "lets the agent run `rm -r *` without asking" in asked
    assert not (project / "precious").exists()


@pytest.mark.spec("A8")
async def test_a_question_of_an_agent_is_asked_while_a_call_waits_for_it(
    engine: TestEngine, project: Path, era: str
) -> None:
    person = Person(YES)
    async with connected(engine, era, person=person) as client:
        result = await call(client, "ask", prompt=f"`{HARMFUL}`", agent="offline", wait=30_000)

    assert not result.is_error, text(result)
    assert len(person.asked) == 1
    assert not (project / "precious").exists()
