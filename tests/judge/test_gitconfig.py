"""A repository's configuration is read the way git reads it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from errands.judge.evidence.gitconfig import Setting, Unreadable, danger, read_settings

pytestmark = [pytest.mark.spec("A2")]

PIECES = [
    "[core]", "[Core]", '[diff "x"]', '[diff "a\\"b"]', "[a.b]", "\n", "\n", " ", "\t", "=", "fsmonitor",
    "Pager", "= x", '"', "\\", "#", ";", "\\\n", "\r\n", "a b", '"a # b"', "true", "[", "] ", 'key = "v"',
    "bare", "k=v", "\ufeff", "é", "\\n", '[x "y" ]', "[ x]", "-", "1", ".",
]  # fmt: skip


def names_by_git(file: Path) -> list[str] | None:
    done = subprocess.run(
        ["git", "config", "-f", str(file), "--list", "-z"], capture_output=True, check=False
    )
    if done.returncode:
        return None
    return [entry.partition("\n")[0] for entry in done.stdout.decode().split("\0")[:-1]]


def test_git_sees_no_setting_that_is_not_seen_here(tmp_path: Path) -> None:
    source = random.Random(11)
    file = tmp_path / "config"
    compared = 0
    while compared < 60:
        text = "[core]\n" + "".join(source.choices(PIECES, k=source.randint(1, 14)))
        file.write_text(text, newline="")
        by_git = names_by_git(file)
        try:
            names = [setting.name for setting in read_settings(text)]
        except Unreadable:
            continue
        if by_git is not None:
            compared += 1
            assert names == by_git, text


def test_a_setting_has_its_section_its_middle_name_and_its_value() -> None:
    assert read_settings('[Diff "My.Driver"] TextConv = "a \\"b\\"" ; c\n') == (
        Setting(section="diff", middle="My.Driver", key="textconv", value='a "b"'),
    )


@pytest.mark.parametrize(
    "name",
    [
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.attributesFile",
        "core.gitProxy", "core.askPass", "core.alternateRefsCommand", "diff.external", "diff.x.textconv",
        "diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process", "gpg.program",
        "gpg.ssh.program", "log.showSignature", "interactive.diffFilter", "include.path",
        "includeIf.gitdir:x.path", "remote.o.promisor", "remote.o.uploadpack", "remote.o.vcs",
        "extensions.partialClone", "status.submoduleSummary", "diff.submodule", "trailer.x.cmd",
        "hook.x.command", "uploadpack.packObjectsHook", "merge.x.driver", "man.x.cmd", "browser.x.cmd",
        "sequence.editor", "unheard.of",
    ],
)  # fmt: skip
def test_what_may_run_a_program_is_a_danger(name: str) -> None:
    section, _, rest = name.partition(".")
    middle, _, key = rest.rpartition(".")
    header = f'[{section} "{middle}"]' if middle else f"[{section}]"

    (setting,) = read_settings(f"{header}\n{key} = program\n")

    assert danger(setting)


@pytest.mark.parametrize("value", ["less", "!x", "cat"])
def test_a_pager_of_one_command_is_a_danger(value: str) -> None:
    assert danger(Setting(section="pager", middle="", key="log", value=value))


def test_an_alias_is_a_danger_only_when_it_runs_a_shell() -> None:
    assert danger(Setting(section="alias", middle="", key="x", value="!touch y"))
    assert danger(Setting(section="alias", middle="", key="x", value="status -s")) is None


def test_an_alias_of_a_command_that_git_dropped_is_a_danger() -> None:
    assert danger(Setting(section="alias", middle="", key="whatchanged", value="push --force"))


@pytest.mark.parametrize("value", ["%h %G?", "%+GK", "format:%-G?", "% GS"])
def test_a_format_that_checks_signatures_is_a_danger(value: str) -> None:
    assert danger(Setting(section="format", middle="", key="pretty", value=value))
    assert danger(Setting(section="format", middle="", key="pretty", value="%h %s")) is None
