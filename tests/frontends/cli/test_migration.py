"""The page for people who come from another queue: it is complete, and what it says can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from errands.frontends.cli.parser import Usage, parse
from errands.frontends.cli.verbs import FAMILIES, find, load

PAGE = (Path(__file__).parents[3] / "docs/how-to/migrate.md").read_text()
CODE = re.compile(r"`([^`]+)`")

# The subcommands of pueue 4.0.4 with their long options, from its manual.
PUEUE = {
    "add": "working-directory escape immediate follow stashed delay group after priority label print-task-id",
    "remove": "",
    "switch": "",
    "stash": "group all delay",
    "enqueue": "delay",
    "start": "group all",
    "restart": "all-failed failed-in-group immediate stashed in-place edit",
    "pause": "group all wait",
    "kill": "group all signal",
    "send": "",
    "edit": "",
    "env": "",
    "group": "json",
    "status": "json group",
    "format-status": "",
    "log": "group all json lines full",
    "follow": "",
    "wait": "group all quiet status",
    "clean": "successful-only group",
    "reset": "",
    "shutdown": "",
    "parallel": "group",
    "completions": "",
}
# Options that a row names by their letter.
LETTERS = {"working-directory": "-w", "quiet": "-q"}


def rows(title: str) -> list[tuple[str, str]]:
    """Return the rows of a table below a heading."""
    part = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    table = [line for line in part.splitlines() if line.startswith("| ")]
    found = []
    for line in table[1:]:
        left, right = line.strip("| ").split(" | ", 1)
        found.append((left, right))
    return found


@pytest.mark.spec("X21")
@pytest.mark.parametrize("command", PUEUE)
def test_every_command_and_option_of_pueue_has_an_answer(command: str) -> None:
    answered = [f"{left} {right}" for left, right in rows("pueue") if re.search(rf"`pueue {command}\b", left)]

    assert answered, command
    for option in PUEUE[command].split():
        wanted = (f"--{option}", LETTERS.get(option, f"--{option}"))
        assert any(each in row for row in answered for each in wanted), f"pueue {command} --{option}"


def refusal(words: list[str]) -> str:
    """Return what is wrong with a command line, or an empty string."""
    try:
        name, rest = find(words)
        parse(load(name), rest)
    except Usage as error:
        return str(error)
    return ""


@pytest.mark.spec("X21")
@pytest.mark.parametrize("command", PUEUE)
def test_what_people_type_who_know_pueue_is_understood_or_answered(command: str) -> None:
    helpless = re.compile(r"has no option \S+;? (\(did|see )|put -- before|^unknown verb '\S+?'( \(|; see )")

    assert not helpless.search(refusal([command, "--help"]))
    if not refusal([command, "--help"]):
        said = [refusal([command, f"--{option}", "--help"]) for option in PUEUE[command].split()]
        assert [each for each in said if helpless.search(each)] == []


@pytest.mark.spec("X21")
@pytest.mark.parametrize("title", ["pueue", "task-spooler (tsp)", "nq", "cron"])
def test_every_answer_can_be_typed(title: str) -> None:
    typed = [code for _, right in rows(title) for code in CODE.findall(right) if code.startswith("errands ")]

    assert typed
    for command in typed:
        words = shlex.split(command.replace("...", ""))[1:]
        name, rest = find(words)
        assert name not in FAMILIES, command
        if len(words) > 1:
            parse(load(name), rest)
