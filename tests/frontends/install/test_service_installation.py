"""`errands install service`: shown first, confirmed, idempotent, and undone exactly."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from errands.frontends.install import service
from errands.frontends.install.installation import ServiceInstallation
from errands.frontends.install.service import UNIT
from errands.model.errors import BadValue, ErrandsError


class System:
    """A fake system with systemd that records the commands it gets."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = place / "state"
        self.told = place / "told"
        self.linger = place / "linger"
        self.linger.mkdir()
        programs = place / "programs"
        programs.mkdir()
        self.environ = {
            "HOME": str(place / "ada"),
            "USER": "ada",
            "PATH": f"{programs}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(place / "ada" / ".config"),
        }
        self.unit = place / "ada" / ".config" / "systemd" / "user" / UNIT
        wants = self.unit.parent / "default.target.wants"
        self._program(programs / "loginctl", f'touch {self.linger}/"$2"')
        self._program(
            programs / "systemctl",
            f'case "$2" in enable) mkdir -p {wants}; ln -sf {self.unit} {wants}/{UNIT};; '
            f"disable) rm -f {wants}/{UNIT};; esac",
        )

    def _program(self, path: Path, does: str) -> None:
        path.write_text(f'#!/bin/sh\necho "$(basename "$0")" "$@" >> {self.told}\n{does}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def heard(self) -> list[str]:
        said = self.told.read_text().splitlines() if self.told.exists() else []
        self.told.unlink(missing_ok=True)
        return said

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type a command on this system."""
        program = (
            "from errands.frontends.install import service\n"
            f"service.PLATFORM, service.BOOTED = 'linux', {str(self.place)!r}\n"
            f"service.LINGER = {str(self.linger)!r}\n"
            "from errands.__main__ import main\n"
            "main()\n"
        )
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ}
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            env={**kept, **self.environ, "ERRANDS_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    made = System(tmp_path)
    monkeypatch.setattr(service, "PLATFORM", "linux")
    monkeypatch.setattr(service, "BOOTED", str(tmp_path))
    monkeypatch.setattr(service, "LINGER", str(made.linger))
    monkeypatch.setenv("PATH", made.environ["PATH"])
    return made


ENABLING = [
    "systemctl --user daemon-reload",
    f"systemctl --user enable --now {UNIT}",
    "loginctl enable-linger ada",
]


def test_without_a_person_it_needs_yes_and_shows_everything(system: System) -> None:
    refused = system.types("install", "service")
    assert refused.returncode == 2
    assert "cannot ask without a terminal, so nothing was written; pass --yes" in refused.stderr
    assert f"create ~/{system.unit.relative_to(system.environ['HOME'])}  (" in refused.stdout
    assert f"+++ {system.unit}" in system.types("install", "service", "--diff").stdout
    assert [line[2:] for line in refused.stdout.splitlines() if line.startswith("$ ")] == ENABLING
    assert not system.unit.exists()
    assert system.heard() == []


def test_it_is_written_enabled_and_removed_again(system: System) -> None:
    done = system.types("install", "service", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("it also starts with the machine, and keeps running when you log out\n")
    assert f"ERRANDS_HOME={system.home}" in system.unit.read_text()
    assert system.heard() == ENABLING

    assert system.types("install", "service", "--yes").stdout == "nothing to do: already installed\n"
    assert system.heard() == []

    gone = system.types("uninstall", "service", "--yes")
    assert gone.returncode == 0, gone.stderr
    assert "the daemon no longer starts after a reboot" in gone.stdout
    assert not system.unit.exists()
    assert system.heard() == [f"systemctl --user disable {UNIT}", "systemctl --user daemon-reload"]
    assert system.types("uninstall", "service", "--yes").stdout == "nothing to do: not installed\n"
    assert system.heard() == []
    assert not (system.place / "ada" / ".config" / "errands" / "installed.json").exists()


def test_it_can_be_printed_only(system: System) -> None:
    said = system.types("install", "service", "--print").stdout
    assert said.startswith(f"# {system.unit}\n[Unit]\n")
    assert said.endswith("# then\n" + "\n".join(ENABLING) + "\n\n")
    assert not system.unit.exists()
    assert system.heard() == []


@pytest.mark.trap(41)
@pytest.mark.parametrize("stray", [("--project",), ("--dialect", "co")])
def test_options_without_meaning_are_refused(system: System, stray: tuple[str, ...]) -> None:
    refused = system.types("install", "service", "--yes", *stray)
    assert refused.returncode == 2
    assert f"{stray[0]} does not apply to the service" in refused.stderr
    assert not system.unit.exists()


def installation(system: System) -> ServiceInstallation:
    return ServiceInstallation(str(system.home), environ=system.environ)


def install(system: System) -> None:
    made = installation(system)
    made.plan(removing=False)
    made.carry_out()


def test_a_written_but_disabled_unit_is_enabled(system: System) -> None:
    install(system)
    system.heard()
    (system.unit.parent / "default.target.wants" / UNIT).unlink()
    made = installation(system)
    assert made.plan(removing=False) == []
    assert made.steps() == ENABLING
    made.carry_out()
    assert system.heard() == ENABLING


def test_an_earlier_unit_is_restored(system: System) -> None:
    system.unit.parent.mkdir(parents=True)
    system.unit.write_text("[Unit]\nDescription=mine\n")
    install(system)
    made = installation(system)
    made.plan(removing=True)
    made.carry_out()
    assert system.unit.read_text() == "[Unit]\nDescription=mine\n"


def test_an_edited_unit_stays(system: System) -> None:
    install(system)
    system.heard()
    changed = system.unit.read_text() + "Nice=10\n"
    system.unit.write_text(changed)
    made = installation(system)
    assert (made.plan(removing=True), made.steps()) == ([], [])
    made.carry_out()
    assert system.unit.read_text() == changed
    assert system.heard() == []


def test_a_file_that_changed_meanwhile_is_not_overwritten(system: System) -> None:
    made = installation(system)
    made.plan(removing=False)
    system.unit.parent.mkdir(parents=True)
    system.unit.write_text("mine")
    with pytest.raises(ErrandsError, match="has changed since it was shown"):
        made.carry_out()
    assert system.unit.read_text() == "mine"
    assert system.heard() == []


def test_a_system_without_systemd_and_launchd_is_refused(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BOOTED", str(system.place / "missing"))
    with pytest.raises(BadValue, match="neither systemd nor launchd"):
        installation(system)
