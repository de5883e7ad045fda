"""The keys: what each means and which values it takes, for files, variables, checks and documents alike."""

from __future__ import annotations

from datetime import timedelta

from errands.model.record import record
from errands.model.text.duration import exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from errands.config.sections import Config

    Kind = Literal["duration", "size", "count", "flag", "choice", "text", "rules", "addresses"]


@record
class Key:
    """What a key means and which values it takes.

    `project` is False where a project cannot decide: a cloned repository must not choose the program that
    reads commands, or what needs no question, and the daemon serves all projects. `adds` is True where every
    source adds to what the others say, so that none can take a rule away.
    """

    section: str
    name: str
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    optional: bool = False
    project: bool = True
    adds: bool = False
    default_text: str = ""

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return f"ERRANDS_{self.section}_{self.name}".upper()


_PERSONAL = (
    "runs.shell", "approval.allow", "approval.yes", "approval.expires", "agents.depth", "agents.fan_out",
    "agents.unattended", "agents.warm", "notices.channels",
    "schedules.most", "schedules.backoff", "events.listen", "events.github",
)  # fmt: skip


def _key(path: str, kind: Kind, meaning: str, **more: Any) -> Key:
    section, _, name = path.partition(".")
    project = path not in _PERSONAL and section not in ("daemon", "discovery", "lanes", "retention", "store")
    return Key(section=section, name=name, kind=kind, help=meaning, project=project, **more)


KEYS = (
    _key("daemon.tick", "duration", "the longest sleep between two looks for due work"),
    _key(
        "runs.shell",
        "text",
        "the program that reads a command given as one line",
        default_text="bash, or sh where there is none",
    ),
    _key("runs.grace", "duration", "how long a run may take to end after SIGTERM before it gets SIGKILL"),
    _key("runs.timeout", "duration", "the longest a run may take", optional=True),
    _key("runs.idle", "duration", "the longest a run may be silent", optional=True),
    _key(
        "runs.on_idle",
        "choice",
        "what happens to a run that is silent for too long",
        choices=("stop", "report"),
    ),
    _key(
        "runs.output_cap",
        "size",
        "how much output of a run is kept; beyond it the middle is dropped",
        least=4096,
    ),
    _key("runs.tail_lines", "count", "how many last lines of output `show` prints"),
    _key("runs.memory", "size", "the most memory a run's processes may use together", least=1, optional=True),
    _key("runs.cpu", "duration", "the most processor time a run's processes may use together", optional=True),
    _key("runs.processes", "count", "the most processes a run may have at a time", least=1, optional=True),
    _key("agents.default", "text", "the agent that is asked, unless the prompt names another"),
    _key("agents.timeout", "duration", "the longest an agent may take to answer", optional=True),
    _key("agents.depth", "count", "how deep agents may start agents that start agents"),
    _key("agents.fan_out", "count", "how many live tasks an agent's session may have at a time", least=1),
    _key(
        "agents.unattended",
        "choice",
        "what becomes of an agent's call that a person must allow; a refused one is told to the agent",
        choices=("wait", "refuse"),
    ),
    _key(
        "agents.warm",
        "duration",
        "how long the built-in agent's library stays loaded after a run, for the next; `none`: it never is",
        optional=True,
    ),
    _key("schedules.most", "count", "how many standing tasks may be active at a time"),
    _key("schedules.backoff", "duration", "how long a failed run of a standing task waits for its one retry"),
    _key(
        "schedules.zone",
        "text",
        "the time zone of schedules that name none, such as `Europe/Vienna`; `local` is that of the machine",
    ),
    _key(
        "events.listen",
        "text",
        "where webhooks are delivered; other machines reach it only if this is not the loopback interface",
    ),
    _key("events.github", "text", "the API of GitHub; the token is sent there"),
    _key("retention.enabled", "flag", "whether finished tasks are removed by themselves"),
    _key("retention.keep", "duration", "how long a finished task is kept"),
    _key(
        "retention.history",
        "duration",
        "how long the earlier runs of a task are kept, and the answers about a task that is gone",
    ),
    _key(
        "store.durability",
        "choice",
        "`normal` survives every crash of a program; `full` waits for the disk and survives a power cut too",
        choices=("normal", "full"),
    ),
    _key(
        "notices.policy",
        "choice",
        "which endings are told, unless the task says otherwise",
        choices=("always", "on_change", "on_failure", "never"),
    ),
    _key(
        "notices.channels",
        "addresses",
        "where tasks report beside the inbox unless they say otherwise, such as `terminal` or `discord:1234`",
    ),
    _key("discovery.enabled", "flag", "whether an agent looks for work to propose while nobody types"),
    _key(
        "discovery.agent",
        "text",
        "the agent that looks; `auto` is the first one that you have configured for the lane `local`",
    ),
    _key("discovery.every", "duration", "how often it looks"),
    _key("discovery.idle", "duration", "how long nobody may have typed anything before it looks"),
    _key("discovery.present", "duration", "within which time somebody must have been there"),
    _key("discovery.most", "count", "how many tasks it may propose at a time"),
    _key("discovery.cooldown", "duration", "how long nothing is proposed that is like what was rejected"),
    _key(
        "approval.allow",
        "rules",
        "commands that need no question, such as `make *`; never a shell or the like, and never by variable",
    ),
    _key("approval.ask", "rules", "commands that need a question although they seem harmless", adds=True),
    _key("approval.deny", "rules", "commands that are never run, whoever asks; this wins", adds=True),
    _key(
        "approval.yes",
        "flag",
        "whether a caller may answer for itself (`--yes`, `yes=True`); a variable can only say no",
    ),
    _key(
        "approval.expires",
        "duration",
        "how long a question waits for its answer, and an answer for the start it was given for",
    ),
    _key(
        "ui.colour",
        "choice",
        "colours in the terminal; `auto` follows NO_COLOR, CLICOLOR_FORCE and whether it is a terminal",
        choices=("auto", "always", "never"),
    ),
)

