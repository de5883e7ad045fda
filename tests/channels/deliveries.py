"""Deliveries, as the sender passes them to a channel."""

from __future__ import annotations

from typing import Any

from errands.model.notices.delivery import Delivery, delivery_of
from errands.model.notices.notice import Address, Notice
from errands.model.text.json_text import plain_text
from tests.hand_clock import START


def delivery(
    target: str = "me", *, channel: str = "mail", task: str = "pytest-222222", number: int = 1, **facts: Any
) -> Delivery:
    """A delivery about the end of one run."""
    return delivery_of([notice(target, channel=channel, task=task, number=number, **facts)])


def digest(target: str, count: int, *, channel: str = "mail") -> Delivery:
    return delivery_of([notice(target, channel=channel, number=number) for number in range(1, count + 1)])


def notice(
    target: str = "me",
    *,
    channel: str = "mail",
    task: str = "pytest-222222",
    number: int = 1,
    attempts: int = 0,
    **facts: Any,
) -> Notice:
    known = {"state": "completed", "description": "run the tests", "command": "pytest -q", "elapsed": 2.5}
    body: dict[str, Any] = {"task": task, "run": f"{task}.{number}", **known, **facts}
    return Notice(
        id=number,
        run_id=f"{task}.{number}",
        event=str(body["state"]),
        address=Address(channel=channel, target=target),
        body=plain_text(body),
        created_at=START,
        attempts=attempts,
    )


def question(target: str, *, task: str = "deploy-222222", number: int = 1, channel: str = "mail") -> Delivery:
    return delivery(
        target, channel=channel, task=task, state="proposed", approval=number, error="writes to production"
    )
