"""Configuration: one frozen record per section, read from files, the environment and flags.

A later source wins: defaults, the user's file, the project's file, `ERRANDS_*` variables, flags. A key that
does not exist and a value of the wrong kind are errors that name the source and the key; nothing is ignored.
"""

from __future__ import annotations

import os
from datetime import timedelta

from errands.model.errors import BadValue
from errands.model.record import record
from errands.text import did_you_mean, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    from errands.model.limits import OnIdle
    from errands.model.notice import Policy

    Kind = Literal["duration", "size", "count", "flag", "choice", "text"]
    Durability = Literal["normal", "full"]

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


@record
class Ui:
    colour: str = "auto"


LANES = {"shell": 5, "agent": 4, "local": 1}


@record
class Config:
    """The whole configuration; `origin` says where each value that is no default came from."""

    daemon: Daemon = Daemon()
    lanes: Mapping[str, int] = LANES
    runs: Runs = Runs()
    retention: Retention = Retention()
    store: Store = Store()
    notices: Notices = Notices()
    ui: Ui = Ui()
    origin: Mapping[str, str] = {}


SECTIONS = {
    "daemon": Daemon,
    "runs": Runs,
    "retention": Retention,
    "store": Store,
    "notices": Notices,
    "ui": Ui,
}


@record
class Key:
    """What a key means and which values it takes.

    `project` is False where a project cannot decide: a cloned repository must not choose the program that
    reads commands, and the daemon serves all projects.
    """

    section: str
    name: str
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    optional: bool = False
    project: bool = True
    default_text: str = ""

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return f"ERRANDS_{self.section}_{self.name}".upper()


def _key(path: str, kind: Kind, meaning: str, **more: Any) -> Key:
    section, _, name = path.partition(".")
    project = path != "runs.shell" and section not in ("daemon", "lanes", "retention", "store")
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
    _key("retention.enabled", "flag", "whether finished tasks are removed by themselves"),
    _key("retention.keep", "duration", "how long a finished task is kept"),
    _key("retention.history", "duration", "how long the earlier runs of a task are kept"),
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
        choices=("always", "on_failure", "never"),
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
    "ERRANDS_HOME": "where the state lives",
    "ERRANDS_SESSION": "whose tasks and notices are meant; without it those of `user`",
    "ERRANDS_PLATFORM": "`posix` uses the portable supervision instead of that of the system",
    "ERRANDS_TASK_ID": "in a task: its id",
    "ERRANDS_RUN_ID": "in a task: the id of its run",
    "ERRANDS_RUN_DIR": "in a task: the directory of its run, for files that shall be kept",
    "ERRANDS_PROGRESS": "in a task: the file to which progress can be written",
    "ERRANDS_EXIT_CODE": "in a `--finally` command: the exit code of the run",
    "ERRANDS_OUTCOME": "in a `--finally` command: how the run ended",
    "ERRANDS_BOOT_ID_FILE": "in tests: a file that is read in place of the system's boot id",
}


@record
class Problem:
    """Something wrong in a source, and what to do about it."""

    source: str
    key: str
    advice: str

    def __str__(self) -> str:
        return f"{self.source}: {self.key}: {self.advice}" if self.key else f"{self.source}: {self.advice}"


class BadConfig(BadValue):
    """A source that cannot be used, with everything that is wrong in it."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


def home(environ: Mapping[str, str] = os.environ) -> str:
    """Name the directory where the state lives."""
    given = environ.get("ERRANDS_HOME")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    return os.path.join(_xdg(environ, "XDG_STATE_HOME", ".local/state"), "errands")


def user_file(environ: Mapping[str, str] = os.environ) -> str:
    """Name the user's configuration file, whether it exists or not."""
    return os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "errands", "config.toml")


def project_file(cwd: str) -> str | None:
    """Find the `errands.toml` of the project a directory belongs to, looking upwards."""
    directory = os.path.abspath(cwd)
    while True:
        candidate = os.path.join(directory, "errands.toml")
        if os.path.isfile(candidate):
            return candidate
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def load(
    cwd: str | None = None,
    environ: Mapping[str, str] = os.environ,
    overrides: Mapping[str, str] = {},
) -> Config:
    """Read the configuration as it is for a directory; every problem is in the error it raises."""
    config, problems = inspect(cwd, environ, overrides)
    if problems:
        raise BadConfig(problems)
    return config


def inspect(
    cwd: str | None = None,
    environ: Mapping[str, str] = os.environ,
    overrides: Mapping[str, str] = {},
) -> tuple[Config, tuple[Problem, ...]]:
    """Read the configuration as far as it can be read, with the problems found on the way."""
    user = user_file(environ)
    reading = _Reading(user)
    if os.path.isfile(user):
        reading.file(user, project=False)
    project = project_file(cwd if cwd is not None else _here())
    if project is not None and project != user:
        reading.file(project, project=True)
    reading.environment(environ)
    for path, raw in overrides.items():
        section, _, name = path.partition(".")
        reading.value("flag", section, name, raw)
    return reading.config(), tuple(reading.problems)


def check_file(path: str) -> tuple[Problem, ...]:
    """Find everything wrong in one file; one called errands.toml is a project's."""
    project = os.path.basename(path) == "errands.toml"
    reading = _Reading(user_file())
    reading.file(path, project=project)
    return tuple(reading.problems)


