"""The wheel, installed offline into empty environments with pip, pipx and uv, and each extra alone."""

from __future__ import annotations

import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.programs import ran

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / "tools" / "wheels"
BIN = Path(sys.executable).parent
PYTHON = str(Path(sys.executable).resolve())
# Each extra, and the package that our modules import from it; a module belongs to the first that it names.
EXTRAS = {
    "agents": "pydantic_ai",
    "acp": "acp",
    "mcp": "mcp",
    "watch": "watchfiles",
    "chat": "prompt_toolkit",
    "tui": "textual",
    "web": "starlette",
    "discord": "discord",
    "apprise": "apprise",
    "hosts": "psycopg",
    "keyring": "keyring",
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and the wheel from it."""
    if not WHEELS.is_dir():
        pytest.skip("the dependencies were not downloaded: run tools/wheelhouse")
    place = tmp_path_factory.mktemp("dist")
    ran(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT],
        cwd=place,
        env=_environment(place),
    )
    return place


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def _environment(home: Path) -> dict[str, str]:
    """The variables of an empty home and of installers that may not reach a network."""
    return {
        "HOME": str(home),
        "PATH": f"{home / '.local/bin'}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(WHEELS),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(WHEELS),
    }


def _with_pip(wheel: Path, home: Path) -> Path:
    ran([PYTHON, "-m", "venv", home / "env"], cwd=home, env=_environment(home))
    ran([home / "env/bin/pip", "install", "--quiet", wheel], cwd=home, env=_environment(home))
    return home / "env/bin/errands"


def _with_pipx(wheel: Path, home: Path) -> Path:
    ran([BIN / "pipx", "install", "--python", PYTHON, wheel], cwd=home, env=_environment(home))
    return home / ".local/bin/errands"


def _with_uv(wheel: Path, home: Path) -> Path:
    ran([BIN / "uv", "tool", "install", "--python", PYTHON, wheel], cwd=home, env=_environment(home))
    return home / ".local/bin/errands"


@pytest.mark.spec("X22")
@pytest.mark.parametrize("install", [_with_pip, _with_pipx, _with_uv])
def test_the_demo_runs_from_the_installed_wheel(
    wheel: Path, tmp_path: Path, install: Callable[[Path, Path], Path]
) -> None:
    errands = install(wheel, tmp_path)

    shown = ran([errands, "demo"], cwd=tmp_path, env=_environment(tmp_path))

    assert "every notice was delivered" in shown
    assert shown.endswith("Now start something of yours: errands run -- make test\n")


@pytest.mark.spec("X22")
@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_alone_is_enough_for_the_modules_that_import_it(
    wheel: Path, tmp_path: Path, extra: str
) -> None:
    python = tmp_path / "env/bin/python"
    env = _environment(tmp_path)
    ran([BIN / "uv", "venv", "--quiet", "--python", PYTHON, tmp_path / "env"], cwd=tmp_path, env=env)
    wanted = f"errands[{extra}] @ {wheel.as_uri()}"
    ran([BIN / "uv", "pip", "install", "--quiet", "--python", python, wanted], cwd=tmp_path, env=env)
    # What is imported only where it is used has no module of ours to try it with.
    modules = _modules_of(extra, wheel) or [EXTRAS[extra]]

    ran([python, "-c", f"import {', '.join(modules)}"], cwd=tmp_path, env=env)


def _modules_of(extra: str, wheel: Path) -> list[str]:
    """List the modules of the wheel whose imports at the top need an extra."""
    found = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("errands/") and name.endswith(".py"):
                imported = re.findall(r"^(?:import|from) (\w+)", archive.read(name).decode(), re.MULTILINE)
                if extra == next((each for each, package in EXTRAS.items() if package in imported), ""):
                    found.append(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    return found


def test_the_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert set(EXTRAS) == set(project["optional-dependencies"]) - {"all"}


@pytest.mark.spec("X22")
def test_the_wheel_has_the_manual_page_and_the_completions(wheel: Path, tmp_path: Path) -> None:
    share = _with_uv(wheel, tmp_path).resolve().parents[1] / "share"

    assert b"errands \\- run slow work" in (share / "man/man1/errands.1").read_bytes()
    for script in (
        "bash-completion/completions/errands",
        "zsh/site-functions/_errands",
        "fish/vendor_completions.d/errands.fish",
    ):
        assert "errands complete" in (share / script).read_text()


def test_the_source_archive_has_everything_a_build_needs(dist: Path, tmp_path: Path) -> None:
    """The wheel was built from the archive; that one made from the checkout is the same file by file."""
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path / "again")]
    ran([*build, str(ROOT)], cwd=tmp_path, env=_environment(tmp_path))
    (again,) = (tmp_path / "again").glob("*.whl")
    (wheel,) = dist.glob("*.whl")

    assert (root / "LICENSE").exists()
    assert _content(again) == _content(wheel)


def _content(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}
