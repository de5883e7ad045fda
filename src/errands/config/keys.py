"""The keys as files, variables, checks and documents use them, derived from the declared sections."""

from __future__ import annotations

from datetime import timedelta

from errands.config.sections import DECLARED
from errands.model.record import record
from errands.model.text.duration import exact, exact_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    from errands.config.sections import Config

    Kind = Literal["duration", "size", "count", "flag", "choice", "text", "rules", "addresses"]


@record
class Key:
    """What a key means and which values it takes.

    `project` is False where a project cannot decide: a cloned repository must not choose the shell, or what
    starts without approval, and the daemon serves all projects. `adds` is True where every source adds to the
    others, so that none can take a rule away.
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


_KINDS: dict[str, Kind] = {"timedelta": "duration", "int": "count", "bool": "flag", "str": "text"}
_OF_THE_DAEMON = ("daemon", "discovery", "retention", "store")


def _keys() -> Iterator[Key]:
    for section, declared in DECLARED.items():
        for name, (annotation, meaning, rules) in declared.items():
            yield _key(section, name, annotation, meaning, **rules)


def _key(
    section: str, name: str, annotation: str, meaning: str, *, personal: bool = False, **rules: Any
) -> Key:
    plain = annotation.removesuffix(" | None")
    return Key(
        section=section,
        name=name,
        help=meaning,
        optional=plain != annotation,
        project=not personal and section not in _OF_THE_DAEMON,
        **{"kind": "choice" if "choices" in rules else _KINDS.get(plain), **rules},
    )


KEYS = tuple(_keys())
LANE_NAME = "the name of a lane begins with a letter and has only letters, digits, - and _"
LANE = "how many runs of that lane run at a time; any name makes a lane, 0 starts nothing"

# Variables with our prefix that are not keys: what a task gets, and where things are.
VARIABLES: Mapping[str, str] = {
    "ERRANDS_HOME": "where the state lives; "
    "without it `$XDG_STATE_HOME/errands`, usually `~/.local/state/errands`",
    "ERRANDS_SESSION": "whose tasks and notices are used (default `user`)",
    "ERRANDS_CHANNEL": "where tasks started here report, such as `discord:1234`; "
    "separate several with semicolons",
    "ERRANDS_PLATFORM": "`posix` uses the portable supervision instead of the system's own",
    "ERRANDS_WAKE": "for `errands mcp`: `session` if something notifies the client of ERRANDS_SESSION when a "
    "task ends; without it nothing does",
    "ERRANDS_METRICS_TOKEN": "for `errands metrics --listen`: the token that a scraper must present; "
    "without it the one in `metrics/token` of the home",
    "ERRANDS_MCP_TOKEN": "for `errands mcp` over HTTP: the token that a client must present; "
    "without it the one in `mcp/token` of the home",
    "ERRANDS_TASK_ID": "in a task: its id",
    "ERRANDS_RUN_ID": "in a task: the id of its run",
    "ERRANDS_RUN_DIR": "in a task: the directory of its run, for files to keep",
    "ERRANDS_PROGRESS": "in a task: the file to write progress to",
    "ERRANDS_EXIT_CODE": "in a `--finally` command: the exit code of the run",
    "ERRANDS_OUTCOME": "in a `--finally` command: how the run ended",
    "ERRANDS_EVENT_SOURCE": "in a run that an event started: its source, such as `file`",
    "ERRANDS_EVENT_SUBJECT": "in a run that an event started: what was watched",
    "ERRANDS_EVENT_SUMMARY": "in a run that an event started: the last signal, in one line",
    "ERRANDS_EVENT_COUNT": "in a run that an event started: the number of signals",
    "ERRANDS_EVENT_FILE": "in a run that an event started: the file with all signals, as JSON",
    "ERRANDS_BOOT_ID_FILE": "in tests: a file to read instead of the system's boot id",
}


def key_of(section: str, name: str) -> Key | None:
    """Return a key, or None if there is none; any valid name is the key of a lane."""
    if section == "lanes":
        letters = name.replace("-", "").replace("_", "")
        return _lane(name) if name[:1].isalpha() and letters.isalnum() and name.isascii() else None
    return next((key for key in KEYS if key.section == section and key.name == name), None)


def _lane(name: str) -> Key:
    return Key(section="lanes", name=name, kind="count", help=LANE, project=False)


def entries(config: Config) -> Iterator[tuple[Key, Any, str]]:
    """Yield every key with its value and where that came from; the lanes come before the runs."""
    for key in KEYS:
        if key.path == "runs.shell":
            for name, wide in config.lanes.items():
                lane = _lane(name)
                yield lane, wide, config.origin.get(lane.path, "default")
        value = getattr(getattr(config, key.section), key.name)
        yield key, value, config.origin.get(key.path, "default")


def written(key: Key, value: Any) -> str:
    """Return a key's value the way a file or a variable has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return exact(value)
    if isinstance(value, tuple):
        return "; ".join(value) or "none"
    return exact_size(value) if key.kind == "size" else str(value)
