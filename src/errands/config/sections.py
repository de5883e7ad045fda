"""The sections of the configuration: every key with its type, its default, its meaning and its rules.

A key is declared here and nowhere else; `keys` derives from it how to read, check and document the key.
"""

from __future__ import annotations

import os
from datetime import timedelta

from errands.model.limits import ON_IDLE, SMALLEST_MEMORY, SMALLEST_OUTPUT, Limits
from errands.model.notices.notice import POLICIES
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from errands.model.limits import OnIdle
    from errands.model.notices.notice import Policy
    from errands.model.record import record as section

    Durability = Literal["normal", "full"]
    Unattended = Literal["wait", "refuse"]

# The shell: bash if there is one, because that is what people type into.
_BASHES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash")
SHELL = next((path for path in _BASHES if os.access(path, os.X_OK)), "/bin/sh")

_LIMITS = Limits()

# By section and name: the annotation, the meaning and the rules of a key.
DECLARED: dict[str, dict[str, tuple[str, str, Mapping[str, Any]]]] = {}


def key(default: Any, meaning: str, **rules: Any) -> Any:
    """Declare a key. A `personal` one cannot be set by a project; `keys.Key` explains the other rules."""
    return default, meaning, rules


if not TYPE_CHECKING:

    def section(cls):
        """Turn a class of declared keys into a record with their defaults."""
        declared = DECLARED[cls.__name__.lower()] = {}
        for name, annotation in cls.__annotations__.items():
            default, meaning, rules = getattr(cls, name)
            declared[name] = annotation, meaning, rules
            setattr(cls, name, default)
        return record(cls)


@section
class Daemon:
    tick: timedelta = key(timedelta(seconds=30), "the longest sleep between two checks for due work")


@section
class Runs:
    shell: str = key(
        SHELL,
        "the program that reads a command given as one line",
        default_text="bash, or sh where there is none",
        personal=True,
    )
    grace: timedelta = key(_LIMITS.grace, "how long a run may take to end after SIGTERM before SIGKILL")
    timeout: timedelta | None = key(None, "the longest a run may take")
    idle: timedelta | None = key(None, "the longest a run may be silent")
    on_idle: OnIdle = key(
        _LIMITS.on_idle, "what happens to a run that is silent for too long", choices=ON_IDLE
    )
    output_cap: int = key(
        _LIMITS.output,
        "how much output of a run is kept; beyond it the middle is dropped",
        kind="size",
        least=SMALLEST_OUTPUT,
    )
    tail_lines: int = key(20, "how many last lines of output `show` prints")
    memory: int | None = key(
        None, "the most memory a run's processes may use together", kind="size", least=SMALLEST_MEMORY
    )
    cpu: timedelta | None = key(None, "the most processor time a run's processes may use together")
    processes: int | None = key(None, "the most processes a run may have at a time", least=1)
    host: str = key(
        "",
        "the host or label where tasks run that name none with `--host`; `--host here` runs one on this host",
        default_text="this host",
        personal=True,
    )


@section
class Agents:
    default: str = key("offline", "the agent to ask, unless the prompt names another")
    timeout: timedelta | None = key(
        timedelta(minutes=5),
        "the longest an agent may take to answer; unless you set it, only recurring tasks have this limit",
    )
    depth: int = key(4, "how deeply agents may start agents that start agents", personal=True)
    fan_out: int = key(
        16, "how many live tasks an agent's session may have at a time", least=1, personal=True
    )
    unattended: Unattended = key(
        "wait",
        "whether an agent's call that needs approval waits for a person, or is refused with an answer to it",
        choices=("wait", "refuse"),
        personal=True,
    )
    continues: bool = key(
        True,
        "whether the agent of a chat continues by itself when its work ends and you are not typing",
        personal=True,
    )
    warm: timedelta | None = key(
        timedelta(minutes=10),
        "how long the built-in agent's library stays loaded for the next run; `none` disables it",
        personal=True,
    )


@section
class Schedules:
    most: int = key(20, "how many recurring tasks may be active at a time", personal=True)
    backoff: timedelta = key(
        timedelta(minutes=1),
        "how long a failed run waits before its first retry; the wait doubles each time",
        personal=True,
    )
    zone: str = key(
        "local",
        "the time zone of schedules that name none, such as `Europe/Vienna`; `local` is the machine's own",
    )


