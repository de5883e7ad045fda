"""Dangers are found in real repositories, each of which is shown to work first."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from errands.config import Config
from errands.engine.approval.ruling import Judge
from errands.judge.evidence.evidence import changes, refreshed
from errands.judge.evidence.local_workspace import LocalWorkspace
from errands.judge.evidence.repositories import Repositories
from errands.judge.workspace import FoundProgram
from errands.model.approval import read_evidence
from errands.model.options.draft import Draft
from tests.judge.evidence.repository import Repository

pytestmark = [pytest.mark.spec("A2", "A3")]


def test_a_fresh_repository_is_clean(repository: Repository) -> None:
    assert repository.dangers() == ()


def test_what_people_set_is_clean(repository: Repository) -> None:
    repository.git("remote", "add", "origin", "https://example.com/x.git")
    for name, value in {
        "user.name": "Ann",
        "core.autocrlf": "input",
        "branch.main.remote": "origin",
        "branch.main.vscode-merge-base": "origin/main",
        "alias.st": "status",
        "pull.rebase": "true",
        "color.ui": "always",
        "pager.log": "false",
        "http.https://github.com/.extraheader": "X: y",
        "filter.lfs.clean": "git-lfs clean -- %f",
        "filter.lfs.process": "git-lfs filter-process",
        "core.hooksPath": ".husky",
    }.items():
        repository.git("config", name, value)
    repository.write(".husky/pre-commit", "#!/bin/sh\n")

    assert repository.dangers() == ()


@pytest.mark.parametrize(
    ("address", "has_password"),
    [
        ("https://example.com/x.git", False),
        ("git@example.com:x/y.git", False),
        ("ssh://git@example.com:22/x", False),
        ("https://example.com/x@v1", False),
        ("https://ghp_abc@example.com/x", True),
        ("https://ann:secret@example.com/x", True),
        ("ssh://ann:secret@example.com/x", True),
    ],
)
def test_passwords_in_addresses_are_found(repository: Repository, address: str, has_password: bool) -> None:
    here = LocalWorkspace(str(repository.path), {"HOME": str(repository.path.parent)})
    assert not here.git_has_passwords(here.cwd)

    repository.git("remote", "add", "origin", address)

    here = LocalWorkspace(str(repository.path), {"HOME": str(repository.path.parent)})
    assert here.git_has_passwords(here.cwd) == has_password


def test_a_password_in_ones_own_settings_is_found(repository: Repository) -> None:
    (repository.path.parent / ".gitconfig").write_text(
        '[url "https://ann:secret@example.com/"]\n\tinsteadOf = https://example.com/\n'
    )

    here = LocalWorkspace(str(repository.path), {"HOME": str(repository.path.parent)})
    assert here.git_has_passwords(here.cwd)


def test_outside_of_any_repository_there_is_nothing_to_fear(tmp_path: Path) -> None:
    assert LocalWorkspace(str(tmp_path), {}).git_dangers(str(tmp_path)) == ()


def test_a_file_system_monitor_is_found(repository: Repository) -> None:
    repository.git("config", "core.fsmonitor", str(repository.evil))

    assert repository.runs_it("status")
    assert any("core.fsmonitor" in danger for danger in repository.dangers())


def test_a_monitor_is_found_however_it_is_written(repository: Repository) -> None:
    config = repository.path / ".git/config"
    config.write_text(config.read_text() + f'[CORE]FSMonitor="{repository.evil}" ; harmless\n')

    assert repository.runs_it("status")
    assert repository.dangers()


def test_a_text_converter_is_found(repository: Repository) -> None:
    repository.git("config", "diff.x.textconv", str(repository.evil))
    repository.write(".gitattributes", "*.txt diff=x\n")

    assert repository.runs_it("diff")
    assert any("diff.x.textconv" in danger for danger in repository.dangers())


def test_an_external_diff_is_found(repository: Repository) -> None:
    repository.git("config", "diff.external", str(repository.evil))

    assert repository.runs_it("diff")
    assert repository.dangers()


def test_a_diff_driver_is_found(repository: Repository) -> None:
    repository.git("config", "diff.x.command", str(repository.evil))
    (repository.path / ".git/info").mkdir(exist_ok=True)
    (repository.path / ".git/info/attributes").write_text("*.txt diff=x\n")

    assert repository.runs_it("diff")
    assert repository.dangers()


@pytest.mark.parametrize("key", ["clean", "process"])
def test_a_filter_is_found(repository: Repository, key: str) -> None:
    repository.git("config", f"filter.x.{key}", str(repository.evil))
    repository.write(".gitattributes", "*.txt filter=x\n")

    assert repository.runs_it("status")
    assert any(f"filter.x.{key}" in danger for danger in repository.dangers())


def test_a_filter_that_only_looks_like_the_large_file_storage_is_found(repository: Repository) -> None:
    repository.git("config", "filter.lfs.clean", f"{repository.evil} clean -- %f")
    repository.write(".gitattributes", "*.txt filter=lfs\n")

    assert repository.runs_it("status")
    assert repository.dangers()


def refresh(repository: Repository) -> None:
    """Make the index stale without a change, so that git writes it again."""
    repository.git("checkout", "-q", "--", ".")
    os.utime(repository.path / "a.txt", (1, 1))


def test_a_hook_that_reading_runs_is_found(repository: Repository) -> None:
    hook = repository.path / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(repository.evil.read_bytes())
    hook.chmod(0o755)
    refresh(repository)
    repository.mark.unlink(missing_ok=True)

    repository.git("status")

    assert repository.mark.exists()
    assert any("post-index-change" in danger for danger in repository.dangers())


def test_a_hook_elsewhere_is_found(repository: Repository) -> None:
    hook = repository.write(".husky/post-index-change", repository.evil.read_text())
    hook.chmod(0o755)
    repository.git("config", "core.hooksPath", ".husky")
    refresh(repository)
    repository.mark.unlink(missing_ok=True)

    repository.git("status")

    assert repository.mark.exists()
    assert repository.dangers()


@pytest.mark.parametrize("section", ["include", 'includeIf "gitdir:**"'])
def test_an_included_file_is_found(repository: Repository, section: str) -> None:
    repository.write("more", f"[core]\nfsmonitor = {repository.evil}\n")
    config = repository.path / ".git/config"
    config.write_text(f"{config.read_text()}[{section}]\npath = ../more\n")

    assert repository.runs_it("status")
    assert any("includes" in danger for danger in repository.dangers())


def test_a_signature_that_is_always_checked_is_found(repository: Repository) -> None:
    repository.git("config", "gpg.program", str(repository.evil))
    repository.git("config", "log.showSignature", "true")
    plain = repository.git("cat-file", "commit", "HEAD")
    head, _, body = plain.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed = repository.write("../commit", f"{head}\n{signature}\n\n{body}\n")
    repository.git("reset", "-q", repository.git("hash-object", "-t", "commit", "-w", str(signed)))

    assert repository.runs_it("log")
    assert repository.dangers()


def test_a_repository_within_the_project_is_judged_by_itself(repository: Repository) -> None:
    inner = Repository(repository.path / "vendor/inner")
    inner.git("config", "core.fsmonitor", str(inner.evil))

    assert inner.runs_it("status")
    assert inner.dangers()
    assert repository.dangers("vendor/inner")
    assert repository.dangers() == ()


def test_a_repository_without_a_git_directory_is_found(repository: Repository) -> None:
    planted = repository.path / "docs"
    for name in ("objects", "refs"):
        (planted / name).mkdir(parents=True)
    (planted / "HEAD").write_text("ref: refs/heads/main\n")
    (planted / "config").write_text(
        f"[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = {repository.evil}\n"
    )

    assert repository.runs_it("status", cwd=planted)
    assert any("itself a repository" in danger for danger in repository.dangers("docs"))
    assert repository.dangers() == ()


def test_another_work_tree_is_judged_by_its_repository(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    other = LocalWorkspace(str(tmp_path / "other"), {})
    assert other.git_dangers(other.cwd) == ()

    repository.git("config", "core.fsmonitor", str(repository.evil))

    assert repository.runs_it("status", cwd=tmp_path / "other")
    assert LocalWorkspace(str(tmp_path / "other"), {}).git_dangers(other.cwd)


def test_the_configuration_of_one_work_tree_is_read(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    repository.git("config", "extensions.worktreeConfig", "true")
    repository.git("config", "--worktree", "core.fsmonitor", str(repository.evil), cwd=tmp_path / "other")

    assert repository.runs_it("status", cwd=tmp_path / "other")
    assert LocalWorkspace(str(tmp_path / "other"), {}).git_dangers(str(tmp_path / "other"))


def with_submodule(repository: Repository, tmp_path: Path) -> Path:
    Repository(tmp_path / "library")
    repository.git("submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    repository.git("commit", "-qm", "with a library")
    return repository.path / "lib"


def test_a_submodule_is_entered_by_git_and_by_the_reader(repository: Repository, tmp_path: Path) -> None:
    library = with_submodule(repository, tmp_path)
    assert repository.dangers() == ()
    assert repository.dangers("lib") == ()

    repository.git("config", "core.fsmonitor", str(repository.evil), cwd=library)

    assert repository.runs_it("status")
    assert repository.dangers()


def test_a_repository_in_the_index_without_a_word_about_it_is_entered(repository: Repository) -> None:
    inner = Repository(repository.path / "vendor/inner")
    repository.git("-c", "advice.addEmbeddedRepo=false", "add", "vendor/inner")
    inner.git("config", "core.fsmonitor", str(repository.evil))

    assert repository.runs_it("status")
    assert repository.dangers()


def test_files_elsewhere_are_found(repository: Repository, tmp_path: Path) -> None:
    repository.git("config", "core.worktree", str(tmp_path))

    assert repository.dangers()


def test_a_home_that_is_not_the_persons_is_not_trusted_either(repository: Repository) -> None:
    config = repository.path.parent / ".gitconfig"
    config.write_text("[user]\nname = Ann\n")
    assert repository.dangers() == ()

    config.write_text(f"[core]\nfsmonitor = {repository.evil}\n")

    assert repository.runs_it("status")
    assert repository.dangers()


def test_settings_in_a_strange_place_are_not_trusted_either(repository: Repository) -> None:
    settings = repository.write("../settings/git/config", f"[core]\nfsmonitor = {repository.evil}\n")
    here = LocalWorkspace(str(repository.path), {"XDG_CONFIG_HOME": str(settings.parent.parent)})

    assert here.git_dangers(here.cwd)


def test_an_impossible_file_name_is_handled(tmp_path: Path) -> None:
    here = LocalWorkspace(str(tmp_path), {})

    assert here.real("a\0b") == f"{tmp_path}/a\0b"
    assert here.real(chr(0xD800)) == f"{tmp_path}/{chr(0xD800)}"
    assert here.program("a\0b") == FoundProgram()


@pytest.mark.parametrize(
    "text",
    ["[core\nfsmonitor = x\n", '[core]\nfsmonitor = "x\n', "fsmonitor = x\n", "\0", "[core]\n\tx = \\q\n"],
)
def test_what_cannot_be_read_is_a_danger(repository: Repository, text: str) -> None:
    (repository.path / ".git/config").write_text(text)

    assert repository.dangers()


@pytest.mark.parametrize("name", ["config", "index", "commondir"])
@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_a_file_does_not_make_the_reader_wait(repository: Repository, name: str) -> None:
    (repository.path / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repository.path / ".git" / name)

    assert repository.dangers()


def test_a_mark_that_leads_nowhere_is_a_danger(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n")

    assert LocalWorkspace(str(tmp_path), {}).git_dangers(str(tmp_path))


def test_the_project_is_the_whole_repository(repository: Repository) -> None:
    repository.write("packages/one/package.json", "{}")

    assert LocalWorkspace(str(repository.path / "packages/one"), {}).project == str(repository.path)


@pytest.mark.spec("A10")
def test_the_settings_of_a_repository_are_found_from_below_and_from_a_worktree(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (
        ["init", "-q", str(main)],
        ["-C", str(main), *identity, "commit", "-q", "--allow-empty", "-m", "x"],
        ["-C", str(main), "worktree", "add", "-q", str(other)],
    ):
        subprocess.run(["git", *words], check=True)
    (main / "deep").mkdir()

    below = set(Repositories(str(main / "deep")).files)
    beside = set(Repositories(str(other)).files)
    assert f"{main}/.git/config" in below & beside
    assert f"{main}/deep/.git" in below
    assert {f"{other}/.git", f"{main}/.git/worktrees/other/config.worktree"} <= beside


def test_a_change_between_two_drafts_of_a_call_is_seen_before_the_start(repository: Repository) -> None:
    judge = Judge(Config())
    seen: dict[Any, Any] = {}
    draft = Draft(command="git status", cwd=str(repository.path))
    assert judge.rule(draft, seen).judgement.verdict == "auto"
    repository.git("config", "core.fsmonitor", str(repository.evil))

    late = judge.rule(draft, seen)

    assert late.evidence is not None
    evidence = read_evidence(late.evidence)
    assert changes(evidence, refreshed(evidence, str(repository.path))) != []
