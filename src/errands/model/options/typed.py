"""The task options as keywords of `submit` and `ask`, for type checkers.

Text is read as on the command line ("10m", "512M", "18:30"); a number means seconds, bytes or a count.
"""

from __future__ import annotations

from typing import TypedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Protocol

    from errands.model.action import Command, Input, Walls
    from errands.model.approval import Consent
    from errands.model.limits import OnIdle, OnLoss
    from errands.model.notices.notice import Policy
    from errands.model.task import Priority
    from errands.model.trigger import Misfire

    class Path(Protocol):
        def __fspath__(self) -> str: ...

    Duration = timedelta | float | str
    Number = int | str  # a size or a count
    Commands = Iterable[Command | Sequence[str]]


class CommonOptions(TypedDict, total=False):
    """What commands and prompts have in common."""

    name: str | None
    description: str | None
    cwd: str | Path | None
    env: Mapping[str, str] | None
    lane: str | None
    priority: Priority | None
    batch: str | None
    host: str | None
    timeout: Duration | None
    idle: Duration | None
    on_idle: OnIdle | None
    grace: Duration | None
    retries: Number | None
    memory: Number | None
    cpu: Duration | None
    processes: Number | None
    nice: Number | None
    output: Number | None
    notify: Policy | None
    channels: str | Iterable[str] | None
    every: Duration | None
    cron: str | None
    zone: str | None
    hours: str | None
    jitter: Duration | None
    misfire: Misfire | None
    max_age: Duration | None
    max_runs: Number | None
    on: str | None
    on_options: Mapping[str, str] | None
    debounce: Duration | None
    max_wait: Duration | None
    rate: Number | None
    after: Iterable[str] | None
    at: datetime | str | None
    hold: bool | None
    key: str | None
    environ: Mapping[str, str] | None
    owner: str | None
    parent: str | None
    message: str | None
    created_by: str | None
    template: str | None
    consent: Consent
    door: str
    propose: bool
    within: str | None
    awaits: Iterable[str] | None
    is_awaited: bool


class TaskOptions(CommonOptions, total=False):
    """The options of a command."""

    on_loss: OnLoss | None
    then: Commands | None
    before: Commands | None
    lastly: Commands | None
    input: Input | None
    sandbox: Walls | None


class PromptOptions(CommonOptions, total=False):
    """The options of a prompt."""

    agent: str | None
    model: str | None
    tools: str | Iterable[str] | None
    allow: str | Iterable[str] | None
    allow_tools: str | Iterable[str] | None
    fork: str | None
    budget: Mapping[str, int] | None