@section
class Events:
    listen: str = key(
        "127.0.0.1:7390",
        "where webhooks are delivered; other machines reach it only if this is not the loopback interface",
        personal=True,
    )
    github: str = key("https://api.github.com", "the API of GitHub; the token is sent there", personal=True)


@section
class Retention:
    enabled: bool = key(True, "whether finished tasks are removed automatically")
    keep: timedelta = key(timedelta(days=7), "how long a finished task is kept")
    history: timedelta = key(
        timedelta(days=30),
        "how long the earlier runs of a task are kept, and the answers about a task that is gone",
    )


@section
class Store:
    durability: Durability = key(
        "normal",
        "`normal` survives every crash of a program; `full` waits for the disk and also survives a power cut",
        choices=("normal", "full"),
    )


@section
class Notices:
    policy: Policy = key(
        "always", "which endings are reported, unless the task says otherwise", choices=POLICIES
    )
    channels: tuple[str, ...] = key(
        (),
        "where tasks report besides the inbox by default, such as `terminal` or `discord:1234`",
        kind="addresses",
        personal=True,
    )


@section
class Discovery:
    enabled: bool = key(
        True, "whether an agent looks for work to propose while nothing is typed, once a model is configured"
    )
    agent: str = key(
        "auto",
        "the agent that looks; `auto` is the first one with a model on this machine (lane `local`), or else "
        "`agents.default` if it has a model",
    )
    every: timedelta = key(timedelta(minutes=30), "how often it looks")
    idle: timedelta = key(timedelta(minutes=10), "how long nothing must have been typed before it looks")
    present: timedelta = key(timedelta(hours=2), "how recently a person must have been there")
    most: int = key(3, "how many tasks it may propose at a time")
    cooldown: timedelta = key(timedelta(hours=24), "how long after a rejection nothing similar is proposed")


@section
class Approval:
    allow: tuple[str, ...] = key(
        (),
        "commands that start without approval, such as `make *`; never a shell, never by variable",
        kind="rules",
        personal=True,
    )
    mode: str = key(
        "contained",
        "what starts at once besides harmless commands: nothing (`careful`), the project's own work in a "
        "sandbox (`contained`), or the same without one (`trusting`)",
        choices=("trusting", "contained", "careful"),
        personal=True,
    )
    ask: tuple[str, ...] = key(
        (), "commands that need approval although they seem harmless", kind="rules", adds=True
    )
    deny: tuple[str, ...] = key((), "commands that are never run; this wins", kind="rules", adds=True)
    yes: bool = key(
        True,
        "whether a caller may approve its own task (`--yes`, `yes=True`); a variable can only forbid it",
        personal=True,
    )
    expires: timedelta = key(
        timedelta(days=7),
        "how long a question waits for its answer, and an approval for the start it was given for",
        personal=True,
    )


@section
class Ui:
    colour: str = key(
        "auto",
        "colours; `auto`: as NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and CLICOLOR say, or on a terminal",
        choices=("auto", "always", "never"),
    )


@section
class Web:
    address: str = key(
        "127.0.0.1:7979",
        "where `errands web` listens; an address that other machines reach needs a certificate",
        personal=True,
    )
    origin: str = key(
        "", "the address of a proxy with TLS in front of it, such as `https://errands.example`", personal=True
    )
    cert: str = key("", "the certificate of `errands web`, a file in PEM format", personal=True)
    cert_key: str = key("", "the private key of that certificate, a file", personal=True)
    mcp: bool = key(False, "whether `errands web` also serves the tools for agents, at /mcp", personal=True)


LANES = {"shell": 5, "agent": 4, "local": 1, "chat": 8}


@record
class Config:
    """The whole configuration; `origin` says where each value that is not a default came from.

    `backends`, `channels` and `webhooks` hold the tables `[agents.NAME]`, `[channels.NAME]` and
    `[webhooks.NAME]` by name, as they are written.
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
    web: Web = Web()
    origin: Mapping[str, str] = {}


_ALL = (Daemon, Runs, Agents, Schedules, Events, Retention, Store, Notices, Discovery, Approval, Ui, Web)
SECTIONS: dict[str, type[Any]] = {each.__name__.lower(): each for each in _ALL}
