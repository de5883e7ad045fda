"""Configuration: one frozen record per section, read from files, the environment and flags.

A later source wins: defaults, the user's file, the project's file, `ERRANDS_*` variables, flags. A key that
does not exist and a value of the wrong kind are errors that name the source and the key; nothing is ignored.
"""

from __future__ import annotations

import os

from errands.config.sections import LANES, SECTIONS, SHELL, Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from errands.config.keys import KEYS as KEYS
    from errands.config.keys import LANE as LANE
    from errands.config.keys import VARIABLES as VARIABLES
    from errands.config.keys import Key as Key
    from errands.config.keys import entries as entries
    from errands.config.keys import written as written
    from errands.config.loader import BadConfig as BadConfig
    from errands.config.loader import Problem as Problem

PREFIX = "ERRANDS_"
LATER = {
    "keys": ("KEYS", "LANE", "VARIABLES", "Key", "entries", "written"),
    "loader": ("BadConfig", "Problem"),
}

__all__ = ["LANES", "SECTIONS", "SHELL", "Config", "check_file", "home", "inspect", "load", "strangers"]


def __getattr__(name: str) -> object:
    # Loaded on demand: most commands find nothing configured and need neither the keys nor their reading.
    for module, names in LATER.items():
        if name in names:
            return getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
        from errands.config.loader import BadConfig

        raise BadConfig(problems)
    return config


def inspect(
    cwd: str | None = None,
    environ: Mapping[str, str] = os.environ,
    overrides: Mapping[str, str] = {},
    *,
    thorough: bool = False,
) -> tuple[Config, tuple[Problem, ...]]:
    """Read the configuration as far as it can be read, with the problems found on the way.

    Only a `thorough` reading looks whether the agents that are configured exist, because that takes its time.
    """
    user = user_file(environ)
    project = project_file(cwd if cwd is not None else _here())
    files = [(user, False)] if os.path.isfile(user) else []
    if project is not None and project != user:
        files.append((project, True))
    variables = {name: value for name, value in environ.items() if _is_ours(name)}
    if not files and not variables and not overrides:
        return Config(), ()
    from errands.config.loader import Reading

    reading = Reading(user)
    for path, is_project in files:
        reading.file(path, project=is_project)
    for name, value in variables.items():
        section, _, key = name[len(PREFIX) :].lower().partition("_")
        reading.variable(name, section, key, value)
    for path, value in overrides.items():
        section, _, key = path.partition(".")
        reading.value("flag", section, key, value)
    if thorough:
        reading.agents()
        reading.default_agent()
    return reading.config(), tuple(reading.problems)


def check_file(path: str) -> tuple[Problem, ...]:
    """Find everything wrong in one file; one called errands.toml is a project's."""
    from errands.config.loader import Reading

    reading = Reading(user_file())
    reading.file(path, project=os.path.basename(path) == "errands.toml")
    reading.rules(path)
    reading.agents()
    return tuple(reading.problems)


def strangers(environ: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """Find `ERRANDS_*` variables that mean nothing; they may be another program's, so this is a warning."""
    from errands.config.loader import strangers

    return strangers(environ)


def _is_ours(variable: str) -> bool:
    section, _, key = variable[len(PREFIX) :].lower().partition("_")
    return variable.startswith(PREFIX) and bool(key) and (section == "lanes" or section in SECTIONS)


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
