"""Drafts: what could never run is refused before there is a task, with a sentence that helps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from errands.model.errors import BadValue
from errands.model.options.draft import UNLIMITED, Draft, check
from errands.model.record import evolve

GOOD = Draft(command=("make", "test"))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"command": "make test"},
        {"env": {"A": "", "b": "x=y"}},
        {"timeout": timedelta(milliseconds=1), "idle": UNLIMITED, "memory": 0, "processes": 0},
        {"at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"command": "echo \udcff", "cwd": "/tmp/\udcff", "env": {"A": "\udcff"}},
    ],
)
def test_what_can_run_is_accepted(changes: dict[str, Any]) -> None:
    check(evolve(GOOD, **changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": ""}, "there is no command"),
        ({"command": " \n"}, "there is no command"),
        ({"command": ()}, "there is no command"),
        ({"command": ("", "x")}, "there is no command"),
        ({"then": ("",)}, "there is no command"),
        ({"before": ((),)}, "there is no command"),
        ({"lastly": (" ",)}, "there is no command"),
        ({"command": ("a", "b\0c")}, "NUL"),
        ({"env": {"A": "\0"}}, "NUL"),
        ({"cwd": "/tmp/\0"}, "NUL"),
        ({"env": {"": "x"}}, "write NAME=VALUE"),
        ({"env": {"A=B": "x"}}, "write NAME=VALUE"),
        ({"command": "echo \ud800"}, "no text"),
        ({"env": {"A": "\ud800"}}, "no text"),
        ({"cwd": "/tmp/\ud800"}, "no text"),
        ({"batch": "\udcff"}, "batch"),
        ({"key": "\udcff"}, "key"),
        ({"owner": "\ud800"}, "owner"),
        ({"priority": "urgent"}, "high, normal, low"),
        ({"notify": "sometimes"}, "always, on_change, on_failure, never"),
        ({"input": "file"}, "none, pipe, pty"),
        ({"on_idle": "wait"}, "stop, report"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"idle": timedelta(seconds=-1)}, "idle"),
        ({"cpu": timedelta(0)}, "cpu"),
        ({"grace": timedelta(seconds=-1)}, "grace"),
        ({"memory": -1}, "memory"),
        ({"processes": -1}, "processes"),
        ({"output": 4095}, "4096"),
        ({"at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001  # that is what is refused
    ],
)
def test_what_could_never_run_is_refused_and_says_why(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValue, match=words):
        check(evolve(GOOD, **changes))
