"""ls: what runs, what starts next and what ended, whatever the width of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import INTERRUPT, Terminal, ended, plain


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person with a full lane: one task runs, twelve wait, two have ended."""
    place = tmp_path_factory.mktemp("busy")
    person = Person(place / "home", place)
    person.configures("[lanes]\nnarrow = 1\n")
    person.finishes("--name", "first", "true")
    person.finishes("--name", "second", "--batch", "b", "exit 3")
    person.starts("--name", "runs", "--lane", "narrow", "--batch", "b", "--stdin", "read line")
    for number in range(1, 13):
        priority = ("--priority", "high") if number == 12 else ()
        person.starts("--name", f"job-{number}", *priority, "--lane", "narrow", "true")
    person.starts("--name", "later", "--at", "in 4m 30s", "true")
    proposed = person.types("run", "-q", "--name", "wipe", "rm -rf /nowhere", yes=False, code=4).out.strip()
    person.types("reject", proposed)
    yield person
    person.leaves()


def names(text: str) -> list[str]:
    """Return the names of the listed tasks, in their order."""
    return [line.split()[0].rpartition("-")[0] for line in text.splitlines() if re.match(r"[a-z]", line)]


@pytest.mark.spec("X21")
def test_running_tasks_are_first_then_what_starts_next_then_what_ended(busy: Person) -> None:
    said = busy.types("ls").out
    listed = [name for name in names(said) if name]

    assert listed[:3] == ["runs", "job-12", "job-1"], "by priority, then by age, as the queue does"
    assert listed[-2:] == ["second", "first"]
    assert "wipe" not in said


@pytest.mark.spec("X21")
def test_pending_tasks_that_are_left_out_are_counted(busy: Person) -> None:
    lines = busy.types("ls").out.splitlines()
    pending = [line for line in lines if "○ pending" in line]

    assert f"+ {13 - len(pending)} more pending" in lines
    assert lines.index(f"+ {13 - len(pending)} more pending") == lines.index(pending[-1]) + 1
    assert len([line for line in busy.types("ls", "--all").out.splitlines() if "○ pending" in line]) == 13


@pytest.mark.spec("X21")
def test_pending_tasks_alone_are_those_that_start_next(busy: Person) -> None:
    assert names(busy.types("ls", "--state", "pending").out)[:2] == ["job-12", "job-1"]
    terminal = Terminal(busy)
    try:
        said, _ = ended(terminal.types("ls", "--state", "pending", lines=9))
    finally:
        terminal.close()
    lines = plain(said).splitlines()
    assert [line.split()[0].rpartition("-")[0] for line in lines[1:6]] == ["job-12"] + [
        f"job-{number}" for number in range(1, 5)
    ]
    assert lines[6:] == ["+ 8 more pending"]


@pytest.mark.spec("X21")
def test_lanes_and_batches_stand_below_the_list(busy: Person) -> None:
    below = busy.types("ls").out.splitlines()[-1]

    assert below == "lanes narrow 1/1 (12 pending), shell 0/5 (1 pending) · batch b 1/2 ended"


@pytest.mark.spec("X21")
def test_tasks_can_be_listed_by_lane_and_by_when_they_ended(busy: Person) -> None:
    narrow = busy.types("ls", "--lane", "narrow").out
    assert names(narrow)[0] == "runs"
    assert not {"first", "second", "later"} & set(names(narrow))
    waiting = len([line for line in narrow.splitlines() if "○ pending" in line])
    assert f"+ {12 - waiting} more pending" in narrow
    ids = [each["id"] for each in busy.types("ls", "--lane", "narrow", "--json=id").objects]
    assert len(ids) == 13

    assert names(busy.types("ls", "--state", "failed", "--since", "1h").out) == ["second"]
    assert "second" not in names(busy.types("ls", "--since", "1ms").out)
    assert names(busy.types("ls", "--since", "1ms").out)[0] == "runs"
    assert busy.types("ls", "--since", "1ms", "--json=state", "--state", "failed").objects == []
    refused = busy.types("ls", "--since", "soon", code=2).err
    assert refused.startswith("errands: --since: 'soon' is not a time that has passed.")
    assert busy.types("ls", "--lane", "nowhere").out.startswith("no matching tasks")


@pytest.mark.spec("X21")
def test_rejected_tasks_are_listed_with_all_others(busy: Person) -> None:
    assert re.search(r"^wipe-\w+ +✗ rejected", busy.types("ls", "--all").out, re.M)
    assert "rejected" in [view["state"] for view in busy.types("ls", "--all", "--json").objects]
    assert names(busy.types("ls", "--all", "-n", "2").out) == ["later", "wipe"], "the newest two"
    assert [view["name"] for view in busy.types("ls", "-an2", "--json").objects] == ["wipe", "later"]


