"""The loader: reads one source after another, and collects everything that is wrong with them."""

from __future__ import annotations

from datetime import timedelta

from errands.config import toml
from errands.config.keys import KEYS, VARIABLES, key_of
from errands.config.sections import LANES, SECTIONS, Config
from errands.model.errors import BadValue
from errands.model.notices.notice import parse_address
from errands.model.record import record
from errands.model.text.duration import parse_duration, parse_size
from errands.text import did_you_mean, nearest, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from errands.config.keys import Key

_SHELL_WITHIN = 10.0  # seconds
_OFF = ("false", "no", "off", "0")


@record
class Problem:
    """Something wrong in a source, and what to do about it."""

    source: str
    key: str
    advice: str

    def __str__(self) -> str:
        return f"{self.source}: {self.key}: {self.advice}" if self.key else f"{self.source}: {self.advice}"


class BadConfig(BadValue):
    """The configuration cannot be used; `problems` is everything that is wrong with it."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        said = "\n".join(map(str, problems))
        super().__init__(f"{said}\n(`errands config check` lists every problem)")


class Loader:
    """The sources read so far: values, where they came from, and what was wrong."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        self.values |= {"lanes": dict(LANES), "channels": {}, "webhooks": {}}
        self.backends: dict[str, Any] = {}
        self.origin: dict[str, str] = {}
        self.problems: list[Problem] = []

    def config(self) -> Config:
        sections = {name: kind(**self.values[name]) for name, kind in SECTIONS.items()}
        return Config(
            lanes=self.values["lanes"],
            backends=self.backends,
            channels=self.values["channels"],
            webhooks=self.values["webhooks"],
            origin=self.origin,
            **sections,
        )

    def _problem(self, source: str, key: str, advice: str) -> None:
        self.problems.append(Problem(source=source, key=key, advice=advice))

    def _tree(self, path: str) -> dict[str, Any]:
        try:
            with open(path, "rb") as stream:
                return toml.loads(stream.read().decode().replace("\r\n", "\n"))
        except FileNotFoundError:
            self._problem(path, "", "file not found")
        except UnicodeDecodeError:
            self._problem(path, "", "is not UTF-8 text; save it as UTF-8")
        except IsADirectoryError:
            self._problem(path, "", "is a directory; put a file in its place")
        except OSError as error:
            self._problem(path, "", f"cannot be read ({error.strerror}); check the file and its permissions")
        except ValueError as error:
            self._problem(path, "", f"not valid TOML: {error}")
        return {}

    def account(self, path: str) -> None:
        """Read only the rules that ask and deny from the account's own file: variables name another one."""
        rules = self._tree(path).get("approval")
        for name in ("ask", "deny"):
            if isinstance(rules, dict) and name in rules:
                self.value(path, "approval", name, rules[name])

    def file(self, path: str, *, project: bool) -> None:
        tree = self._tree(path)
        for section, table in tree.items():
            if section not in self.values:
                what = "section" if isinstance(table, dict) else "key outside every section"
                self._problem(path, section, _unknown(what, section, self.values, "the sections are"))
            elif not isinstance(table, dict):
                self._problem(path, section, f"is a section; write [{section}] and its keys below")
            else:
                for name, raw in table.items():
                    self.value(path, section, name, raw, project=project)

    def launches(self) -> None:
        """Find values that look right, but would keep every task from starting or reporting."""
        from errands.config.channels import READY
        from errands.judge.rules import read_rules
        from errands.model.schedule.zone import zone_named

        for name in ("allow", "ask", "deny"):
            for rule in self.values["approval"].get(name, ()):
                try:
                    read_rules(**{name: [rule]})
                except BadValue as error:
                    self._wrong(f"approval.{name}", str(error))
        if trouble := _shell_trouble(self.values["runs"].get("shell")):
            self._wrong("runs.shell", trouble)
        try:
            if (zone := self.values["schedules"].get("zone", "local")) != "local":
                zone_named(zone)
        except BadValue as error:
            self._wrong("schedules.zone", str(error))
        known = (*self.values["channels"], *READY)
        for address in self.values["notices"].get("channels", ()):
            name = parse_address(address).channel
            if name not in known:
                near = did_you_mean(name, known)
                self._wrong(
                    "notices.channels", f"unknown channel {name!r}{near}; write a section [channels.{name}]"
                )

    def _wrong(self, path: str, advice: str) -> None:
        self._problem(self.origin.get(path, "default"), path, advice)

    def variable(self, name: str, section: str, key: str, raw: str) -> None:
        """Read a variable. The caller of a task sets it, so it can never make approval laxer."""
        source, path = f"environment {name}", f"{section}.{key}"
        is_laxer = (path == "approval.yes" and raw.strip().lower() not in _OFF) or (
            path == "approval.mode" and raw.strip() != "careful"
        )
        if path == "approval.allow" or is_laxer:
            advice = f"a variable cannot allow more than you do; set it in your own file, {self.user}"
            return self._problem(source, path, advice)
        self.value(source, section, key, raw)

    def value(self, source: str, section: str, name: str, raw: Any, *, project: bool = False) -> None:
        path = f"{section}.{name}"
        if section in ("channels", "webhooks") or (section == "agents" and isinstance(raw, dict)):
            return self._table(source, section, name, raw, project=project)
        key = key_of(section, name)
        if key is None:
            known = [k.name for k in KEYS if k.section == section]
            return self._problem(source, path, _unknown("key", name, known, "there are"))
        if project and not key.project:
            advice = f"a project cannot decide this; set it in your own file, {self.user}, or {key.variable}"
            return self._problem(source, path, advice)
        try:
            value = _value(key, raw)
            self.values[section][name] = (*self.values[section].get(name, ()), *value) if key.adds else value
        except (ValueError, BadValue) as error:
            return self._problem(source, path, str(error))
        self.origin[path] = source

    def _table(self, source: str, section: str, name: str, settings: Any, *, project: bool) -> None:
        """Take the table of an agent, a channel or a webhook, unless something is wrong with it."""
        from errands.config.backends import wrong
        from errands.config.channels import wrong_channel, wrong_webhook

        path = f"{section}.{name}"
        check = {"agents": wrong, "channels": wrong_channel, "webhooks": wrong_webhook}[section]
        if project:
            # They name programs to start, places to send output and conversations to, and whom to trust.
            found = [("", f"a project cannot decide this; set it in your own file, {self.user}")]
        elif not isinstance(settings, dict):
            found = [("", f"is a {section.removesuffix('s')}; write [{path}] and its settings below")]
        else:
            found = list(check(name, settings))
        for key, advice in found:
            self._problem(source, f"{path}.{key}" if key else path, advice)
        if not found:
            (self.backends if section == "agents" else self.values[section])[name] = settings
            self.origin[path] = source

    def agents(self) -> None:
        """Find the agents that could never answer; asking one of them is refused as well."""
        from errands.config.backends import lacking

        for name, settings in self.backends.items():
            for key, advice in lacking(name, settings, self.values["lanes"]):
                self._problem(self.origin[f"agents.{name}"], f"agents.{name}.{key}", advice)

    def default_agent(self) -> None:
        from errands.config.backends import BACKENDS, is_agent

        source = self.origin.get("agents.default")
        if source is None:
            return
        default = self.values["agents"]["default"]
        if not is_agent(default, self.backends):
            known = dict.fromkeys((*BACKENDS, *self.backends))
            near = did_you_mean(default, known)
            advice = f"unknown agent {default!r}{near}; known: {', '.join(known)}"
            self._problem(source, "agents.default", advice)


