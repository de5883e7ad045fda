"""Configuration: one frozen record per section, read from files, the environment and flags.

A later source wins: defaults, the user's file, the project's file, `ERRANDS_*` variables, flags. An unknown
key or a value of the wrong kind is an error that names the source and the key; nothing is ignored.
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
_ON_DEMAND = {
    "keys": ("KEYS", "LANE", "VARIABLES", "Key", "entries", "written"),
    "loader": ("BadConfig", "Problem"),
}

__all__ = [
    "LANES",
    "SECTIONS",
    "SHELL",
    "Config",
    "check_file",
    "home",
    "inspect",
    "load",
    "unknown_variables",
]


def __getattr__(name: str) -> object:
    # Imported on demand: a command that finds nothing configured needs neither the keys nor the loader.
    for module, names in _ON_DEMAND.items():
        if name in names:
            return getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def home(environ: Mapping[str, str] = os.environ) -> str:
    """Return the directory where the state lives."""
    given = environ.get("ERRANDS_HOME")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    return os.path.join(_xdg(environ, "XDG_STATE_HOME", ".local/state"), "errands")


def user_file(environ: Mapping[str, str] = os.environ) -> str:
    """Return the user's configuration file, whether it exists or not."""
    return os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "errands", "config.toml")


def account_file() -> str:
    """Return the configuration file in the home directory that the system knows; "" if there is none.

    The caller controls the variables, and pointing them elsewhere must not drop the user's own rules.
    """
    import pwd

    try:
        path = os.path.join(pwd.getpwuid(os.geteuid()).pw_dir, ".config", "errands", "config.toml")
    except KeyError:
        return ""
    return path if os.path.isfile(path) else ""


def project_file(cwd: str) -> str | None:
    """Find the `errands.toml` of the project that a directory belongs to, looking upwards."""
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
    """Read the configuration for a directory; raise BadConfig with every problem in it."""
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
    """Read as much of the configuration as possible, and return it with the problems found.

    Only a `thorough` loader checks what takes time: rules, programs, time zones, channels and agents.
    """
    user = user_file(environ)
    project = project_file(cwd if cwd is not None else _here())
    account = account_file()
    files = [(user, False)] if os.path.exists(user) else []
    if project is not None and project != user:
        files.append((project, True))
    variables = {name: value for name, value in environ.items() if _is_ours(name)}
    if not files and not variables and not overrides and not account:
        return Config(), ()
    from errands.config.loader import Loader

    loader = Loader(user)
    if account and not (os.path.exists(user) and os.path.samefile(account, user)):
        loader.account(account)
    for path, is_project in files:
        loader.file(path, project=is_project)
    for name, value in variables.items():
        section, _, key = name[len(PREFIX) :].lower().partition("_")
        loader.variable(name, section, key, value)
    for path, value in overrides.items():
        section, _, key = path.partition(".")
        loader.value("flag", section, key, value)
    if thorough:
        loader.launches()
        loader.agents()
        loader.default_agent()
    return loader.config(), tuple(loader.problems)


def check_file(path: str) -> tuple[Problem, ...]:
    """Return everything that is wrong in one file; an errands.toml is a project's."""
    from errands.config.loader import Loader

    loader = Loader(user_file())
    loader.file(path, project=os.path.basename(path) == "errands.toml")
    loader.launches()
    loader.agents()
    return tuple(loader.problems)


def unknown_variables(environ: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    from errands.config.loader import unknown_variables

    return unknown_variables(environ)


def _is_ours(variable: str) -> bool:
    section, _, key = variable[len(PREFIX) :].lower().partition("_")
    return variable.startswith(PREFIX) and bool(key) and (section == "lanes" or section in SECTIONS)


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> str:
    # The XDG specification says to ignore relative paths.
    given = environ.get(variable, "")
    if os.path.isabs(given):
        return given
    return os.path.join(environ.get("HOME") or os.path.expanduser("~"), fallback)


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