def strangers(environ: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """Find `ERRANDS_*` variables that mean nothing; they may be another program's, so this is a warning."""
    known = [*VARIABLES, *(key.variable for key in KEYS)]
    for name in sorted(environ):
        if name.startswith("ERRANDS_") and name not in known and not name.startswith("ERRANDS_LANES_"):
            yield Problem(source="environment", key=name, advice="means nothing" + did_you_mean(name, known))


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
        return _written_length(value)
    return _written_size(value) if key.kind == "size" else str(value)


def _written_length(length: timedelta) -> str:
    rest = length // timedelta(milliseconds=1)
    pieces = ""
    for unit, thousandths in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        if rest >= thousandths:
            pieces += f"{rest // thousandths}{unit}"
            rest %= thousandths
    return pieces or "0s"


def _written_size(count: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)


class _Reading:
    """The sources read so far: values, where they came from, and what was wrong."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        self.values["lanes"] = dict(LANES)
        self.origin: dict[str, str] = {}
        self.problems: list[Problem] = []

    def config(self) -> Config:
        sections = {name: kind(**self.values[name]) for name, kind in SECTIONS.items()}
        return Config(lanes=self.values["lanes"], origin=self.origin, **sections)

    def problem(self, source: str, key: str, advice: str) -> None:
        self.problems.append(Problem(source=source, key=key, advice=advice))

    def file(self, path: str, *, project: bool) -> None:
        import tomllib

        try:
            with open(path, "rb") as stream:
                tree = tomllib.load(stream)
        except (OSError, UnicodeDecodeError) as error:
            return self.problem(path, "", f"cannot be read ({error}); check the file and its permissions")
        except tomllib.TOMLDecodeError as error:
            return self.problem(path, "", f"is not valid TOML: {error}")
        for section, table in tree.items():
            if section not in self.values:
                what = "section" if isinstance(table, dict) else "key outside every section"
                self.problem(path, section, f"no such {what}" + did_you_mean(section, self.values))
            elif not isinstance(table, dict):
                self.problem(path, section, f"is a section; write [{section}] and its keys below")
            else:
                for name, raw in table.items():
                    self.value(path, section, name, raw, project=project)

    def environment(self, environ: Mapping[str, str]) -> None:
        for variable, raw in environ.items():
            if not variable.startswith("ERRANDS_"):
                continue
            section, _, name = variable[8:].lower().partition("_")
            if section in self.values and name:
                self.value(f"environment {variable}", section, name, raw)

    def value(self, source: str, section: str, name: str, raw: Any, *, project: bool = False) -> None:
        path = f"{section}.{name}"
        key = _found(section, name)
        if key is None:
            known = [k.name for k in KEYS if k.section == section]
            return self.problem(source, path, "no such key" + did_you_mean(name, known))
        if project and not key.project:
            advice = f"a project cannot decide this; set it in your own file, {self.user}, or {key.variable}"
            return self.problem(source, path, advice)
        try:
            self.values[section][name] = _value(key, raw)
        except (ValueError, BadValue) as error:
            return self.problem(source, path, str(error))
        self.origin[path] = source


def _found(section: str, name: str) -> Key | None:
    if section == "lanes":
        good = (
            name and name[0].isalpha() and name.replace("-", "").replace("_", "").isalnum() and name.isascii()
        )
        return _key(f"lanes.{name}", "count", LANE) if good else None
    return next((key for key in KEYS if key.section == section and key.name == name), None)


def _value(key: Key, raw: Any) -> Any:
    if key.optional and raw == "none":
        return None
    match key.kind:
        case "duration":
            return _duration(raw)
        case "size":
            if isinstance(raw, bool) or not isinstance(raw, int | str):
                raise ValueError(f"{raw!r} is not a size; write 512K, 10MiB or 2G")
            return _at_least(_sized(str(raw)), key.least)
        case "count":
            if isinstance(raw, bool) or not isinstance(raw, int | str) or not str(raw).strip().isdecimal():
                raise ValueError(f"{raw!r} is not a whole number from {key.least} upwards")
            return _at_least(int(raw), key.least)
        case "flag":
            return _flag(raw)
        case "choice":
            if raw not in key.choices:
                near = did_you_mean(raw, key.choices) if isinstance(raw, str) else ""
                raise ValueError(f"cannot be {raw!r}; choose one of: {', '.join(key.choices)}{near}")
            return raw
        case "text":
            if not isinstance(raw, str) or not raw.strip():
                raise ValueError(f"{raw!r} is not a text; write it in quotes")
            return raw


def _duration(raw: Any) -> timedelta:
    from errands.model.duration import parse_duration

    # A bare 7 may mean days to one reader and seconds to another; a file is no place to guess.
    if not isinstance(raw, str) or raw.strip().replace(".", "", 1).isdecimal():
        raise ValueError(f'{raw!r} has no unit; write a duration with its unit, in quotes, such as "{raw}s"')
    length = parse_duration(raw)
    if length <= timedelta(0):
        raise ValueError(f"{raw!r} is no time at all; write something longer, such as 5s")
    return length


def _sized(raw: str) -> int:
    from errands.model.duration import parse_size

    return parse_size(raw)


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = raw.strip().lower() if isinstance(raw, str) else ""
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise ValueError(f"{raw!r} is neither true nor false")


def _at_least(number: int, least: int) -> int:
    if number < least:
        raise ValueError(f"{number} is too little; the least is {size(least) if least >= 1024 else least}")
    return number


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> str:
    # The base directory specification has relative paths ignored.
    given = environ.get(variable, "")
    if os.path.isabs(given):
        return given
    return os.path.join(environ.get("HOME") or os.path.expanduser("~"), fallback)


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
