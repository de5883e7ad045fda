"""Reading: the sources one after the other, and everything that is wrong with them."""

from __future__ import annotations

from datetime import timedelta

from errands.config.keys import KEYS, VARIABLES, key_of
from errands.config.sections import LANES, SECTIONS, Config
from errands.model.errors import BadValue
from errands.model.notices.notice import parse_address
from errands.model.record import record
from errands.model.text.duration import parse_duration, parse_size
from errands.text import did_you_mean, nearest, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from errands.config.keys import Key

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
    """A source that cannot be used, with everything that is wrong in it."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        told = "\n".join(str(problem) for problem in problems)
        super().__init__(f"{told}\n(errands config check tells when all is well)")


class Reading:
    """The sources read so far: values, where they came from, and what was wrong."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        self.values["lanes"] = dict(LANES)
        self.values["channels"] = {}
        self.values["webhooks"] = {}
        self.backends: dict[str, Mapping[str, Any]] = {}
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

    def problem(self, source: str, key: str, advice: str) -> None:
        self.problems.append(Problem(source=source, key=key, advice=advice))

    def file(self, path: str, *, project: bool) -> None:
        import tomllib

        try:
            with open(path, "rb") as stream:
                tree = tomllib.load(stream)
        except FileNotFoundError:
            return self.problem(path, "", "there is no such file")
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

    def rules(self, source: str) -> None:
        """Find the rules that mean nothing; whoever judges by them refuses them as well."""
        from errands.judge.rules import read_rules

        for name in ("allow", "ask", "deny"):
            for rule in self.values["approval"].get(name, ()):
                try:
                    read_rules(**{name: [rule]})
                except BadValue as error:
                    self.problem(source, f"approval.{name}", str(error))

    def variable(self, name: str, section: str, key: str, raw: str) -> None:
        """Read a variable. Whoever asks for a task sets them, so none of them can make approval laxer."""
        source, path = f"environment {name}", f"{section}.{key}"
        if path == "approval.allow" or (path == "approval.yes" and raw.strip().lower() not in _OFF):
            advice = f"a variable cannot allow more than you do; set it in your own file, {self.user}"
            return self.problem(source, path, advice)
        self.value(source, section, key, raw)

    def value(self, source: str, section: str, name: str, raw: Any, *, project: bool = False) -> None:
        path = f"{section}.{name}"
        if section == "agents" and isinstance(raw, dict):
            return self.backend(source, name, raw, project=project)
        if section in ("channels", "webhooks"):
            return self.table(source, section, name, raw, project=project)
        key = key_of(section, name)
        if key is None:
            known = [k.name for k in KEYS if k.section == section]
            return self.problem(source, path, "no such key" + did_you_mean(name, known))
        if project and not key.project:
            advice = f"a project cannot decide this; set it in your own file, {self.user}, or {key.variable}"
            return self.problem(source, path, advice)
        try:
            value = _value(key, raw)
            self.values[section][name] = (*self.values[section].get(name, ()), *value) if key.adds else value
        except (ValueError, BadValue) as error:
            return self.problem(source, path, str(error))
        self.origin[path] = source

    def backend(self, source: str, name: str, settings: Mapping[str, Any], *, project: bool) -> None:
        """Take the settings of an agent, which depend on its backend."""
        from errands.config.backends import wrong

        path = f"agents.{name}"
        if project:
            # They name programs to start and places to send conversations to.
            return self.problem(
                source, path, f"a project cannot decide this; set it in your file, {self.user}"
            )
        found = list(wrong(name, settings))
        for key, advice in found:
            self.problem(source, f"{path}.{key}", advice)
        if not found:
            self.backends[name] = settings
            self.origin[path] = source

    def agents(self) -> None:
        """Find the agents that could never answer; whoever asks one of them is refused as well."""
        from errands.config.backends import lacking

        for name, settings in self.backends.items():
            for key, advice in lacking(name, settings, self.values["lanes"]):
                self.problem(self.origin[f"agents.{name}"], f"agents.{name}.{key}", advice)

    def default_agent(self) -> None:
        """Find out that the agent that is usually asked does not exist."""
        from errands.config.backends import BACKENDS, is_agent

        source = self.origin.get("agents.default")
        if source is None:
            return
        default = self.values["agents"]["default"]
        if not is_agent(default, self.backends):
            known = dict.fromkeys((*BACKENDS, *self.backends))
            near = did_you_mean(default, known)
            advice = f"there is no agent {default!r}{near}; there are: {', '.join(known)}"
            self.problem(source, "agents.default", advice)

    def table(self, source: str, section: str, name: str, settings: Any, *, project: bool) -> None:
        """Take the settings of a channel or a webhook, if those of its kind are well."""
        if section == "channels":
            from errands.config.channels import complaints
        else:
            from errands.config.webhooks import complaints

        path = f"{section}.{name}"
        if project:
            # They name places to which the output of tasks is sent, and whom to believe.
            return self.problem(
                source, path, f"a project cannot decide this; set it in your file, {self.user}"
            )
        found = list(complaints(name, settings))
        for key, advice in found:
            self.problem(source, f"{path}.{key}" if key else path, advice)
        if not found:
            self.values[section][name] = settings
            self.origin[path] = source


def strangers(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Find `ERRANDS_*` variables that mean nothing; they may be another program's, so this is a warning."""
    known = [*VARIABLES, *(key.variable for key in KEYS)]
    for name in sorted(environ):
        if name.startswith("ERRANDS_") and name not in known and not name.startswith("ERRANDS_LANES_"):
            # What all of them begin with makes none of them alike.
            near = nearest(name[8:], [each[8:] for each in known])
            advice = "means nothing" + (f" (did you mean ERRANDS_{near}?)" if near else "")
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
                raise ValueError(f"{raw!r} is not a whole number from {key.least} upwards")
            return _at_least(int(raw), key.least)
        case "flag":
            return _flag(raw)
        case "rules":
            return _rules(raw)
        case "addresses":
            return _addresses(raw)
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
    # A bare 7 may mean days to one reader and seconds to another; a file is no place to guess.
    if not isinstance(raw, str) or raw.strip().replace(".", "", 1).isdecimal():
        raise ValueError(f'{raw!r} has no unit; write a duration with its unit, in quotes, such as "{raw}s"')
    length = parse_duration(raw)
    if length <= timedelta(0):
        raise ValueError(f"{raw!r} is no time at all; write something longer, such as 5s")
    return length


def _rules(raw: Any) -> tuple[str, ...]:
    # In a variable they are parted by semicolons, which no rule contains.
    rules = raw.split(";") if isinstance(raw, str) else raw
    if not isinstance(rules, list | tuple) or not all(isinstance(each, str) for each in rules):
        raise ValueError(f'{raw!r} is no list of commands; write ["make *", "npm test"]')
    return tuple(each.strip() for each in rules if each.strip() and each.strip() != "none")


def _addresses(raw: Any) -> tuple[str, ...]:
    words = raw.split(";") if isinstance(raw, str) else raw
    if not isinstance(words, list | tuple) or not all(isinstance(each, str) for each in words):
        raise ValueError(f'{raw!r} is no list of channels; write ["terminal", "discord:1234"]')
    return tuple(str(parse_address(each)) for each in words if each.strip() and each.strip() != "none")


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
        raise ValueError(f"{number} is too little; the least is {size(least) if least >= 1024 else least}")
    return number
