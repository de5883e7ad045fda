"""The loop of a chat: its agent starts slow work, goes on, is told the result, and uses it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.builtin_stage import call
from tests.frontends.chat.test_turns import pasted
from tests.frontends.chat.window import BACKSPACE, Window
from tests.frontends.cli.person import Person
from tests.model_server import Asked, ModelServer

TOOLS = {"run", "ask", "tasks", "show", "output", "wait", "cancel", "control", "edit", "lanes"}


def asked_last(model: ModelServer, words: str) -> Asked:
    """Return the newest request with these words in its prompt."""
    return model.asked_for(words)[-1]


def said_before(asked: Asked) -> str:
    """Return what a request tells the model besides the newest prompt."""
    return asked.text.replace(asked.prompt, "")


@pytest.mark.spec("X16", "N6", "N10")
def test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result(
    person: Person, open_window: Callable[..., Window], model: ModelServer
) -> None:
    window = open_window()
    news = person.cwd / "news"
    os.mkfifo(news)  # so that the command ends when we say so
    window.types(
        pasted(
            call("run", command="cat news; echo test_tides failed", name="suite"),
            call("ask", prompt="SAY the tide is 4.20 m", name="tide"),
            "SAY both are on their way",
        )
    )
    window.shows("\nboth are on their way")
    window.shows("─ background: tide-")
    window.enters("SAY something else meanwhile")
    window.shows("something else meanwhile", times=2)
    assert "─ background: suite-" not in window.text
    news.write_text("41 passed, 1 failed\n")
    window.shows("─ background: suite-")
    window.until(lambda: re.search(r"suite-\w+ completed in", window.text), "how it ended")
    window.types("RECALL test_tides failed")
    window.types("\r")
    window.shows("\nrecalled")

    frame = re.search(r"─── background: (suite-\w+) ─+\n(?:.*\n)*?─+\n", window.text)
    assert frame is not None, window.text
    assert "> 41 passed, 1 failed\n> test_tides failed\n" in frame[0]
    assert "\nprompt: SAY the tide is 4.20 m\n> the tide is 4.20 m\n" in window.text
    assert f"More: /show {frame[1]}" in frame[0]
    assert "> the tide is 4.20 m" in window.text
    assert asked_last(model, "RECALL test_tides").offers >= TOOLS
    assert "when you are not sure, offer it" in asked_last(model, "RECALL test_tides").text
    told = said_before(asked_last(model, "RECALL test_tides"))
    assert told.count(f"{frame[1]} completed in") == 1
    assert told.count("> test_tides failed") == 1
    assert told.count("> the tide is 4.20 m") == 1
    window.enters("SAY once is enough")
    window.shows("\nonce is enough")
    assert said_before(asked_last(model, "once is enough")).count("> test_tides failed") == 1
    assert window.text.count(f"─ background: {frame[1]} ─") == 1
    window.leaves()


@pytest.mark.spec("X16", "S17", "S8", "S2")
def test_the_agent_forks_its_own_conversation_and_resumes_the_copy(
    open_window: Callable[..., Window], model: ModelServer
) -> None:
    window = open_window()
    window.enters("SAY the code word is heron")
    window.shows("\nthe code word is heron")
    window.types(
        pasted(call("ask", prompt="RECALL code word is heron", fork=True, name="copy"), "SAY it is forked")
    )
    window.shows("\nit is forked")
    window.shows("\n> recalled")
    [copy] = re.findall(r"─ background: (copy-\w+) ─", window.text)
    [forked] = [each for each in model.asked_for("RECALL code word") if "CALL ask" not in each.prompt]
    assert "This session is a fork" in forked.text
    assert "You are executing a background task" in forked.text

    window.types(pasted("SAY the heron has flown", call("ask", prompt="RECALL heron has flown", resume=copy)))
    window.shows("\nthe heron has flown")
    window.shows("\n> forgotten")  # the copy has nothing that was said after it was made
    window.types(pasted(call("wait", id=copy), "RECALL This session is a fork"))
    window.shows("\nforgotten")  # the fork's preamble is in the fork alone
    window.leaves()


@pytest.mark.spec("X16", "X6", "D1", "D2", "A8", "N6")
def test_a_person_answers_what_the_agent_proposes_with_y_or_n_and_it_goes_on(
    person: Person, open_window: Callable[..., Window], model: ModelServer, tmp_path: Path
) -> None:
    window = open_window()
    for answer, name in (("y", "wanted"), ("n", "unwanted"), ("YES", "also")):
        command = f"touch {tmp_path}/{name}; echo made {name}"
        window.types(pasted(call("run", command=command, name=name), f"SAY {name} is proposed"))
        window.shows(f"\n{name} is proposed")
        window.until(lambda: re.fullmatch(r"\w+-\w+ \[y/t/a/n\] >", window.line), "the question")
        assert not (tmp_path / name).exists()
        window.enters(answer)
        window.shows(f"{'rejected' if answer == 'n' else 'approved'} {name}-")
        window.until(lambda: window.line == ">", "no question any more")
        if answer != "n":
            window.shows(f"> made {name}")
    window.types(pasted("RECALL > made wanted", "RECALL > made unwanted"))
    window.shows("\nrecalled\nforgotten")

    assert sorted(each.name for each in tmp_path.iterdir()) == ["also", "wanted"]
    [task] = set(re.findall(r"approved (wanted-\w+)", window.text))
    [entry] = [each for each in person.types("audit", "--json").objects if each["task"] == task]
    assert (entry["by"], entry["door"]) == ("ada", "chat")
    assert model.asked_for('"name": "unwanted"')[-1].text.count("a person's approval") >= 1
    window.leaves()


@pytest.mark.spec("X10", "X16")
def test_a_turn_of_the_chat_is_the_parent_span_of_what_its_agent_starts(
    person: Person, open_window: Callable[..., Window]
) -> None:
    window = open_window()
    window.types(pasted(call("run", command="echo traced", name="traced"), "SAY it is started"))
    window.shows("\nit is started")
    window.shows("\n> traced")
    [task] = re.findall(r"─ background: (traced-\w+) ─", window.text)
    spans = person.types("trace", "--json", task).objects
    ids = {each["span_id"]: each for each in spans}

    span = next(each for each in spans if each["name"] == "background_task_execute")
    above, trace = [span["name"]], span["trace_id"]
    while span["parent_id"] in ids:
        span = ids[span["parent_id"]]
        assert span["trace_id"] == trace
        above.append(span["name"])
    assert above == [
        "background_task_execute",
        "background_task_start",
        "execute_tool run",
        "invoke_agent builtin",
        "chat_turn",
    ]
    assert "chat_turn" in person.types("trace", task).out
    window.leaves()


@pytest.mark.spec("X16", "N6")
def test_the_agent_goes_on_by_itself_when_what_it_started_ends_and_nobody_types(
    person: Person, open_window: Callable[..., Window], model: ModelServer
) -> None:
    def alone() -> list[Asked]:
        return [each for each in model.asked_for("No person typed this") if "gate is open" in each.text]

    window = open_window()
    gate = person.cwd / "gate"
    os.mkfifo(gate)
    window.types(pasted(call("run", command="cat gate", name="gated"), "SAY I will tell you"))
    window.shows("\nI will tell you")
    window.types("half a thought")
    window.shows_at_the_end("half a thought")
    gate.write_text("the gate is open\n")
    window.shows("> the gate is open")
    assert alone() == []  # the person is typing

    window.types(BACKSPACE * len("half a thought"))  # Ctrl-C could still mean the first answer
    window.until(alone, "a turn without a message")
    text = window.shows("ended; the agent continues")
    assert text.index("> the gate is open") < text.index("the agent continues")
    [asked] = alone()
    assert said_before(asked).count("> the gate is open") == 1
    assert "This approves nothing" in asked.prompt

    window.until(lambda: window.line == ">", "an empty line")
    window.enters("/run --name mine echo started by the person")
    window.shows("> started by the person")
    window.enters("SAY nothing else came")
    window.shows("\nnothing else came")
    assert len(alone()) == 1
    window.leaves()


@pytest.mark.spec("X16")
def test_the_agent_waits_for_the_person_if_it_shall_not_go_on_by_itself(
    person: Person, model: ModelServer
) -> None:
    window = Window(person, ERRANDS_AGENTS_CONTINUES="false")
    window.until(lambda: window.line == ">", "a line to type at")
    window.types(pasted(call("run", command="echo calm", name="calm"), "SAY started"))
    window.shows("\n> calm")
    window.enters("RECALL > calm")
    window.shows("\nrecalled")

    assert "the agent continues" not in window.text
    window.leaves()


@pytest.mark.spec("X16", "D1", "T1")
def test_the_agent_schedules_lists_proposes_and_cancels(
    person: Person, open_window: Callable[..., Window], model: ModelServer
) -> None:
    window = open_window()
    window.types(
        pasted(
            call("run", command="echo tick", every="2h", name="ticker"),
            call("run", command="echo harmless", propose=True, name="idea"),
            call("tasks"),
            "SAY all is arranged",
        )
    )
    window.shows("\nall is arranged")
    window.until(lambda: re.fullmatch(r"idea-\w+ \[y/t/a/n\] >", window.line), "the proposal")
    arranged = model.asked_for("all is arranged")[-1]
    [ticker] = set(re.findall(r"Task (ticker-\w+) is active", arranged.text))
    [idea] = set(re.findall(r"Task (idea-\w+) is proposed", arranged.text))
    assert re.search(rf"{ticker} active \[every 2h", arranged.text), arranged.text
    assert person.sees(ticker)["next_run_at"]
    assert person.sees(idea)["state"] == "proposed"

    window.enters("y")
    window.shows("\n> harmless")
    window.types(pasted(call("cancel", id=ticker), "SAY no more ticks"))
    window.shows("\nno more ticks")
    assert person.sees(ticker)["state"] == "cancelled"
    window.leaves()


@pytest.mark.spec("X16")
def test_the_agent_does_not_see_its_own_conversation_among_its_tasks(
    person: Person, open_window: Callable[..., Window], model: ModelServer
) -> None:
    """It would wait for itself until the time-out, and a cancel would end the answer that it is giving."""
    window = open_window()
    window.enters("SAY good morning")
    window.shows("\ngood morning")
    own, *_ = [each["id"] for each in person.types("ls", "--json").objects if each["name"] == "chat"]
    window.types(pasted(call("tasks"), call("wait", id=own), call("cancel", id=own), "SAY on"))
    window.shows("\non")

    asked = model.asked_for("SAY on")[-1].text
    assert "There are no tasks." in asked
    assert asked.count(f"Task not found: {own}") == 2
    assert "conversation of" not in asked
    window.leaves()


@pytest.mark.spec("X16")
@pytest.mark.trap(63)
def test_the_agent_cannot_flood_the_background(person: Person, open_window: Callable[..., Window]) -> None:
    window = open_window()
    waiting = [call("run", command="sleep 600", name=f"flood{number}") for number in range(17)]
    window.types(pasted(*waiting, "SAY that is enough"))
    window.shows("\nthat is enough")

    live = [each for each in person.types("ls", "--json", "--all").objects if each["id"].startswith("flood")]
    assert len(live) == 16
    assert "[run failed] chat:" in window.text
    person.types("cancel", *(each["id"] for each in live))
    window.leaves()
