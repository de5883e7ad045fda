"""The context of a command: its directory, environment, terminal, configuration and engine.

Everything that costs time is made when it is first needed.
"""

from __future__ import annotations

import os
import sys

from errands import config
from errands.text import Look, fitting, wants_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from errands.config import Config
    from errands.engine.engine import Engine
    from errands.model.agent.candidate import Candidate
    from errands.model.notices.notice import Address
    from errands.model.view import View
    from errands.ports.fleet import Fleet
    from errands.ports.home import Home

    class Bootstrap(Protocol):
        """`errands.bootstrap`, which wires the parts; it is above the command line, so it is passed in."""

        def open_home(self, path: str | None = None) -> Home: ...
        def open_client(self, home: Home | None = None, config: Config | None = None) -> Engine: ...
        def start_daemon(self, home: Home) -> None: ...
        def open_fleet(self, address: str) -> Fleet: ...
        def run_daemon(self, home: Home | None = None) -> int: ...
        def store_damage(self, home: Home) -> list[str]: ...
        def repair_store(self, home: Home) -> Repaired: ...
        def platform(self) -> tuple[str, tuple[str, ...], str]: ...
        def unattended(self, home: Home) -> list[str]: ...
        def channel_trouble(self, name: str, config: Config) -> str: ...
        def source_trouble(self, name: str) -> str: ...
        def send_trial(self, address: Address, config: Config) -> None: ...
        def run_discord(self, home: Home, config: Config, name: str) -> int: ...
        def run_chat(self, engine: Engine, **options: Any) -> int: ...
        def run_top(self, engine: Engine, *, look: Look) -> int: ...
        def agent_readiness(self, name: str, config: Config) -> str: ...
        def agent_candidates(self, environ: Mapping[str, str]) -> list[Candidate]: ...
        def serve_mcp(
            self, dialect: str, *, http: str | None, everything: bool, environ: Mapping[str, str] = ...
        ) -> int: ...
        def run_web(self, home: Home, config: Config, **options: Any) -> int: ...
        def serve_opencode(self, home: Home, environ: Mapping[str, str]) -> int: ...
        def installation(
            self,
            client: str,
            *,
            environ: Mapping[str, str],
            project: str | None,
            dialect: str | None,
            trust: bool | None = None,
        ) -> Installation: ...
        def service(self, home: Home, *, environ: Mapping[str, str], web: bool = ...) -> Installation: ...

    class Installation(Protocol):
        """Changes to files, as lines of a diff; `steps` are the commands that are run as well.

        `offer` is a setting that a person can choose: why they should, and the setting.
        """

        @property
        def missing(self) -> str: ...
        @property
        def offer(self) -> tuple[str, str] | None: ...
        def snippets(self) -> list[tuple[str, str]]: ...
        def plan(self, *, removing: bool) -> list[tuple[str, list[str]]]: ...
        def steps(self) -> list[str]: ...
        def carry_out(self) -> list[str]: ...

    class Repaired(Protocol):
        """What a repair of the store saved and lost, by table, and where the damaged file is."""

        @property
        def set_aside(self) -> str: ...
        @property
        def saved(self) -> dict[str, int]: ...
        @property
        def lost(self) -> dict[str, int]: ...


# A pipe has no right edge: its reader gets whole lines, unless COLUMNS says how wide they may be.
ENDLESS = 100_000
NARROWEST = 20  # columns; below that nothing can be laid out


