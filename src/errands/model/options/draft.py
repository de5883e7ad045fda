"""A draft: what a caller asks for, before there is a task.

Everything has the default a person expects, so `Draft(command="make test")` is enough, and so is
`Draft(prompt="why do the tests fail?")`. `table.py` says what each option means.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from errands.model.action import Command, Input, Walls
    from errands.model.approval import Consent
    from errands.model.limits import OnIdle, OnLoss
    from errands.model.notices.notice import Policy
    from errands.model.task import Priority
    from errands.model.trigger import Misfire

HERE = "here"  # as a host: this one, whatever the configuration says


@record
class Draft:
    """A command or a prompt, and the options of the task; None means the default.

    The engine takes looser values too, text as on the command line among them: `checked` converts them.
    """

    command: Command = ()
    prompt: str | None = None
    name: str | None = None
    description: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] = {}
    lane: str | None = None
    priority: Priority = "normal"
    batch: str | None = None
    host: str | None = None
    then: tuple[Command, ...] = ()
    before: tuple[Command, ...] = ()
    lastly: tuple[Command, ...] = ()
    timeout: timedelta | None = None
    idle: timedelta | None = None
    on_idle: OnIdle | None = None
    grace: timedelta | None = None
    retries: int = 0
    on_loss: OnLoss = "lost"
    memory: int | None = None
    cpu: timedelta | None = None
    processes: int | None = None
    nice: int | None = None
    output: int | None = None
    input: Input = "none"
    sandbox: Walls = "none"
    notify: Policy | None = None
    channels: tuple[str, ...] | None = None
    every: timedelta | None = None
    cron: str | None = None
    zone: str | None = None
    hours: str | None = None
    jitter: timedelta | None = None
    misfire: Misfire | None = None
    max_age: timedelta | None = None
    max_runs: int | None = None
    on: str | None = None
    on_options: Mapping[str, str] | None = None
    debounce: timedelta | None = None
    max_wait: timedelta | None = None
    rate: int | None = None
    after: tuple[str, ...] = ()
    at: datetime | None = None
    hold: bool = False
    key: str | None = None
    agent: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    allow: tuple[str, ...] = ()
    allow_tools: tuple[str, ...] = ()
    fork: str | None = None
    budget: Mapping[str, int] = {}
    environ: Mapping[str, str] | None = None
    owner: str | None = None
    parent: str | None = None
    message: str | None = None
    created_by: str | None = None
    template: str | None = None
    consent: Consent = "none"
    door: str = "python"
    propose: bool = False
    within: str | None = None
    awaits: tuple[str, ...] = ()
    is_awaited: bool = False


BLANK = Draft()
