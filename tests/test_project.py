"""The project itself: its version, its install, and the rules of its tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

import errands
from tests import requirements

ROOT = Path(__file__).parents[1]


def test_the_version_is_written_once() -> None:
    assert distribution("errands").version == errands.__version__
    assert f"## {errands.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_changelog_is_grouped_as_keep_a_changelog_has_it() -> None:
    _, *versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    usual = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]

    for version in versions:
        groups = re.findall(r"^### (.*)$", version, flags=re.M)
        assert groups
        assert groups == [each for each in usual if each in groups]
        assert "\n- " not in version.partition("\n### ")[0]  # every line stands in a group


def test_the_base_install_needs_only_the_bash_grammar_cron_and_time_zones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[^\w-]", each)[0] for each in project["dependencies"]}

    assert needed == {"cronsim", "tree-sitter", "tree-sitter-bash", "tzdata"}


def test_scripts_without_py_are_checked_like_modules() -> None:
    """A check of a commit looks at them too, because of their first lines."""
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    places = [place for folder in ("bin", "tools") for place in (ROOT / folder).iterdir() if place.is_file()]
    scripts = [each for each in places if not each.suffix and b"python" in each.read_bytes().split(b"\n")[0]]

    assert sorted(ruff["extend-include"]) == sorted(str(each.relative_to(ROOT)) for each in scripts)


def test_an_editable_install_is_a_plain_path() -> None:
    """An import hook would slow down the start of every program in the environment."""
    hooks = [
        place.name
        for place in Path(sysconfig.get_path("purelib")).glob("*.pth")
        if re.search(r"^import\b", place.read_text(), re.MULTILINE)
    ]

    assert hooks == []


def test_every_make_target_says_what_it_does() -> None:
    makefile = (ROOT / "Makefile").read_text()
    promised = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())  # type: ignore[index]
    helped = subprocess.run(["make", "help"], cwd=ROOT, text=True, capture_output=True, check=True).stdout

    assert {"demo", "test", "check", "bench", "chaos", "spec"} <= promised
    assert promised == set(re.findall(r"^make ([\w-]+)", helped, re.MULTILINE))


def test_the_installer_of_programs_says_that_npm_is_missing(tmp_path: Path) -> None:
    programs = (ROOT / "tools" / "programs").read_text()
    for name, text in (("tools/programs", programs), (".venv/bin/pip", "#!/bin/sh\nexit 1\n")):
        place = tmp_path / name
        place.parent.mkdir(parents=True)
        place.write_text(text)
        place.chmod(0o755)
    found = tmp_path / "bin"
    found.mkdir()
    for name in ("bash", "dirname"):
        (found / name).symlink_to(shutil.which(name) or "")
    ran = subprocess.run(
        [found / "bash", tmp_path / "tools" / "programs"],
        env={"PATH": str(found)},
        text=True,
        capture_output=True,
    )

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "there is no npm" in ran.stderr
    assert "install Node.js 20 or newer" in ran.stderr


def test_two_requirements_with_one_id_are_refused() -> None:
    with pytest.raises(requirements.DuplicateError, match="L1"):
        requirements.read("- L1 one\n- L2 two\n- L1 three\n")


def test_all_requirements_are_read() -> None:
    text = requirements.PLACE.read_text()

    assert set(requirements.sections(text)) == {name[0] for name in requirements.read(text)}
    assert {"L1", "L26", "O16", "X15"} <= set(requirements.read(text))


def run_tests(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a test file under the rules of this project."""
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers = spec(*ids): x\nasyncio_default_fixture_loop_scope = function\n"
    )
    (folder / "test_it.py").write_text(f"import pytest\n{body}\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        *options,
        "--rootdir",
    ]
    return subprocess.run(
        [*command, str(folder), "-c", str(folder / "pytest.ini"), str(folder / "test_it.py")],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=False,
    )


SKIPPED = "@pytest.mark.skip(reason='no')\ndef test_one(): pass"


def test_a_skipped_test_fails_the_run_with_no_skips(tmp_path: Path) -> None:
    run = run_tests(tmp_path, SKIPPED, "--no-skips")

    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 SKIPPED: this fails the run" in run.stdout


def test_a_skipped_test_is_announced_otherwise(tmp_path: Path) -> None:
    run = run_tests(tmp_path, SKIPPED)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 SKIPPED: in CI this fails the run" in run.stdout


def test_a_test_with_an_unknown_requirement_id_stops_the_run(tmp_path: Path) -> None:
    run = run_tests(tmp_path, "@pytest.mark.spec('Q99')\ndef test_one(): pass")

    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "carries 'Q99', which docs/requirements.md does not have" in run.stderr


def test_what_happens_in_a_forked_process_is_reported(tmp_path: Path) -> None:
    body = "def test_one(): print('said'); assert 0\ndef test_two(): pass\ndef test_three(): pytest.skip('')"
    ran = run_tests(tmp_path, body, "-p", "tests.forked", "--at-once", "2")

    assert ran.returncode == 1
    assert "Captured stdout call -----------------------------\nsaid\n" in ran.stdout
    assert "1 failed, 1 passed, 1 skipped" in ran.stdout


def test_the_death_of_a_forked_process_is_not_a_success(tmp_path: Path) -> None:
    body = "def test_one(): pass\ndef test_two(): import os; os.kill(os.getpid(), 9)"
    ran = run_tests(tmp_path, body, "-p", "tests.forked", "--at-once", "2")

    assert ran.returncode == 3
    assert "a process ended with -9 during" in ran.stdout
    assert "test_it.py::test_two" in ran.stdout
