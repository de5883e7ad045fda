"""The service: what starts the daemon after a reboot, and keeps it after a logout.

A systemd user unit or a launchd agent, written for one home. Stopping it ends the daemon alone: what runs
goes on, as it does whenever a daemon ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress

from errands.model.errors import BadValue, ErrandsError
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["systemd", "launchd"]

UNIT = "errands.service"
LABEL = "errands.daemon"
LINGER = "/var/lib/systemd/linger"
BOOTED = "/run/systemd/system"
PLATFORM = sys.platform


@record
class Service:
    """A file that has the system start the daemon of a home; `account` is whose."""

    kind: Kind
    path: str
    text: str
    account: str

    @property
    def is_written(self) -> bool:
        """Tell whether the file is there, and is this one."""
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
) -> Service:
    """Make the service of a home for this system; one that knows neither systemd nor launchd is refused."""
    account = environ.get("USER") or environ.get("LOGNAME") or _account()
    person = environ.get("HOME") or os.path.expanduser("~")
    if (platform or PLATFORM) == "darwin":
        path = f"{person}/Library/LaunchAgents/{LABEL}.plist"
        return Service(kind="launchd", path=path, text=_plist(home, python, environ), account=account)
    if not os.path.isdir(booted or BOOTED):
        raise BadValue(
            "this system runs neither systemd nor launchd; have whatever starts your programs run "
            f"`{python} -m errands daemon run` with ERRANDS_HOME={home}"
        )
    configured = environ.get("XDG_CONFIG_HOME", "")
    folder = configured if os.path.isabs(configured) else f"{person}/.config"
    path = f"{folder}/systemd/user/{UNIT}"
    return Service(kind="systemd", path=path, text=_unit(home, python, environ), account=account)


def enabling(service: Service) -> list[tuple[str, ...]]:
    """Name the commands that have the system use a file that is written."""
    if service.kind == "launchd":
        domain = f"gui/{os.getuid()}"
        return [
            ("launchctl", "bootout", f"{domain}/{LABEL}"),
            ("launchctl", "bootstrap", domain, service.path),
        ]
    return [
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", UNIT),
        ("loginctl", "enable-linger", service.account),
    ]


def disabling(service: Service) -> list[tuple[str, ...]]:
    """Name the command that has the system use a file no longer, before it is removed."""
    if service.kind == "launchd":
        return [("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}")]
    return [("systemctl", "--user", "disable", UNIT)]


def enable(service: Service) -> list[str]:
    """Have the system use the file; give what it does from now on, and what a person still has to do."""
    first, *rest = enabling(service)
    if service.kind == "launchd":
        _run(*first, is_vital=False)  # which is there only if it was used before
        _run(*rest[0])
        return ["launchd starts the daemon whenever you log in"]
    lingering = rest.pop()
    for words in (first, *rest):
        _run(*words)
    done = ["systemd starts the daemon whenever you log in"]
    if _run(*lingering, is_vital=False):
        return [*done, "it also starts with the machine, and stays when you log out"]
    return [*done, f"for a start with the machine an administrator has to say: {' '.join(lingering)}"]


def disable(service: Service) -> None:
    """Have the system use the file no longer; the daemon that runs now goes on until it is stopped."""
    for words in disabling(service):
        _run(*words, is_vital=False)


def disabled(service: Service) -> None:
    """Have the system notice that the file is gone."""
    if service.kind == "systemd":
        _run("systemctl", "--user", "daemon-reload", is_vital=False)


def complaints(service: Service, *, linger: str | None = None) -> Iterator[str]:
    """Say what keeps the daemon from being there after a reboot or a logout."""
    if not os.path.exists(service.path):
        yield "nothing starts the daemon after a reboot"
    elif not service.is_written:
        yield f"{service.path} is not the one that this version would write"
    elif service.kind == "systemd":
        wanted = f"{os.path.dirname(service.path)}/default.target.wants/{UNIT}"
        if not os.path.lexists(wanted):
            yield f"{service.path} is there, but not enabled"
        elif not os.path.exists(f"{linger or LINGER}/{service.account}"):
            yield f"the daemon ends when {service.account} logs out, and starts with the next login"


def _unit(home: str, python: str, environ: Mapping[str, str]) -> str:
    """Write the unit. Only the daemon is ended with it: shims and their tasks outlive it."""
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in _variables(home, environ)
    )
    return (
        "[Unit]\n"
        "Description=Errands: tasks in the background\n"
        "\n"
        "[Service]\n"
        f"ExecStart={_quoted(python).replace('$', '$$')} -m errands daemon run\n"
        f"{variables}"
        "KillMode=process\n"
        "Restart=on-failure\n"
        "RestartSec=5\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )


def _quoted(word: str) -> str:
    """Write a word for systemd, which has specifiers of its own."""
    if "\n" in word:
        raise BadValue(f"{word!r} has a line break, which a unit cannot have; move it elsewhere")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _plist(home: str, python: str, environ: Mapping[str, str]) -> str:
    import plistlib

    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": [python, "-m", "errands", "daemon", "run"],
            "EnvironmentVariables": dict(_variables(home, environ)),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            # As KillMode=process: what runs is left alone when the daemon ends.
            "AbandonProcessGroup": True,
            "ProcessType": "Background",
        }
    ).decode()


def _variables(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give what the daemon has to know: where its home and its configuration are, and the way to programs."""
    yield "ERRANDS_HOME", home
    for name in ("XDG_CONFIG_HOME", "PATH"):
        if environ.get(name):
            yield name, environ[name]


def _run(*words: str, is_vital: bool = True) -> bool:
    """Have a program of the system do something; what must work says why it does not."""
    why = f"there is no {words[0]}"
    with suppress(FileNotFoundError):
        tried = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if not tried.returncode:
            return True
        why = tried.stderr.strip()[:300] or f"it ended with {tried.returncode}"
    if is_vital:
        raise ErrandsError(
            f"`{' '.join(words)}` failed: {why}; the file is written, try the command yourself"
        )
    return False


def _account() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name
