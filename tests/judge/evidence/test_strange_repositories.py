"""Repositories that git finds where none seems to be, or that another user or the own settings control."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from errands.config import Config
from errands.engine.approval.ruling import Judge
from errands.judge.evidence import local_workspace
from errands.judge.evidence.evidence import changes, refreshed
from errands.judge.evidence.local_workspace import LocalWorkspace
from errands.judge.judge import judge
from errands.model.approval import read_evidence
from errands.model.options.draft import Draft
from tests.judge.evidence.repository import Repository

pytestmark = [pytest.mark.spec("A2", "A3")]


@pytest.mark.parametrize("leave", [(), ("objects", "refs"), ("HEAD", "objects"), ("HEAD", "refs", "config")])
def test_a_repository_behind_an_incomplete_one_is_found(
    repository: Repository, leave: tuple[str, ...]
) -> None:
    repository.git("config", "core.fsmonitor", str(repository.evil))
    inner = Repository(repository.path / "inner")
    for part in (inner.path / ".git").iterdir():
        if part.name not in leave:
            shutil.rmtree(part) if part.is_dir() else part.unlink()

    assert repository.runs_it("status", cwd=inner.path)
    assert repository.dangers("inner")


@pytest.mark.parametrize("head", ["", "garbage\n", "ref: elsewhere/main\n"])
def test_a_repository_behind_one_without_a_valid_head_is_found(repository: Repository, head: str) -> None:
    repository.git("config", "core.fsmonitor", str(repository.evil))
    inner = Repository(repository.path / "inner")
    (inner.path / ".git/HEAD").write_text(head)

    assert repository.runs_it("status", cwd=inner.path)
    assert repository.dangers("inner")


def test_hooks_that_the_own_configuration_looks_for_in_the_repository_are_found(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repository.path.parent
    monkeypatch.setattr(local_workspace, "own_home", lambda: str(home))
    (home / "more").write_text("[core]\n\thooksPath = .hooks\n")
    (home / ".gitconfig").write_text("[user]\n\tname = Ann\n[include]\n\tpath = more\n")
    clean = repository.dangers()
    shutil.copy(repository.evil, repository.write(".hooks/post-index-change", ""))
    (repository.path / ".hooks/post-index-change").chmod(0o755)

    assert clean == ()
    assert repository.runs_it("status")
    assert any("post-index-change" in danger for danger in repository.dangers())


def test_a_program_of_the_repository_in_the_own_configuration_is_found(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repository.path.parent
    monkeypatch.setattr(local_workspace, "own_home", lambda: str(home))
    shutil.copy(repository.evil, repository.write("tools/diff", ""))
    (repository.path / "tools/diff").chmod(0o755)
    (home / ".gitconfig").write_text("[diff]\n\texternal = tools/diff\n")

    assert repository.runs_it("diff")
    assert any("diff.external" in danger for danger in repository.dangers())


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("packed-refs", "status"),
        ("shallow", "log"),
        ("info/grafts", "status"),
        ("objects/info/alternates", "grep one"),
        ("rebase-merge/head-name", "status"),
        ("rebase-apply/head-name", "status"),
        ("BISECT_LOG", "bisect log"),
        ("worktrees/a/gitdir", "worktree list"),
    ],
)
def test_a_link_in_a_repository_shows_no_file_from_elsewhere(
    repository: Repository, name: str, line: str
) -> None:
    clean = repository.dangers()
    secret = repository.path.parent / "netrc"
    secret.write_text("machine example.com password hunter2\n")
    link = repository.path / ".git" / name
    link.parent.mkdir(exist_ok=True, parents=True)
    link.symlink_to(secret)

    done = subprocess.run(
        ["git", *line.split()], cwd=repository.path, capture_output=True, text=True, check=False
    )

    assert clean == ()
    assert "hunter2" in done.stdout + done.stderr
    assert any(str(secret) in danger for danger in repository.dangers())


def test_such_a_link_is_seen_when_it_was_made_after_the_verdict(repository: Repository) -> None:
    ruling = Judge(Config()).rule(Draft(command="git status", cwd=str(repository.path)))
    (repository.path / ".git/shallow").symlink_to("/etc/passwd")

    assert ruling.judgement.verdict == "auto"
    assert ruling.evidence is not None
    evidence = read_evidence(ruling.evidence)
    assert any("shallow" in change for change in changes(evidence, refreshed(evidence, str(repository.path))))


def test_links_to_the_same_file_of_another_repository_are_harmless(repository: Repository) -> None:
    other = Repository(repository.path.parent / "other")
    other.git("pack-refs", "--all")
    (repository.path / ".git/packed-refs").symlink_to(other.path / ".git/packed-refs")
    (repository.path / ".git/HEAD").unlink()
    (repository.path / ".git/HEAD").symlink_to("refs/heads/main")

    assert repository.git("status", "--short") == ""
    assert repository.dangers() == ()


def test_blame_shows_no_line_of_a_file_that_the_repository_names(repository: Repository) -> None:
    secret = repository.path.parent / "netrc"
    secret.write_text("machine example.com password hunter2\n")
    repository.write(".git-blame-ignore-revs", "")
    repository.git("config", "blame.ignoreRevsFile", ".git-blame-ignore-revs")
    usual = repository.dangers()
    repository.git("config", "blame.ignoreRevsFile", str(secret))

    done = subprocess.run(
        ["git", "blame", "a.txt"], cwd=repository.path, capture_output=True, text=True, check=False
    )

    assert usual == ()
    assert "hunter2" in done.stderr
    assert repository.dangers()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a repository to another user")
def test_a_repository_of_another_user_is_found(repository: Repository) -> None:
    repository.git("config", "--global", "safe.directory", "*")
    os.chown(repository.path / ".git", 4242, 4242)
    (repository.path / ".git/config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {repository.evil}\n"
    )

    assert repository.runs_it("status")
    assert any("another user" in danger for danger in repository.dangers())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a directory to another user")
@pytest.mark.parametrize(
    "line", ["python -m pytest tests", "python -m pytest", "python -m unittest discover tests"]
)
def test_tests_of_another_user_are_not_run_without_approval(tmp_path: Path, line: str) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_x.py").write_text("import pathlib\npathlib.Path('ran').touch()\ndef test_x(): pass\n")
    workspace = LocalWorkspace(str(tmp_path), {"PATH": os.environ["PATH"]}, project=str(tmp_path))
    before = judge((line,), workspace).verdict
    os.chown(tests, 4242, 4242)
    subprocess.run(["python", *line.split()[1:]], cwd=tmp_path, capture_output=True, check=False)

    assert before == "contained"
    assert (tmp_path / "ran").exists()
    assert judge((line,), workspace).verdict == "ask"