class Context:
    def __init__(self, load_bootstrap: Callable[[], Bootstrap], environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._load_bootstrap = load_bootstrap
        self._config: Config | None = None
        self._strict = False
        self.fields: tuple[str, ...] = ()  # of JSON; none: all of them
        self._engine: Engine | None = None
        self._look: Look | None = None

    @property
    def bootstrap(self) -> Bootstrap:
        return self._load_bootstrap()

    @property
    def cwd(self) -> str:
        try:
            return os.getcwd()
        except FileNotFoundError:
            return "/"

    @property
    def home(self) -> Home:
        return self.bootstrap.open_home(config.home(self.environ))

    @property
    def session(self) -> str:
        """The owner of tasks and notices, unless another is given."""
        return self.environ.get("ERRANDS_SESSION") or "user"

    @property
    def config(self) -> Config:
        if self._config is None:
            self._config, problems = config.inspect(self.cwd, self.environ)
            if problems:
                wrong = config.BadConfig(problems)
                if self._strict:
                    raise wrong
                self.note(f"errands: ignoring invalid settings:\n{wrong}")
        return self._config

    def require_valid_config(self) -> None:
        """Refuse a wrong configuration from now on, because the command starts tasks that depend on it.

        Other commands print a warning and use the settings that are valid.
        """
        self._strict = True

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = self.bootstrap.open_client(self.home, self.config)
        return self._engine

    @property
    def look(self) -> Look:
        if self._look is None:
            self._look = look_of(sys.stdout, self.config.ui.colour, self.environ)
        return self._look

    @property
    def rows(self) -> int | None:
        """The lines of the terminal; None if the output goes elsewhere."""
        if not sys.stdout.isatty():
            return None
        try:
            return os.get_terminal_size(sys.stdout.fileno()).lines or None
        except OSError:
            return None

    def with_look(self, look: Look | None) -> Context:
        """Return this context for output with another look; None: what the terminal has now."""
        other = Context(self._load_bootstrap, self.environ)
        other._config, other._engine, other._look = self.config, self.engine, look
        return other

    @property
    def error_look(self) -> Look:
        return look_of(sys.stderr, self.config.ui.colour, self.environ)

    def ignore_problems(self) -> None:
        """Use the valid part of the configuration without a warning."""
        self._config, _ = config.inspect(self.cwd, self.environ)

    def say(self, *lines: str) -> None:
        """Print lines on standard output; those that are too wide wrap at words."""
        self.print_as_is(*fitting(lines, self.look.columns))

    def print_as_is(self, *lines: str) -> None:
        """Print what must not be wrapped: output of tasks, code, text for other programs."""
        sys.stdout.write("".join(f"{line}\n" for line in lines))

    def note(self, *lines: str) -> None:
        """Print lines on standard error: remarks that are not part of the result."""
        sys.stdout.flush()
        fitted = fitting(lines, columns_of(sys.stderr, self.environ))
        sys.stderr.write("".join(f"{line}\n" for line in fitted))
        sys.stderr.flush()

    def note_interrupted(self, text: str) -> None:
        """Note what an interrupt led to, on a line of its own: the terminal shows the ^C."""
        self.note(*([""] if sys.stderr.isatty() else []), text)

    def print_view(self, view: View, **more: Any) -> None:
        """Print a task as JSON; secrets among its variables are masked."""
        from errands.model.text.secrets import masked_variables
        from errands.model.view import as_json

        flat = as_json(view)
        if flat.get("env"):
            flat["env"] = masked_variables(flat["env"])
        self.print_json({**flat, **more})

    def print_json(self, thing: Mapping[str, Any]) -> None:
        """Print an object, or the fields of it that are wanted, as a line of JSON that is safe to look at."""
        import json

        if self.fields:
            from errands.frontends.cli.display.json_fields import picked

            thing = picked(thing, self.fields)

        from errands.model.text.sanitise import escape_json

        sys.stdout.write(escape_json(json.dumps(thing, ensure_ascii=False)) + "\n")

    def mark_shown(self, view: View) -> None:
        """Record that the end of a task was shown: neither our session nor this terminal is told again."""
        places = [self.session]
        if any(each.target.startswith("/dev/") for each in view.channels):
            from contextlib import suppress

            from errands.engine.notices.addresses import terminal
            from errands.model.errors import BadValue

            with suppress(BadValue):  # it has none
                places.append(terminal())
        self.engine.mark_shown(view, to=places, reader="cli")


def look_of(stream: Any, setting: str, environ: Mapping[str, str]) -> Look:
    """Return what can be shown on a stream."""
    return Look(
        colour=wants_colour(stream, setting=setting, environ=environ),
        unicode=(stream.encoding or "").lower().startswith("utf"),
        columns=columns_of(stream, environ),
    )


def columns_of(stream: Any, environ: Mapping[str, str]) -> int:
    """Return the width of a stream: COLUMNS also counts for a pipe, whose reader may be `watch`."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), NARROWEST)
    if not stream.isatty():
        return ENDLESS
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or 80, NARROWEST)
    except OSError:
        return 80
