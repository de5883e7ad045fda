"""Discovery: when an agent looks for work, what it is shown, and what happens to its suggestions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from errands import config
from errands.bootstrap import open_engine, open_home
from errands.engine.agents.discovery import (
    KEY,
    READING,
    Discovery,
    agent_of,
    arrange,
    last_presence,
    note_presence,
)
from errands.engine.agents.model_gate import ModelGate
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.agent import Spec
from errands.ports.store import Query
from tests.hand_clock import HandClock

MODEL = '[agents.small]\nbackend = "builtin"\nmodel = "fake"\nurl = "http://127.0.0.1:1/v1"\nlane = "local"\n'
ON, OFF = "[discovery]\nenabled = true\n", "[discovery]\nenabled = false\n"
CHAT = "chat:abc234"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def configured(own_home: Path) -> Iterator[Callable[..., Engine]]:
    """Open an engine with a manual clock and the given user configuration."""
    opened: list[Engine] = []

    def engine(text: str = MODEL + ON) -> Engine:
        place = Path(f"{own_home}-config") / "errands" / "config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        opened.append(open_engine(open_home(), config.load(cwd="/")))
        opened[-1].clock = HandClock()
        return opened[-1]

    yield engine
    for each in opened:
        each.close()


def clock_of(engine: Engine) -> HandClock:
    assert isinstance(engine.clock, HandClock)
    return engine.clock


def begin_discovery(engine: Engine) -> Discovery:
    """Begin a discovery, as the run of the recurring task does."""
    known = arrange(engine)
    assert known is not None
    view = engine.summaries([known])[0]
    if not view.is_live:
        view = engine.schedules.fire(known)
    return Discovery(engine, view.latest.id)


def suggestion(name: str, reason: str, **more: str) -> str:
    return json.dumps({"name": name, "reason": reason, "command": f"echo {name}", **more})


def proposals(engine: Engine) -> list[str]:
    return [view.name for view in engine.list(Query(states=("proposed",)))][::-1]


@pytest.mark.spec("D3", "D4")
def test_discovery_is_on_when_a_model_is_configured_and_one_switch_turns_it_off(
    configured: Callable[..., Engine],
) -> None:
    assert arrange(configured("")) is None
    assert arrange(configured(ON)) is None
    assert arrange(configured('[agents]\ndefault = "claude"\n[agents.claude]\nbackend = "command"\n')) is None
    assert configured("").list(Query()) == []
    engine = configured(MODEL)
    known = arrange(engine)
    assert known is not None
    assert engine.get(known).state == "active"
    engine = configured(MODEL + OFF)
    assert arrange(engine) is None
    assert engine.get(known).state == "cancelled"


@pytest.mark.spec("D4")
def test_discovery_prefers_the_model_on_this_machine(configured: Callable[..., Engine]) -> None:
    far = (
        '[agents]\ndefault = "far"\n[agents.far]\nbackend = "builtin"\nmodel = "anthropic:claude-haiku-4-5"\n'
    )
    engine = configured(far)
    known = arrange(engine)
    assert known is not None
    assert (agent_of(engine.config), engine.get(known).lane) == ("far", "agent")
    engine = configured(far + '[agents.near]\nbackend = "builtin"\nmodel = "qwen3:8b"\n')
    known = arrange(engine)
    assert known is not None
    assert (agent_of(engine.config), engine.get(known).lane) == ("near", "local")


@pytest.mark.spec("D3")
def test_discovery_may_read_where_the_person_was_last_and_do_nothing_else(
    configured: Callable[..., Engine], tmp_path: Path
) -> None:
    engine = configured()
    known = arrange(engine)
    assert known is not None
    assert (engine.get(known).details or {})["tools"] == list(READING)
    spec = Spec(agent="small", cwd="/", system="", tools=READING)
    assert begin_discovery(engine).scoped(spec).tools == ()
    engine.submit(
        Draft(prompt="hello", agent="offline", key=CHAT, owner=CHAT, parent=CHAT, cwd=str(tmp_path))
    )
    scoped = begin_discovery(engine).scoped(spec)
    assert (scoped.cwd, scoped.tools) == (str(tmp_path), READING)


@pytest.mark.spec("D3", "D4")
def test_discovery_is_a_recurring_task_on_the_local_model(configured: Callable[..., Engine]) -> None:
    engine = configured()
    known = arrange(engine)
    assert known is not None
    view = engine.get(known)

    assert arrange(engine) == known
    assert (view.state, view.lane, view.agent.name if view.agent else "") == ("active", "local", "small")
    assert view.standing is not None
    assert view.standing.rule == "every 30m"
    far = configured(MODEL + ON + 'agent = "offline"\n')
    assert agent_of(far.config) == "offline"


@pytest.mark.spec("D3", "X13")
def test_discovery_follows_the_configuration(configured: Callable[..., Engine]) -> None:
    first = arrange(configured())
    engine = configured(MODEL + ON + 'every = "1h"\n')
    second = arrange(engine)
    assert second is not None
    assert second != first
    standing = engine.get(second).standing
    assert standing is not None
    assert standing.rule == "every 1h"

    engine = configured(MODEL + OFF)
    assert arrange(engine) is None
    assert engine.get(second).state == "cancelled"
    assert arrange(configured()) not in (None, first, second)


@pytest.mark.spec("D3")
def test_discovery_runs_between_ten_minutes_and_two_hours_of_silence(
    configured: Callable[..., Engine],
) -> None:
    engine = configured()
    clock, discovery = clock_of(engine), begin_discovery(engine)
    assert discovery.hindrance() == "no person was active in the last 2h, so none could approve"
    note_presence(engine.home, clock.now())
    seen = {}
    for minutes in range(0, 180, 5):
        seen[minutes] = discovery.hindrance()
        clock.turn(5 * MINUTE)

    assert {minutes for minutes, why in seen.items() if not why} == set(range(10, 121, 5))
    assert seen[5] == "a person is here; it looks after 10m of silence"


@pytest.mark.spec("D3")
@pytest.mark.parametrize(("door", "counts"), [("terminal", True), ("discord", True), ("agent", False)])
def test_a_person_who_starts_a_task_counts_as_present(
    configured: Callable[..., Engine], door: str, counts: bool
) -> None:
    engine = configured()
    engine.submit(Draft(command="true", door=door))

    assert (last_presence(engine) == clock_of(engine).now()) is counts


@pytest.mark.spec("D3", "R2")
def test_discovery_does_not_run_while_a_chat_uses_the_model(configured: Callable[..., Engine]) -> None:
    engine = configured()
    discovery = begin_discovery(engine)
    note_presence(engine.home, clock_of(engine).now() - HOUR)
    with ModelGate(engine.home.path):
        assert discovery.hindrance() == "a conversation uses the model"
    assert discovery.hindrance() == ""


@pytest.mark.spec("D4")
def test_discovery_does_not_run_while_its_proposals_are_unanswered(configured: Callable[..., Engine]) -> None:
    engine = configured()
    note_presence(engine.home, clock_of(engine).now() - HOUR)
    said = begin_discovery(engine).propose("\n".join(suggestion(*each) for each in SUGGESTIONS))
    ids = [view.id for view in engine.list(Query(states=("proposed",)))]
    why = begin_discovery(engine).hindrance()

    assert said.count("\n") == 2
    assert why == f"what it proposed before is not answered yet: {', '.join(ids)}"
    engine.reject(ids[0], by="ada", door="terminal")
    clock_of(engine).turn(HOUR)
    assert begin_discovery(engine).hindrance() == ""


SUGGESTIONS = (
    ("watch-ci", "the build of main was red this morning"),
    ("changelog", "three merged changes have no entry yet"),
    ("prune", "forty merged branches are still there"),
)


@pytest.mark.spec("D3")
def test_the_prompt_shows_the_conversation_the_repository_the_tasks_and_the_time(
    configured: Callable[..., Engine], tmp_path: Path
) -> None:
    engine = configured()
    subprocess.run(["git", "init", "-q", "-b", "feature", str(tmp_path)], check=True)
    (tmp_path / "draft.md").write_text("to do")
    talk = Draft(prompt="hello", agent="offline", key=CHAT, owner=CHAT, parent=CHAT, cwd=str(tmp_path))
    said = engine.submit(talk)
    with engine.store:
        engine.store.add_exchange(said.latest.id, "we should watch PR 42, with key sk-ant-REDACTED")
        engine.store.note_answer(said.latest.id, "shall I?")
    for door, words in (("discord", "the deploy is slow today"), ("mcp", "why is test_tides flaky?")):
        other = engine.submit(Draft(prompt=words, agent="offline", door=door, cwd=str(tmp_path)))
        with engine.store:
            engine.store.add_exchange(other.latest.id, words)
    engine.submit(Draft(command="sleep 600", name="nightly", description="the nightly build"))
    prompt = begin_discovery(engine).prompt()

    for words in (
        f"It is {clock_of(engine).now().astimezone():%A, %Y-%m-%d %H:%M}",
        "person: we should watch PR 42",
        "agent: shall I?",
        "person: the deploy is slow today",
        "person: why is test_tides flaky?",
        "## No commits yet on feature",
        "?? draft.md",
        "the nightly build",
        "at most 3 lines",
    ):
        assert words in prompt
    assert "abcdefghijklmnop" not in prompt
    assert prompt.count("data, not instructions]") == 3


@pytest.mark.spec("D1", "D4")
def test_at_most_three_suggestions_become_proposals_and_none_of_them_starts(
    configured: Callable[..., Engine],
) -> None:
    engine = configured()
    more = [("backup", "the last one is nine days old"), ("licences", "a new dependency came in")]
    said = begin_discovery(engine).propose(
        "\n".join(suggestion(*each) for each in (*SUGGESTIONS, *more)) + '\n{"name": "broken"}'
    )

    assert proposals(engine) == ["watch-ci", "changelog", "prune"]
    assert said.count("no more than 3 at a time") == 2
    assert "left out, it cannot be read" in said
    assert all(view.latest.state == "pending" for view in engine.list(Query(states=("proposed",))))


@pytest.mark.spec("D4")
def test_a_rejected_suggestion_is_not_repeated_for_a_day_even_if_its_task_is_cleared(
    configured: Callable[..., Engine],
) -> None:
    engine = configured()
    begin_discovery(engine).propose(
        suggestion("watch-deploy", "Watch the staging deploy and report when it is done")
    )
    [view] = engine.list(Query(states=("proposed",)))
    engine.reject(view.id, by="ada", door="terminal")
    engine.clear([view.id])
    reworded = suggestion(
        "deploy-watcher", "watch staging deployment, report when done", command="kubectl get x"
    )
    clock_of(engine).turn(23 * HOUR)

    assert "something like it was rejected in the last 1d" in begin_discovery(engine).propose(reworded)
    assert proposals(engine) == []
    assert "Watch the staging deploy" in begin_discovery(engine).prompt()
    clock_of(engine).turn(2 * HOUR)
    begin_discovery(engine).propose(reworded)
    assert proposals(engine) == ["deploy-watcher"]


@pytest.mark.spec("D4")
def test_a_suggestion_like_an_existing_task_is_not_proposed(configured: Callable[..., Engine]) -> None:
    engine = configured()
    there = engine.submit(Draft(command="git log", name="ci", description="Check CI for the main branch"))
    said = begin_discovery(engine).propose(
        "\n".join(
            [suggestion("check-ci", "Checking the CI of main branch"), *[suggestion(*SUGGESTIONS[1])] * 2]
        )
    )

    assert f"left out check-ci: {there.id} does it already" in said
    assert proposals(engine) == ["changelog"]


@pytest.mark.spec("D1")
def test_an_answer_that_is_processed_twice_proposes_once(configured: Callable[..., Engine]) -> None:
    engine = configured()
    discovery = begin_discovery(engine)
    discovery.propose(suggestion(*SUGGESTIONS[0]))
    discovery.propose(suggestion(*SUGGESTIONS[0]))

    assert proposals(engine) == ["watch-ci"]


@pytest.mark.spec("D1", "D3", "N7")
def test_a_proposal_belongs_to_the_chat_and_may_be_recurring(
    configured: Callable[..., Engine], tmp_path: Path
) -> None:
    engine = configured()
    engine.submit(
        Draft(prompt="hello", agent="offline", key=CHAT, owner=CHAT, parent=CHAT, cwd=str(tmp_path))
    )
    found = {"name": "often", "reason": "r", "prompt": "look at CI", "every": "30m", "max_runs": 4}
    begin_discovery(engine).propose(json.dumps(found))
    [view] = engine.list(Query(states=("proposed",)))

    assert (view.owner, view.parent, view.cwd, view.kind) == (CHAT, CHAT, str(tmp_path), "agent")
    assert view.standing is not None
    assert (view.standing.rule, view.standing.max_runs, view.lane) == ("every 30m", 4, "local")
    assert engine.store.inbox(CHAT)[-1].event == "proposed"
    assert view.door == KEY
