"""A launch says in plain words how its end will be reported, and what it says is true."""

from __future__ import annotations

from typing import Any

import pytest

from errands.dialects.completion import wake
from errands.model.notices.notice import Address
from errands.ports.dialect import Caller
from tests.dialects.views import view

DISCORD, INBOX = Address(channel="discord", target="1"), Address(channel="inbox", target="user")
ASK = "ask with wait."


def said(way: str = "none", *, owner: str = "user", **changes: Any) -> str:
    caller = Caller(session="chat", cwd="/", door="mcp", wake=way)
    return wake(view("active", "running", owner=owner, **changes), caller, "wait")


@pytest.mark.spec("N8", "X18")
def test_a_caller_that_is_notified_need_not_poll() -> None:
    assert said("session", owner="chat") == "You will be told when it ends; do not poll."
    assert said("session", owner="chat", notify="on_failure") == f"You will be told if it fails; {ASK}"


@pytest.mark.spec("N8", "X18")
@pytest.mark.parametrize("way", ["session", "none"])
def test_a_task_that_has_ended_by_then_is_not_announced(way: str) -> None:
    caller = Caller(session="chat", cwd="/", door="mcp", wake=way)
    ended = view("done", "completed", owner="chat")
    assert wake(ended, caller, "wait") == f"It has already ended; {ASK}"
    assert wake(view("proposed", "pending", owner="user"), caller, "wait") == (
        f"Nothing will tell you when it ends; {ASK}"
    )


@pytest.mark.spec("N8", "X18")
def test_a_task_of_another_owner_does_not_wake_the_caller() -> None:
    assert said("session") == f"Nothing will tell you when it ends; {ASK}"


@pytest.mark.spec("N8", "X18")
def test_a_working_channel_is_named() -> None:
    """Wherever it comes from: the task, its environment or the configuration."""
    assert said(channels=(DISCORD,)) == f"Its end is reported to discord, not to you; {ASK}"
    assert (
        said("channel discord", channels=(DISCORD,)) == f"Its end is reported to discord, not to you; {ASK}"
    )
    failing = said(channels=(DISCORD,), notify="on_failure")
    assert failing == f"Its end is reported to discord if it fails, not to you; {ASK}"


@pytest.mark.spec("N8", "X18")
def test_an_inbox_reports_nothing_by_itself() -> None:
    assert said(channels=(INBOX,)) == f"Nothing will tell you when it ends; {ASK}"
    never = said("session", owner="chat", notify="never", channels=(DISCORD,))
    assert never == f"Its end is reported nowhere, as `notify` is never; {ASK}"