def _unknown(what: str, word: str, known: Iterable[str], these: str) -> str:
    """Say that a name does not exist; suggest the one that was meant, or list all."""
    near = did_you_mean(word, known)
    return f"no such {what}{near}" if near else f"no such {what}; {these}: {', '.join(sorted(known))}"


def _shell_trouble(shell: str | None) -> str:
    """Return why a program cannot read commands, empty if it can, by trying it."""
    if shell is None:
        return ""
    import subprocess

    try:
        done = subprocess.run(
            [shell, "-c", "exit 7"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SHELL_WITHIN
        )
    except (OSError, ValueError) as error:
        return f"{shell!r} cannot be started, so no command can run: {error}"
    except subprocess.TimeoutExpired:
        return f"{shell!r} does not end, so no command can run; name a shell such as /bin/bash"
    if done.returncode != 7:
        return f"{shell!r} does not run what follows -c, so no command can; name a shell such as /bin/bash"
    return ""


def unknown_variables(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each unknown `ERRANDS_*` variable, which may be another program's."""
    known = [*VARIABLES, *(key.variable for key in KEYS)]
    for name in sorted(environ):
        if name.startswith("ERRANDS_") and name not in known and not name.startswith("ERRANDS_LANES_"):
            # The common prefix must not count as similarity.
            near = nearest(name[8:], [each[8:] for each in known])
            advice = "not a setting" + (f" (did you mean ERRANDS_{near}?)" if near else "")
            yield Problem(source="environment", key=name, advice=advice)


def _value(key: Key, raw: Any) -> Any:
    if key.optional and raw == "none":
        return None
    match key.kind:
        case "duration":
            return _duration(raw)
        case "size":
            if isinstance(raw, bool) or not isinstance(raw, int | str):
                raise ValueError(f"{raw!r} is not a size; write 512K, 10MiB or 2G")
            return _at_least(parse_size(str(raw)), key.least)
        case "count":
            if isinstance(raw, bool) or not isinstance(raw, int | str) or not str(raw).strip().isdecimal():
                raise ValueError(f"{raw!r} is not a whole number of at least {key.least}")
            return _at_least(int(raw), key.least)
        case "flag":
            return _flag(raw)
        case "rules":
            return _list(raw, 'a list of commands; write ["make *", "npm test"]')
        case "addresses":
            found = _list(raw, 'a list of channels; write ["terminal", "discord:1234"]')
            return tuple(str(parse_address(each)) for each in found)
        case "choice":
            if raw not in key.choices:
                near = did_you_mean(raw, key.choices) if isinstance(raw, str) else ""
                raise ValueError(f"cannot be {raw!r}; choose one of: {', '.join(key.choices)}{near}")
            return raw
        case "text":
            if not isinstance(raw, str) or not raw.strip():
                raise ValueError(f"{raw!r} is not text; write it in quotes")
            return raw


def _duration(raw: Any) -> timedelta:
    # A bare 7 means days to one reader and seconds to another.
    if not isinstance(raw, str) or raw.strip().replace(".", "", 1).isdecimal():
        raise ValueError(f'{raw!r} has no unit; write a duration with its unit, in quotes, such as "{raw}s"')
    length = parse_duration(raw)
    if length <= timedelta(0):
        raise ValueError(f"{raw!r} is not a positive duration; write a longer one, such as 5s")
    return length


def _list(raw: Any, meant: str) -> tuple[str, ...]:
    # A variable separates them with semicolons, which neither a rule nor an address contains.
    items = raw.split(";") if isinstance(raw, str) else raw
    if not isinstance(items, list | tuple) or not all(isinstance(each, str) for each in items):
        raise ValueError(f"{raw!r} is not {meant}")
    return tuple(each.strip() for each in items if each.strip() and each.strip() != "none")


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = raw.strip().lower() if isinstance(raw, str) else ""
    if word in ("true", "yes", "on", "1"):
        return True
    if word in _OFF:
        return False
    raise ValueError(f"{raw!r} is neither true nor false")


def _at_least(number: int, least: int) -> int:
    if number < least:
        raise ValueError(f"{number} is too small; the minimum is {size(least) if least >= 1024 else least}")
    return number
