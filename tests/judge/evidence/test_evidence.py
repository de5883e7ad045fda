"""Evidence: what a verdict rests on is recognised again, and every change is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from errands.config import Config
from errands.engine.approval.ruling import Judge
from errands.judge.evidence import evidence
from errands.judge.evidence.evidence import changes, fingerprint, refreshed, resolved
from errands.model.approval import Evidence, read_evidence
from errands.model.options.draft import Draft


@pytest.mark.spec("A10")
def test_content_is_what_counts(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("x")
    two.write_text("x")
    os.utime(two, (1, 1))
    same = fingerprint(str(one))

    assert fingerprint(str(two)) == same
    two.write_text("y")
    assert fingerprint(str(two)) != same


@pytest.mark.spec("A10")
def test_a_large_file_that_was_touched_counts_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_LARGEST", 10)
    file = tmp_path / "large"
    file.write_text("x" * 20)
    before = fingerprint(str(file))
    assert fingerprint(str(file)) == before
    times = os.stat(file).st_mtime_ns
    while fingerprint(str(file)) == before:  # the clock of the file system is coarse
        file.write_text("y" * 20)
        os.utime(file, ns=(times, times))


def test_anything_but_a_file_has_a_fingerprint_and_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    assert fingerprint(str(tmp_path / "pipe")) == "no file"
    assert fingerprint(str(tmp_path)) == "directory"
    assert fingerprint(str(tmp_path / "nothing")) == fingerprint(str(tmp_path / "nothing" / "x")) == ""
    assert fingerprint(str(tmp_path / "loop")).startswith("unreadable: ")


@pytest.mark.spec("A10")
def test_every_change_is_named(tmp_path: Path) -> None:
    for name in ("kept", "edited", "gone", "link"):
        (tmp_path / name).write_text("x")
    (tmp_path / "bin").mkdir()
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    files = [f"{tmp_path}/{name}" for name in ("kept", "edited", "gone", "new")]
    before = refreshed(
        Evidence(
            files=dict.fromkeys(files, ""), programs={"true": ""}, links={f"{tmp_path}/link": ""}, path=path
        ),
        "/",
    )
    assert changes(before, refreshed(before, "/")) == []

    (tmp_path / "edited").write_text("y")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").touch()
    (tmp_path / "bin" / "true").symlink_to("/bin/false")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/etc/passwd")

    assert changes(before, refreshed(before, "/")) == [
        f"{tmp_path}/edited has changed",
        f"{tmp_path}/gone is gone",
        f"{tmp_path}/new is new",
        f"`true` is now {tmp_path}/bin/true, not {before.programs['true']}",
        f"{tmp_path}/link now leads to /etc/passwd",
    ]


def test_a_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    (tmp_path / "tool").touch()
    assert resolved("tool", str(tmp_path), "/") == ""
    (tmp_path / "tool").chmod(0o755)
    assert resolved("tool", f"/nowhere:{tmp_path}", "/") == resolved("tool", ":/bin", str(tmp_path))


@pytest.mark.spec("A10")
def test_every_draft_of_a_call_rests_on_the_links_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("x")
    (tmp_path / "notes.md").symlink_to("real.md")
    judge = Judge(Config())
    seen: dict[Any, Any] = {}
    draft = Draft(command="cat notes.md", cwd=str(tmp_path))

    for _ in range(2):
        ruling = judge.rule(draft, seen)

        assert ruling.judgement.verdict == "auto"
        assert ruling.evidence is not None
        assert read_evidence(ruling.evidence).links == {f"{tmp_path}/notes.md": f"{tmp_path}/real.md"}