LANE = "how many runs of that lane run at a time; any name makes a lane, 0 holds its tasks back"

# Variables with our prefix that are no keys: what a task is told, and where things live.
VARIABLES = {
    "ERRANDS_HOME": "where the state lives; "
    "without it `$XDG_STATE_HOME/errands`, usually `~/.local/state/errands`",
    "ERRANDS_SESSION": "whose tasks and notices are meant; without it those of `user`",
    "ERRANDS_CHANNEL": "where tasks report that are started here, such as `discord:1234`; several are parted "
    "by semicolons",
    "ERRANDS_PLATFORM": "`posix` uses the portable supervision instead of that of the system",
    "ERRANDS_WAKE": "for `errands mcp`: `session` if something tells the client of ERRANDS_SESSION of an "
    "end; without it nothing does",
    "ERRANDS_MCP_TOKEN": "for `errands mcp` over HTTP: the token that a client must show; "
    "without it that in `mcp/token` of the home",
    "ERRANDS_TASK_ID": "in a task: its id",
    "ERRANDS_RUN_ID": "in a task: the id of its run",
    "ERRANDS_RUN_DIR": "in a task: the directory of its run, for files that shall be kept",
    "ERRANDS_PROGRESS": "in a task: the file to which progress can be written",
    "ERRANDS_EXIT_CODE": "in a `--finally` command: the exit code of the run",
    "ERRANDS_OUTCOME": "in a `--finally` command: how the run ended",
    "ERRANDS_EVENT_SOURCE": "in a run that came of an event: its source, such as `file`",
    "ERRANDS_EVENT_SUBJECT": "in a run that came of an event: what was watched",
    "ERRANDS_EVENT_SUMMARY": "in a run that came of an event: the last signal, in a line",
    "ERRANDS_EVENT_COUNT": "in a run that came of an event: how many signals it came of",
    "ERRANDS_EVENT_FILE": "in a run that came of an event: the file with all of them, as JSON",
    "ERRANDS_BOOT_ID_FILE": "in tests: a file that is read in place of the system's boot id",
}


def key_of(section: str, name: str) -> Key | None:
    """Find a key; every name that can be one is a lane's."""
    if section == "lanes":
        letters = name.replace("-", "").replace("_", "")
        is_name = name[:1].isalpha() and letters.isalnum() and name.isascii()
        return _key(f"lanes.{name}", "count", LANE) if is_name else None
    return next((key for key in KEYS if key.section == section and key.name == name), None)


def entries(config: Config) -> Iterator[tuple[Key, Any, str]]:
    """List every key with its value and where that came from."""
    for key in KEYS:
        if key.section == "runs" and key.name == "shell":
            yield from _lane_entries(config)
        value = getattr(getattr(config, key.section), key.name)
        yield key, value, config.origin.get(key.path, "default")


def _lane_entries(config: Config) -> Iterator[tuple[Key, Any, str]]:
    for name, wide in config.lanes.items():
        key = _key(f"lanes.{name}", "count", LANE)
        yield key, wide, config.origin.get(key.path, "default")


def written(key: Key, value: Any) -> str:
    """Write a key's value the way a file or a variable has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return exact(value)
    if isinstance(value, tuple):
        return "; ".join(value) or "none"
    return _written_size(value) if key.kind == "size" else str(value)


def _written_size(count: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)
