"""A task: an order. What to do, when, in which lane, and where to report.

A task outlives its runs; a restart is a new run of the same task.
"""

from __future__ import annotations

from errands.model.action import Shell
from errands.model.record import record
from errands.model.trigger import At

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from errands.model.action import Action
    from errands.model.limits import Limits
    from errands.model.notices.notice import Address, Policy
    from errands.model.states import TaskState
    from errands.model.trigger import Trigger
    from errands.model.verdict import Verdict

    Kind = Literal["shell", "agent"]
    Priority = Literal["high", "normal", "low"]

PRIORITIES: tuple[Priority, ...] = ("high", "normal", "low")


@record
class Task:
    """`evidence` is what the verdict rests on besides the words, as JSON; `removed` names the variables that
    its environment lost because no person saw it start: it is harmless, or was approved for good.
    """

    id: str
    kind: Kind
    state: TaskState
    name: str
    description: str
    action: Action
    trigger: Trigger
    limits: Limits
    lane: str
    priority: Priority
    notify: Policy
    owner: str
    parent: str | None
    message: str | None
    batch: str | None
    key: str | None
    template: str | None
    after: tuple[str, ...]
    created_at: datetime
    created_by: str
    approved_by: str | None = None
    approved_at: datetime | None = None
    door: str = ""
    verdict: Verdict = "auto"
    digest: str = ""
    evidence: str | None = None
    removed: str = ""
    channels: tuple[Address, ...] = ()

    @property
    def command(self) -> str:
        return self.action.line

    @property
    def host(self) -> str:
        """The name or label of the host to run on; empty for this one."""
        return self.action.host

    @property
    def takes_input(self) -> bool:
        """Whether its runs are started to take input."""
        return isinstance(self.action, Shell) and self.action.input != "none"

    @property
    def due_at(self) -> datetime | None:
        """The time a task was asked to start at."""
        return self.trigger.time if isinstance(self.trigger, At) else None