@pytest.mark.spec("X21")
def test_a_time_in_the_future_is_said_as_such(busy: Person) -> None:
    assert re.search(r"later-\w+ +○ pending .* starts in [45] min", busy.types("ls", "--all").out)


@pytest.mark.spec("X21")
def test_columns_and_fields_can_be_chosen(busy: Person) -> None:
    titles, first, *_ = busy.types("ls", "--columns", "lane,id,priority").out.splitlines()
    objects = busy.types("ls", "--state", "failed", "--json", "name,exit_code,lane").objects

    assert titles.split() == ["LANE", "ID", "PRIORITY"]
    assert first.split()[0] == "narrow"
    assert objects == [{"name": "second", "exit_code": 3, "lane": "shell"}]
    assert busy.types("ls", "--json=id", "--state", "failed").object.keys() == {"id"}
    assert len(busy.types("ls", "--json", "--state", "failed").object) > 50
    for flag, fields in (("--columns", "errands ls --json shows"), ("--json", "--json alone prints")):
        refused = busy.types("ls", flag, "id,stat", code=2).err
        assert f"{flag}: unknown field 'stat' (did you mean state?); {fields} all fields" in refused
        assert len(refused) < 200
    assert "--columns needs the names of fields" in busy.types("ls", "--columns", ",", code=2).err


@pytest.mark.spec("X21")
def test_the_width_of_a_window_holds_behind_a_pipe(busy: Person) -> None:
    for columns in ("40", "60", "80"):
        lines = busy.types("ls", "--all", COLUMNS=columns).out.splitlines()
        assert max(map(len, lines)) <= int(columns)
    wide = busy.types("ls", "--all").out.splitlines()
    assert max(map(len, wide)) > 80

    shrunk = busy.types("ls", COLUMNS="30").out.splitlines()[1].split()[0]
    assert busy.types("show", "--json", shrunk).object["name"] == "runs", "a shrunk id can be typed"


@pytest.mark.spec("X21", "L4")
@pytest.mark.parametrize(("coding", "mark"), [("utf-8", "…"), ("ascii", "~")])
def test_ids_that_begin_alike_lose_their_middle_and_can_be_typed(
    newcomer: Person, coding: str, mark: str
) -> None:
    first, second = [newcomer.finishes("--name", "why-is-the-build-red", "true") for _ in range(2)]
    # The older one is not listed, and counts all the same.
    row = newcomer.types("ls", "-n", "1", COLUMNS="40", PYTHONIOENCODING=coding).out.splitlines()[1]
    shrunk = row.split()[0]

    assert re.fullmatch(rf"why-i.*{mark}{second[-6:]}", shrunk)
    assert newcomer.types("show", "--json", shrunk).object["id"] == second
    assert newcomer.types("clear", "--json", shrunk).object["id"] == second
    assert newcomer.types("show", "--json", f"~{first[-6:]}").object["id"] == first


@pytest.mark.spec("X21")
@pytest.mark.parametrize(
    ("environ", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"FORCE_COLOR": "0", "CLICOLOR_FORCE": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_can_be_forced_and_forbidden(busy: Person, environ: dict[str, str], coloured: bool) -> None:
    assert ("\x1b[36m● running" in busy.types("ls", **environ).out) is coloured  # type: ignore[arg-type]


@pytest.mark.spec("X21")
def test_a_watched_list_keeps_its_titles_and_says_what_is_cut(busy: Person) -> None:
    terminal = Terminal(busy)
    child = terminal.types("ls", "--all", "--watch", columns=80)
    try:
        child.setwinsize(10, 80)
        child.expect(r"\x1b\[H(?:\x1b\[2J)?((?:(?!\x1b\[H)[\s\S])*? more rows[\s\S]*?)Ctrl-C quits")
        lines = plain(child.match[1]).splitlines()  # type: ignore[index]
        child.expect_exact("\x1b[H")  # the next frame is written over the last one:
        child.expect_exact("Ctrl-C quits")
        assert "\x1b[2J" not in (
            child.before or ""
        )  # what is cleared would pile up in the history of the terminal
        child.send(INTERRUPT)

        assert lines[0].split()[:2] == ["ID", "STATE"]
        assert "● running" in lines[1]
        assert ended(child)[1] == 0
    finally:
        terminal.close()


@pytest.mark.spec("X21")
def test_a_command_that_an_agent_runs_stands_under_it(newcomer: Person) -> None:
    agent = newcomer.types("ask", "-q", "`tail -f /dev/null`").out.strip()
    newcomer.waits_until(agent, "waiting", "task")
    first, second = newcomer.types("ls").out.splitlines()[1:3]

    assert first.split()[0] == agent
    assert re.match(r"└ tail-\w+ +● running", second)
    newcomer.types("cancel", agent)
    newcomer.waits_until(second.split()[1], "state", "cancelled")
    assert "└" not in newcomer.types("ls").out
    assert "└ tail-" in newcomer.types("ls", "--all").out
