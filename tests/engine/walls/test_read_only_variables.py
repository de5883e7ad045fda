"""What only reads inherits harmless variables alone, finds trusted programs alone, and has no pager."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from errands.engine.approval import ruling
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.verdict import Judgement
from errands.testing.engines import TestEngine

HELLO = b"hello\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    git = ("git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first\n\n" + "a line\n" * 200], check=True)
    return project


def planted(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\necho planted\n")
    program.chmod(0o755)
    return program


async def printed(engine: TestEngine, asking: Engine, draft: Draft) -> str:
    """Run what starts without approval, and return what it printed."""
    submitted = asking.submit(draft)
    assert (submitted.verdict, submitted.approved_by) == ("auto", "judge"), submitted
    task = await engine.wait(submitted.id, timeout=60)
    return await engine.text(task.id)


@pytest.mark.spec("A2")
async def test_a_program_starts_nothing_that_is_in_the_project(
    engine: TestEngine, asking: Engine, project: Path
) -> None:
    """`zcat` is a script that starts `gzip` by its bare name."""
    program = planted(project / "bin/gzip")
    (project / "words.gz").write_bytes(gzip.compress(HELLO))
    path = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    by_hand = subprocess.run(["zcat", "words.gz"], cwd=project, env=path, check=True, capture_output=True)
    draft = Draft(command="zcat words.gz", cwd=str(project), environ=path)

    assert by_hand.stdout == b"planted\n"
    assert await printed(engine, asking, draft) == "hello\n"


@pytest.mark.spec("A2")
async def test_only_listed_variables_are_inherited(
    engine: TestEngine, asking: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "LANG": "C.UTF-8", "TZ": "Europe/Berlin", "TERM": "xterm-256color", "NO_COLOR": "1", "USER": "ada",
        "HOME": "/home/ada", "XDG_CONFIG_HOME": "/home/ada/.config", "GIT_AUTHOR_NAME": "Ada",
        "PATH": "/usr/bin:/bin",
    }  # fmt: skip
    others = dict.fromkeys(
        """COLOUR NEWTOOL_OPTIONS API_KEY CLOUDSDK_PYTHON XDG_CONFIG_DIRS VIRTUAL_ENV OLDPWD SSH_AUTH_SOCK
        ERRANDS_SESSION PIP_PYTHON DPKG_PAGER ERRANDS_RUNS_SHELL""".split(),
        "/nowhere",
    )
    environ = {**given, **others, "LC_ALL": "../../evil", "PATH": f"{project}/bin:bin::/usr/bin:/bin"}
    with monkeypatch.context() as patched:
        patched.setattr(ruling, "judge", lambda *_, **__: Judgement(verdict="auto"))
        text = await printed(engine, asking, Draft(command=("env",), cwd=str(project), environ=environ))
    found = dict(line.split("=", 1) for line in text.splitlines())

    assert found.keys() & others.keys() == set()
    assert "LC_ALL" not in found
    assert {name: found.get(name) for name in given} == given


@pytest.mark.spec("A2")
@pytest.mark.parametrize("line", ["git log", "man git"])
async def test_there_is_no_pager_that_takes_commands(
    engine: TestEngine, asking: Engine, project: Path, line: str
) -> None:
    """A pager would wait for keys, among them `!`, which runs what nobody has judged."""
    if not shutil.which(line.split()[0]) or subprocess.run(["man", "-w", "git"], check=False).returncode:
        pytest.skip("the program is not installed")
    home = {**os.environ, "HOME": os.path.expanduser("~root"), "PAGER": "less"}
    home.pop("XDG_CONFIG_HOME", None)
    draft = Draft(command=line, cwd=str(project), input="pty", environ=home)

    assert len((await printed(engine, asking, draft)).splitlines()) > 100
