"""A typed line is never destroyed, whatever is shown meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.frontends.chat.window import BACKSPACE, ENTER, INTERRUPT, Window
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer


def name_of(window: Window) -> str:
    found = re.search(r"chat:\w+", window.text)
    assert found, window.text
    return found[0]


@pytest.mark.spec("X6", "N3")
@pytest.mark.trap(2)
def test_a_storm_of_messages_leaves_the_typed_line_and_every_message_intact(
    person: Person, window: Window
) -> None:
    name = name_of(window)
    words = "say the quick brown fox jumps over the lazy dog, and whatever comes in between, it is all there"
    ids = []
    for number, start in enumerate(range(0, len(words), 12)):
        # From another process, while the person types: results are reported in the middle of a word.
        ids.append(person.types("run", "-q", f"echo {number}", ERRANDS_SESSION=name).out.strip())
        window.types(words[start : start + 12])
    for each in ids:
        window.shows(f"─ background: {each} ─")
    window.shows_at_the_end(words)
    shown = window.text

    window.types(ENTER)
    window.shows("no model is set up")

    every = person.types("ls", "--json", "--all").objects
    assert [each["prompt"] for each in every if each["key"] == name] == [words]
    for each in ids:
        frame = re.search(rf"─── background: {each} ─+\n{each} completed in .*\n(?:.*\n){{1,4}}?─+\n", shown)
        assert frame, f"{each} is not framed whole:\n{shown}"
        assert words[:12] not in frame[0]
    assert shown.rstrip().endswith(words[-20:])


@pytest.mark.spec("X6")
def test_an_answer_streams_above_the_line_being_typed(
    open_window: Callable[..., Window], model: ModelServer
) -> None:
    window = open_window()
    said = "one two three four five six seven eight nine ten eleven twelve"
    # Pasted: a line break within brackets is not ENTER.
    window.types(f"\x1b[200~DRIP 0.5\nSAY {said}\x1b[201~")
    window.types(ENTER)
    window.until(lambda: window.text.count("one two") == 2, "the beginning of the answer")
    seen = window.text
    window.types("meanwhile I type")
    window.shows_at_the_end("meanwhile I type")
    during = window.text
    window.shows("twelve", times=2)

    assert "You are talking with a person" in model.asked_for("eleven twelve")[0].text
    assert seen.count("twelve") == 1, "it was there all at once"
    assert during.rstrip().endswith("> meanwhile I type")
    window.until(lambda: window.line == "> meanwhile I type", "the line as it was")
    assert window.text.count(said) == 2
    window.types(BACKSPACE * 20)


@pytest.mark.spec("X6")
def test_ctrl_c_interrupts_the_answer_and_leaves_the_line(window: Window) -> None:
    window.enters("run `sleep 610`")
    window.shows("[command] sleep 610")
    window.types("half a thought")
    window.shows_at_the_end("half a thought")
    window.types(INTERRUPT)
    window.shows("(interrupted)")

    window.until(lambda: window.line == "> half a thought", "the line as it was")
    window.types(INTERRUPT)  # without an answer it clears the line, as in a shell
    window.until(lambda: window.line == ">", "an empty line")
    window.enters("run `echo still here`")
    window.shows("\nstill here")
    window.leaves()


@pytest.mark.spec("X6")
def test_commands_and_ids_are_completed(person: Person, window: Window) -> None:
    task = person.finishes("--name", "completed-thing", "true")
    window.types("/sta\t")
    window.shows_at_the_end("/status")
    window.types(" completed-th\t")
    window.shows_at_the_end(task)
    window.types(ENTER)
    window.shows(f"{task}  ✓ completed")
    window.types("/tasks comp\t")
    window.shows_at_the_end("/tasks completed")


@pytest.mark.spec("X6")
def test_input_history_is_kept_for_the_next_chat(person: Person, open_window: Callable[..., Window]) -> None:
    first = open_window("--agent", "offline")
    first.enters("/schedule")
    first.leaves()
    second = open_window("--agent", "offline")
    second.types("\x1b[A")
    second.shows_at_the_end("/schedule")

    assert (person.home / "chat" / "history").stat().st_mode & 0o077 == 0


@pytest.mark.spec("X6", "A5")
@pytest.mark.trap(8)
def test_a_yes_that_was_begun_before_the_question_does_not_answer_it(person: Person, window: Window) -> None:
    window.types("y")
    window.until(lambda: window.line == "> y", "the letter")
    asked = person.types("propose", "echo hello", ERRANDS_SESSION=name_of(window)).proposal
    window.until(lambda: window.line == f"{asked} [y/a/n] > y", "the question beside it")
    window.types(ENTER)
    window.shows(f"sent to the agent, because {asked} began to ask while you were typing")
    window.shows("the prompt quotes no command")

    assert person.sees(asked)["state"] == "proposed"
    window.enters("no")
    window.shows(f"rejected {asked}; it will not start")
    window.leaves()


@pytest.mark.spec("X6")
def test_the_line_after_ctrl_c_is_repeated_with_its_own_prompt(window: Window, tmp_path: Path) -> None:
    window.types(f"/run rm -r {tmp_path}\r")
    window.until(lambda: window.line == "Start it? y once, a always, n no [y/a/N]", "the question")
    window.types(INTERRUPT)
    window.shows("rejected rm-")
    window.until(lambda: window.line == ">", "an empty line")
    window.enters("/quit now")

    window.until(window.has_ended, "the end")
    assert "\n> /quit now" in window.text
    assert "N] /quit" not in window.text
    assert tmp_path.exists()
