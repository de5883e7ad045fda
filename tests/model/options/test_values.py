"""The values of options: text and Python values are read alike, and a wrong one is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.errors import BadValue
from errands.model.limits import UNLIMITED
from errands.model.options.check import checked
from errands.model.options.draft import Draft
from errands.model.options.table import BY_NAME, OPTIONS
from errands.model.options.values import value_of
from errands.model.record import evolve

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WATCH = {"on": "file:*.py"}


def draft(**options: Any) -> Draft:
    action: dict[str, Any] = {} if "prompt" in options else {"command": "true"}
    return checked(Draft(**action, **options), now=NOW)


@pytest.mark.parametrize(
    ("name", "value", "read", "more"),
    [
        ("timeout", "10m", timedelta(minutes=10), {}),
        ("timeout", 90, timedelta(seconds=90), {}),
        ("timeout", 0.5, timedelta(milliseconds=500), {}),
        ("timeout", "none", UNLIMITED, {}),
        ("every", "30m", timedelta(minutes=30), {}),
        ("every", 1800, timedelta(minutes=30), {}),
        ("debounce", 5, timedelta(seconds=5), WATCH),
        ("max_wait", "5s", timedelta(seconds=5), WATCH),
        ("jitter", 5, timedelta(seconds=5), {"every": 60}),
        ("grace", 0, timedelta(), {}),
        ("memory", "512M", 512 << 20, {}),
        ("memory", "none", 0, {}),
        ("output", 8192, 8192, {}),
        ("processes", "20", 20, {}),
        ("nice", "-5", -5, {}),
        ("nice", 10, 10, {}),
        ("rate", "6", 6, WATCH),
        ("channels", "terminal", ("terminal",), {}),
        ("channels", ["terminal", "desktop:x"], ("terminal", "desktop:x"), {}),
        ("tools", "command", ("command",), {"prompt": "hello"}),
        ("after", ["a-222222"], ("a-222222",), {}),
        ("then", ["make", ["echo", "x"]], ("make", ("echo", "x")), {}),
        ("cwd", Path("/srv/project"), "/srv/project", {}),
        ("env", ["A=1", "B=x=y"], {"A": "1", "B": "x=y"}, {}),
        ("env", None, {}, {}),
        ("priority", None, "normal", {}),
        ("budget", {"requests": "20"}, {"requests": 20}, {"prompt": "hello"}),
        ("budget", ["total_tokens=500"], {"total_tokens": 500}, {"prompt": "hello"}),
        ("at", "2026-03-02T09:00Z", datetime(2026, 3, 2, 9, tzinfo=UTC), {}),
        ("at", "+2h", datetime(2026, 3, 1, 14, tzinfo=UTC), {}),
        ("at", "18:30", datetime(2026, 3, 1, 9, 30, tzinfo=UTC), {"zone": "Asia/Tokyo", "at": "18:30"}),
        ("at", datetime(2026, 3, 2, 9), datetime(2026, 3, 2, tzinfo=UTC), {"zone": "Asia/Tokyo"}),  # noqa: DTZ001
    ],
)
def test_a_value_is_taken_as_it_is_naturally_written(
    name: str, value: Any, read: Any, more: dict[str, Any]
) -> None:
    expected = read if (name, value) != ("at", "18:30") else datetime(2026, 3, 2, 9, 30, tzinfo=UTC)

    assert getattr(draft(**{**more, name: value}), name) == expected


def test_a_start_in_a_zone_keeps_no_zone() -> None:
    assert draft(at="18:30", zone="Asia/Tokyo").zone is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": "soon"}, "timeout: 'soon' is not a duration. Write it like 30s"),
        ({"timeout": [5]}, r"timeout must be a duration such as '10m', a timedelta or seconds \(got \[5\]\)"),
        ({"timeout": True}, r"timeout must be a duration .* \(got True\)"),
        ({"timeout": float("nan")}, "timeout cannot be nan seconds"),
        ({"timeout": float("inf")}, "timeout cannot be inf seconds"),
        ({"timeout": -3}, r"timeout must be at least 1ms \(got -3s\)"),
        ({"timeout": 0}, r"timeout must be at least 1ms \(got 0s\)"),
        ({"every": 0.1}, r"every must be at least 1s \(got 100ms\)"),
        ({"memory": "lots"}, "memory: 'lots' is not a size"),
        ({"memory": 1.5}, r"memory must be a size such as '512M', or a number of bytes \(got 1.5\)"),
        ({"memory": "0"}, "memory cannot be 0; write none for no limit"),
        ({"output": 10}, r"output must be at least 4KiB \(got 10 bytes\)"),
        ({"memory": 5000}, r"memory must be at least 1MiB \(got 5000 bytes\)"),
        ({"max_runs": 1.5, "every": 60}, r"max_runs must be a whole number \(got 1.5\)"),
        ({"max_runs": "two", "every": 60}, r"max_runs must be a whole number \(got 'two'\)"),
        ({"max_runs": "-+5", "every": 60}, "max_runs must be a whole number"),
        ({"max_runs": 10**18, "every": 60}, "max_runs must be a number of at most 18 digits"),
        ({"retries": 1001}, r"retries must be at most 1000 \(got 1001\)"),
        ({"retries": 10**30}, "retries must be a number of at most 18 digits"),
        ({"nice": 20}, r"nice must be at most 19 \(got 20\)"),
        ({"nice": "-21"}, r"nice must be at least -20 \(got -21\)"),
        ({"name": 5}, r"name must be text \(got 5\)"),
        ({"batch": b"x"}, r"batch must be text \(got b'x'\)"),
        ({"cwd": 5}, r"cwd must be text \(got 5\)"),
        ({"priority": "urgent"}, "priority cannot be 'urgent'; choose one of: high, normal, low"),
        ({"priority": 1}, "priority cannot be 1; choose one of"),
        ({"notify": ["always"]}, "notify cannot be .*; choose one of"),
        ({"env": "A"}, "env: 'A' is not a variable; write NAME=VALUE"),
        ({"env": 5}, r"env: it must be a list \(got 5\)"),
        ({"env": {"A": 1}}, r"env must map names to text \(got 'A': 1\)"),
        ({"environ": {"A": 1}}, r"environ must map names to text \(got 'A': 1\)"),
        ({"after": "a-222222"}, r"after takes a list, not one string: after=\['a-222222'\]"),
        ({"after": 5}, r"after: it must be a list \(got 5\)"),
        ({"after": [5]}, r"after must be text \(got 5\)"),
        ({"then": "make"}, r"then takes a list, not one string: then=\['make'\]"),
        ({"then": [5]}, r"then: a command must be a shell line or a list of words \(got 5\)"),
        ({"then": [["echo", 5]]}, "then: a command has the word 5, which is not text; write '5'"),
        ({"channels": "no channel"}, "channels: 'no channel' is not a channel"),
        ({"channels": 5}, r"channels: it must be a list \(got 5\)"),
        ({"at": 5}, r"at must be a time such as '18:30', or a datetime \(got 5\)"),
        ({"at": "teatime"}, "at: 'teatime' is not a time"),
        ({"propose": "yes"}, r"propose must be True or False \(got 'yes'\)"),
        ({"on": 5}, r"on must be text \(got 5\)"),
        ({"on_options": {"every": 5}, **WATCH}, r"on_options must map names to text"),
        ({"budget": {"miles": 5}, "prompt": "x"}, "budget has no 'miles'; choose from: input_tokens"),
        ({"budget": {"requests": 0}, "prompt": "x"}, r"budget of requests must be at least 1 \(got 0\)"),
        ({"prompt": 5}, r"the prompt must be text \(got 5\)"),
        ({"prompt": "hello", "then": ["make"]}, "then is for commands, and this is a prompt; leave it out"),
        ({"model": "x"}, "model is for prompts, and this is a command; leave it out"),
        ({"budget": {"requests": 5}}, "budget is for prompts, and this is a command"),
        ({"retries": 2, "every": 60}, "retries is for a task that runs once"),
        ({"after": ["a-222222"], "cron": "@daily"}, "after is for a task that runs once"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        draft(**options)


@pytest.mark.parametrize("command", [5, None, ["sleep", 5], [["x"]], {"a": "b"}, b"true", [], [""], " "])
def test_an_invalid_command_is_refused(command: Any) -> None:
    with pytest.raises(BadValue, match="the command"):
        checked(Draft(command=command), now=NOW)


ODD = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
    | st.lists(st.integers() | st.text(max_size=3), max_size=3) | st.just(object())
    | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
    | st.timedeltas() | st.datetimes()
)  # fmt: skip


@pytest.mark.parametrize("name", BY_NAME)
@given(value=ODD)
def test_no_value_of_any_option_ends_in_a_traceback(name: str, value: Any) -> None:
    kind: dict[str, Any] = {"prompt": "hello"} if BY_NAME[name].kind == "agent" else {"command": "true"}
    try:
        once = checked(Draft(**kind, **{name: value}), now=NOW)
    except BadValue:
        return
    assert checked(once, now=NOW) is once


def test_what_is_converted_is_not_converted_again() -> None:
    typed = draft(timeout="10m", env=["A=1"], then=["make"], channels="terminal", at="18:30")

    assert checked(typed, now=NOW) is typed


def test_the_caller_s_own_names_are_used_in_what_is_refused() -> None:
    with pytest.raises(BadValue, match=r"^--timeout must be at least"):
        checked(evolve(Draft(command="true"), timeout=0), now=NOW, spell=lambda name: f"--{name}")


def test_text_is_read_by_every_option_that_a_flag_gives_it_to() -> None:
    for option in OPTIONS:
        if option.flags and option.choices:
            assert value_of(option, option.choices[0], option.name) == option.choices[0]
