"""The services: start the daemon, or the web server, after a reboot, and keep them running after a logout.

A systemd user unit or a launchd agent, for one home. Stopping one ends only its program; tasks keep running.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Literal

from errands.model.errors import BadValue, ErrandsError
from errands.model.record import record

Kind = Literal["systemd", "launchd"]

UNIT = "errands.service"
LABEL = "errands.daemon"
LINGER = "/var/lib/systemd/linger"
BOOTED = "/run/systemd/system"
PLATFORM = sys.platform


@record
class Program:
    """What a service runs: `words` are its arguments, `name` what people call it."""

    name: str
    unit: str
    label: str
    words: tuple[str, ...]
    description: str


DAEMON = Program(
    name="daemon",
    unit=UNIT,
    label=LABEL,
    words=("daemon", "run"),
    description="Errands: tasks in the background",
)
WEB = Program(
    name="web server",
    unit="errands-web.service",
    label="errands.web",
    words=("web", "--service"),
    description="Errands: the web page",
)


@record
class Service:
    """The file that makes the system start a program of a home, for the user `account`."""

    kind: Kind
    path: str
    text: str
    account: str
    program: Program = DAEMON

    @property
    def is_written(self) -> bool:
        """Whether the file exists with this text."""
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read() == self.text
        except (OSError, ValueError):
            return False


def service_for(
    home: str,
    environ: Mapping[str, str] = os.environ,
    *,
    python: str = sys.executable,
    platform: str | None = None,
    booted: str | None = None,
    program: Program = DAEMON,
) -> Service:
    """Return the service of a home; raise an error on a system with neither systemd nor launchd."""
    account = environ.get("USER") or environ.get("LOGNAME") or _account()
    person = environ.get("HOME") or os.path.expanduser("~")
    if (platform or PLATFORM) == "darwin":
        path = f"{person}/Library/LaunchAgents/{program.label}.plist"
        text = _plist(home, python, environ, program)
        return Service(kind="launchd", path=path, text=text, account=account, program=program)
    if not os.path.isdir(booted or BOOTED):
        raise BadValue(
            "this system runs neither systemd nor launchd; configure its own service manager to run "
            f"`{python} -P -m errands {' '.join(program.words)}` with ERRANDS_HOME={home}"
        )
    configured = environ.get("XDG_CONFIG_HOME", "")
    folder = configured if os.path.isabs(configured) else f"{person}/.config"
    path = f"{folder}/systemd/user/{program.unit}"
    text = _unit(home, python, environ, program)
    return Service(kind="systemd", path=path, text=text, account=account, program=program)


def enabling(service: Service) -> list[tuple[str, ...]]:
    """Return the commands that enable the service after its file is written."""
    if service.kind == "launchd":
        domain = f"gui/{os.getuid()}"
        return [
            ("launchctl", "bootout", f"{domain}/{service.program.label}"),
            ("launchctl", "bootstrap", domain, service.path),
        ]
    return [
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", service.program.unit),
        ("loginctl", "enable-linger", service.account),
    ]


def disabling(service: Service) -> list[tuple[str, ...]]:
    """Return the commands that disable the service before its file is removed."""
    if service.kind == "launchd":
        return [("launchctl", "bootout", f"gui/{os.getuid()}/{service.program.label}")]
    return [("systemctl", "--user", "disable", service.program.unit)]


def enable(service: Service) -> list[str]:
    """Enable the service; return what it does from now on, and what a person still has to do."""
    first, *rest = enabling(service)
    name = service.program.name
    if service.kind == "launchd":
        _run(*first, is_vital=False)  # fails unless it was enabled before
        _run(*rest[0])
        return [f"launchd starts the {name} whenever you log in"]
    linger = rest.pop()
    for words in (first, *rest):
        _run(*words)
    done = [f"systemd starts the {name} whenever you log in"]
    if _run(*linger, is_vital=False):
        return [*done, "it also starts with the machine, and keeps running when you log out"]
    return [*done, f"to start it with the machine, an administrator has to run: {' '.join(linger)}"]


def disable(service: Service) -> None:
    """Disable the service; a running daemon continues until it is stopped."""
    for words in disabling(service):
        _run(*words, is_vital=False)


def reload(service: Service) -> None:
    """Make the system notice that the file is gone."""
    if service.kind == "systemd":
        _run("systemctl", "--user", "daemon-reload", is_vital=False)


def complaints(service: Service, *, linger: str | None = None) -> Iterator[str]:
    """Yield what prevents the daemon from running after a reboot or a logout."""
    if not os.path.exists(service.path):
        yield "nothing starts the daemon after a reboot"
    elif not service.is_written:
        yield f"{service.path} differs from what this version would write"
    elif service.kind == "systemd":
        wanted = f"{os.path.dirname(service.path)}/default.target.wants/{service.program.unit}"
        if not os.path.lexists(wanted):
            yield f"{service.path} exists but is not enabled"
        elif not os.path.exists(f"{linger or LINGER}/{service.account}"):
            yield f"the daemon ends when {service.account} logs out, and starts at the next login"


def _unit(home: str, python: str, environ: Mapping[str, str], program: Program) -> str:
    """Return the systemd unit. Stopping it ends only its program: shims and their tasks outlive it."""
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in _variables(home, environ)
    )
    return (
        "[Unit]\n"
        f"Description={program.description}\n"
        "\n"
        "[Service]\n"
        f"ExecStart={_quoted(python).replace('$', '$$')} -P -m errands {' '.join(program.words)}\n"
        f"{variables}"
        "KillMode=process\n"
        "Restart=on-failure\n"
        "RestartSec=5\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )


def _quoted(word: str) -> str:
    """Quote a word for systemd, which expands % specifiers."""
    if "\n" in word:
        raise BadValue(f"{word!r} has a line break, which a unit file does not allow; move it elsewhere")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _plist(home: str, python: str, environ: Mapping[str, str], program: Program) -> str:
    import plistlib

    return plistlib.dumps(
        {
            "Label": program.label,
            "ProgramArguments": [python, "-P", "-m", "errands", *program.words],
            "EnvironmentVariables": dict(_variables(home, environ)),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            # Like KillMode=process: tasks keep running when the daemon ends.
            "AbandonProcessGroup": True,
            "ProcessType": "Background",
        }
    ).decode()


def _variables(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that the daemon needs: its home, its configuration, and the search path."""
    yield "ERRANDS_HOME", home
    for name in ("XDG_CONFIG_HOME", "PATH"):
        if environ.get(name):
            yield name, environ[name]


def _run(*words: str, is_vital: bool = True) -> bool:
    """Run a system command; return whether it worked, or raise an error if it is vital."""
    why = f"{words[0]} is not installed"
    with suppress(FileNotFoundError):
        tried = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if not tried.returncode:
            return True
        why = tried.stderr.strip()[:300] or f"exit code {tried.returncode}"
    if is_vital:
        raise ErrandsError(
            f"`{' '.join(words)}` failed: {why}; the file is written, so you can run the command yourself"
        )
    return False


def _account() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name
