"""The sections: what can be configured, and what holds when nothing is."""

from __future__ import annotations

import os
from datetime import timedelta

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from errands.model.limits import OnIdle
    from errands.model.notices.notice import Policy

    Durability = Literal["normal", "full"]
    Unattended = Literal["wait", "refuse"]

# The shell that reads lines: bash where there is one, because that is what people type at.
_BASHES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash")
SHELL = next((path for path in _BASHES if os.access(path, os.X_OK)), "/bin/sh")


@record
class Daemon:
    tick: timedelta = timedelta(seconds=30)


@record
class Runs:
    shell: str = SHELL
    grace: timedelta = timedelta(seconds=5)
    timeout: timedelta | None = None
    idle: timedelta | None = None
    on_idle: OnIdle = "stop"
    output_cap: int = 10 << 20
    tail_lines: int = 20
    memory: int | None = None
    cpu: timedelta | None = None
    processes: int | None = None


@record
class Agents:
    default: str = "offline"
    timeout: timedelta | None = timedelta(minutes=5)
    depth: int = 4
    fan_out: int = 16
    unattended: Unattended = "wait"
    warm: timedelta | None = timedelta(minutes=10)


@record
class Schedules:
    most: int = 20
    backoff: timedelta = timedelta(minutes=1)
    zone: str = "local"


@record
class Retention:
    enabled: bool = True
    keep: timedelta = timedelta(days=7)
    history: timedelta = timedelta(days=30)


@record
class Store:
    durability: Durability = "normal"


@record
class Notices:
    policy: Policy = "always"
    channels: tuple[str, ...] = ()


@record
class Events:
    listen: str = "127.0.0.1:7390"
    github: str = "https://api.github.com"


@record
class Discovery:
    enabled: bool = False
    agent: str = "auto"
    every: timedelta = timedelta(minutes=30)
    idle: timedelta = timedelta(minutes=10)
    present: timedelta = timedelta(hours=2)
    most: int = 3
    cooldown: timedelta = timedelta(hours=24)


@record
class Approval:
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    yes: bool = True
    expires: timedelta = timedelta(days=7)


@record
class Ui:
    colour: str = "auto"


LANES = {"shell": 5, "agent": 4, "local": 1, "chat": 8}


@record
class Config:
    """The whole configuration; `origin` says where each value that is no default came from.

    `backends` has the settings of each agent by its name, as they stand below `[agents.NAME]`; `channels`
    those of each channel, below `[channels.NAME]`, `webhooks` those of each place where deliveries come in.
    """

    daemon: Daemon = Daemon()
    lanes: Mapping[str, int] = LANES
    runs: Runs = Runs()
    agents: Agents = Agents()
    backends: Mapping[str, Mapping[str, Any]] = {}
    channels: Mapping[str, Mapping[str, Any]] = {}
    webhooks: Mapping[str, Mapping[str, Any]] = {}
    schedules: Schedules = Schedules()
    events: Events = Events()
    retention: Retention = Retention()
    store: Store = Store()
    notices: Notices = Notices()
    discovery: Discovery = Discovery()
    approval: Approval = Approval()
    ui: Ui = Ui()
    origin: Mapping[str, str] = {}


SECTIONS = {
    "daemon": Daemon,
    "runs": Runs,
    "agents": Agents,
    "schedules": Schedules,
    "events": Events,
    "retention": Retention,
    "store": Store,
    "notices": Notices,
    "discovery": Discovery,
    "approval": Approval,
    "ui": Ui,
}
