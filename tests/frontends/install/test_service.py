"""The service: files that the system understands, and what `errands doctor` says without it."""

from __future__ import annotations

import configparser
import os
import plistlib
import shlex
import stat
from pathlib import Path

import pytest

from errands.frontends.install.service import (
    LABEL,
    UNIT,
    WEB,
    Service,
    complaints,
    disable,
    enable,
    reload,
    service_for,
)
from errands.model.errors import BadValue, ErrandsError

# -P: the directory that a service starts in is the home directory, and no module there is ours.
DAEMON = ["-P", "-m", "errands", "daemon", "run"]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "USER": "ada", "PATH": "/usr/bin:/bin"}


@pytest.fixture
def systemd(environ: dict[str, str], tmp_path: Path) -> Service:
    return service_for(
        "/home/ada/50% of $HOME", environ, python="/opt/my python", platform="linux", booted=str(tmp_path)
    )


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for the system's programs, which record their arguments."""
    programs = tmp_path / "programs"
    programs.mkdir()
    told = tmp_path / "told"
    for name in ("systemctl", "loginctl", "launchctl"):
        script = programs / name
        script.write_text(
            f'#!/bin/sh\necho {name} "$@" >> {told}\n'
            'case "$*" in *enable-linger*) exit ${LINGER:-0};; *enable*) exit ${ENABLE:-0};; esac\n'
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return told


@pytest.mark.spec("X8")
def test_the_web_server_is_a_service_of_its_own(environ: dict[str, str], told: Path, tmp_path: Path) -> None:
    web = service_for("/h", environ, python="/py", platform="linux", booted=str(tmp_path), program=WEB)

    assert web.path == f"{tmp_path}/.config/systemd/user/errands-web.service"
    assert 'ExecStart="/py" -P -m errands web --service\n' in web.text
    assert enable(web)[0] == "systemd starts the web server whenever you log in"
    assert "systemctl --user enable --now errands-web.service" in told.read_text()

    mac = service_for("/h", environ, python="/py", platform="darwin", program=WEB)
    assert mac.path.endswith("/errands.web.plist")
    words = plistlib.loads(mac.text.encode())["ProgramArguments"]
    assert words == ["/py", "-P", "-m", "errands", "web", "--service"]


def test_the_unit_starts_the_daemon_of_its_home_and_ends_nothing_else(
    systemd: Service, tmp_path: Path
) -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(systemd.text)

    assert systemd.path == f"{tmp_path}/.config/systemd/user/{UNIT}"
    assert shlex.split(unit["Service"]["ExecStart"]) == ["/opt/my python", *DAEMON]
    assert unit["Service"]["KillMode"] == "process"
    assert unit["Install"]["WantedBy"] == "default.target"
    assert 'Environment="ERRANDS_HOME=/home/ada/50%% of $HOME"\n' in systemd.text


def test_the_agent_of_launchd_does_the_same(environ: dict[str, str], tmp_path: Path) -> None:
    service = service_for("/Users/ada/state", environ, python="/usr/bin/python3", platform="darwin")
    agent = plistlib.loads(service.text.encode())

    assert service.path == f"{tmp_path}/Library/LaunchAgents/{LABEL}.plist"
    assert agent["ProgramArguments"] == ["/usr/bin/python3", *DAEMON]
    assert agent["EnvironmentVariables"]["ERRANDS_HOME"] == "/Users/ada/state"
    assert agent["AbandonProcessGroup"] is agent["RunAtLoad"] is True


def test_without_systemd_and_launchd_the_error_names_the_command_to_run(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(BadValue, match="-P -m errands daemon run"):
        service_for("/h", environ, platform="linux", booted=str(tmp_path / "missing"))


def test_a_path_that_a_unit_cannot_contain_is_refused(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="line break"):
        service_for("/h\nExecStart=evil", environ, platform="linux", booted=str(tmp_path))


def written(service: Service) -> Service:
    path = Path(service.path)
    path.parent.mkdir(parents=True)
    path.write_text(service.text)
    return service


def test_enabling_runs_the_commands_of_systemd(systemd: Service, told: Path) -> None:
    done = enable(written(systemd))

    assert systemd.is_written
    assert told.read_text().splitlines() == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {UNIT}",
        "loginctl enable-linger ada",
    ]
    assert done[-1] == "it also starts with the machine, and keeps running when you log out"


def test_without_permission_to_linger_an_administrator_is_named(
    systemd: Service, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINGER", "1")
    assert "an administrator has to run: loginctl enable-linger ada" in enable(systemd)[-1]
    monkeypatch.setenv("ENABLE", "1")
    with pytest.raises(ErrandsError, match="systemctl --user enable"):
        enable(systemd)


def test_disabling_runs_the_commands_of_systemd(systemd: Service, told: Path) -> None:
    disable(systemd)
    reload(systemd)
    assert told.read_text().splitlines() == [
        f"systemctl --user disable {UNIT}",
        "systemctl --user daemon-reload",
    ]


def test_launchd_is_enabled_and_disabled_the_same_way(environ: dict[str, str], told: Path) -> None:
    service = service_for("/Users/ada/state", environ, python="/usr/bin/python3", platform="darwin")
    enable(service)
    disable(service)
    reload(service)
    domain = f"gui/{os.getuid()}"
    assert told.read_text().splitlines() == [
        f"launchctl bootout {domain}/{LABEL}",
        f"launchctl bootstrap {domain} {service.path}",
        f"launchctl bootout {domain}/{LABEL}",
    ]


def test_every_reason_why_the_daemon_would_not_start_is_named(systemd: Service, tmp_path: Path) -> None:
    linger = tmp_path / "linger"
    linger.mkdir()

    def said() -> list[str]:
        return list(complaints(systemd, linger=str(linger)))

    assert said() == ["nothing starts the daemon after a reboot"]
    written(systemd)
    assert said() == [f"{systemd.path} exists but is not enabled"]
    wants = Path(systemd.path).parent / "default.target.wants"
    wants.mkdir()
    (wants / UNIT).symlink_to(systemd.path)
    assert said() == ["the daemon ends when ada logs out, and starts at the next login"]
    (linger / "ada").touch()
    assert said() == []
    Path(systemd.path).write_text("something else")
    assert said() == [f"{systemd.path} differs from what this version would write"]
