"""Drafts: what could never run is refused before there is a task, with a sentence that helps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from errands.model.errors import BadValue
from errands.model.limits import UNLIMITED
from errands.model.notices.notice import POLICIES
from errands.model.options.check import checked
from errands.model.options.draft import Draft
from errands.model.record import evolve

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
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
    draft = evolve(GOOD, **changes)
    assert checked(draft, now=NOW) is draft


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": ""}, "command is empty"),
        ({"command": " \n"}, "command is empty"),
        ({"command": ()}, "command is empty"),
        ({"command": ("", "x")}, "command is empty"),
        ({"then": ("",)}, "command is empty"),
        ({"before": ((),)}, "command is empty"),
        ({"lastly": (" ",)}, "command is empty"),
        ({"command": ("a", "b\0c")}, "NUL"),
        ({"env": {"A": "\0"}}, "NUL"),
        ({"cwd": "/tmp/\0"}, "NUL"),
        ({"env": {"": "x"}}, "write NAME=VALUE"),
        ({"env": {"A=B": "x"}}, "write NAME=VALUE"),
        ({"command": "echo \ud800"}, "half a character"),
        ({"env": {"A": "\ud800"}}, "half a character"),
        ({"cwd": "/tmp/\ud800"}, "half a character"),
        ({"batch": "\udcff"}, "batch"),
        ({"key": "\udcff"}, "key"),
        ({"owner": "\ud800"}, "owner"),
        ({"priority": "urgent"}, "high, normal, low"),
        ({"notify": "sometimes"}, ", ".join(POLICIES)),
        ({"input": "file"}, "none, pipe, pty"),
        ({"on_idle": "wait"}, "stop, report"),
        ({"host": "gpu", "on_loss": "retry"}, "lost, again"),
        ({"host": "gpu", "command": "echo \udcff"}, "is not UTF-8, and other hosts accept only that"),
        ({"host": "gpu", "lastly": (("cat", "\udcff"),)}, "leave out host"),
        ({"host": "gpu", "env": {"A": "\udcff"}}, "leave out host"),
        ({"host": "gpu", "cwd": "/tmp/\udcff"}, "leave out host"),
        ({"on_loss": "again"}, "on_loss has no effect without host"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"idle": timedelta(seconds=-1)}, "idle"),
        ({"cpu": timedelta(0)}, "cpu"),
        ({"grace": timedelta(seconds=-1)}, "grace"),
        ({"memory": -1}, "memory"),
        ({"processes": -1}, "processes"),
        ({"output": 4095}, "4KiB"),
        ({"at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001  # that is what is refused
    ],
)
def test_what_could_never_run_is_refused_and_says_why(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValue, match=words):
        checked(evolve(GOOD, **changes), now=NOW)
