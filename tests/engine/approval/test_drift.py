"""Drift: what was approved is what runs, or a person is asked again, even after a crash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.engine.approval import questions
from errands.engine.engine import Engine
from errands.judge.evidence.evidence import changes
from errands.model.errors import Drifted
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import TestEngine, until
from tests.engine.daemons import Daemons, eventually, finished, lines

LOADED = """
import sys
from errands.bootstrap import make_loops, open_home
from errands.config import Config
make_loops(open_home(), Config(), is_after_reboot=False)
print(*sys.modules)
"""
PERSON: dict[str, Any] = {"by": "ada", "door": "terminal"}


class Script:
    """A script that records that it ran."""

    def __init__(self, directory: Path) -> None:
        self.place = directory / "build.sh"
        self.witness = directory / "witness"
        self.write("first")
        self.place.chmod(0o755)

    def write(self, word: str) -> None:
        self.place.write_text(f"#!/bin/sh\necho {word} >> {self.witness}\n")

    @property
    def draft(self) -> Draft:
        # What it is given is outside the project, so that no sandbox is enough.
        return Draft(command=("./build.sh", "/nowhere"), cwd=str(self.place.parent))

    @property
    def ran(self) -> list[str]:
        return lines(self.witness)


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
@pytest.mark.trap(69)
def test_a_script_edited_between_approval_and_start_needs_approval_again(
    asking: Engine, daemons: Daemons, script: Script
) -> None:
    view = asking.submit(script.draft)
    approved = asking.approve(view.id, **PERSON).approved_at
    script.write("second")
    daemons.start()
    eventually(lambda: asking.get(view.id).state == "proposed")
    asked = asking.get(view.id)
    void, waiting = asking.approvals(view.id)

    assert (asked.latest.state, asked.approved_by, script.ran) == ("pending", None, [])
    assert asked.question is not None
    assert asked.question.reasons[-1].text == f"{script.place} has changed"
    # The approval is void, and stays on record.
    assert (void.state, void.by, void.at, waiting.state) == ("void", "ada", approved, "waiting")
    assert [event.name for event in asking.events(view.id)] == [
        "queued", "proposed", "approved", "drifted", "proposed",
    ]  # fmt: skip
    notices = [notice.event for notice in asking.take_notices("user", reader="test")]
    assert notices == ["proposed", f"proposed again {asked.question.id}"]

    asking.approve(view.id, **PERSON)
    assert finished(asking, view.id).state == "completed"
    assert script.ran == ["second"]


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
def test_an_answer_is_refused_and_asked_for_again_if_the_script_changed_meanwhile(
    asking: Engine, script: Script
) -> None:
    view = asking.submit(script.draft)
    script.place.unlink()
    with pytest.raises(Drifted, match=r"build\.sh is gone; there is a new question") as refused:
        asking.approve(view.id, **PERSON)
    asked = asking.get(view.id)

    assert refused.value.exit_code == 4
    assert asked.state == "proposed"
    assert [each.state for each in asking.approvals(view.id)] == ["void", "waiting"]
    assert asking.approve(view.id, **PERSON).state == "pending"


@pytest.mark.spec("A10")
@pytest.mark.parametrize(
    "line",
    [
        "cat build.sh | sh -s /nowhere",
        "cd sub/.. && ./build.sh /nowhere",
        "rm -f /nowhere/$(./build.sh)",
        "build.sh /nowhere",
        "uv run ./build.sh /nowhere",
    ],
)
def test_scripts_behind_pipes_directories_and_the_search_path_are_part_of_what_is_approved(
    asking: Engine, script: Script, line: str
) -> None:
    directory = script.place.parent
    path = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}
    view = asking.submit(Draft(command=line, cwd=str(directory), environ=path))
    script.write("second")

    assert view.state == "proposed"
    with pytest.raises(Drifted, match=r"build\.sh has changed"):
        asking.approve(view.id, **PERSON)


@pytest.mark.spec("A10")
def test_a_question_says_what_an_approval_does_not_cover(asking: Engine, tmp_path: Path) -> None:
    view = asking.submit(Draft(command="curl -s https://example.org/x | sh", cwd=str(tmp_path)))

    assert view.question is not None
    assert "runs with `sh` what `curl` prints, which an approval does not cover" in [
        each.text for each in view.question.reasons
    ]


@pytest.mark.spec("A10")
async def test_an_edited_script_whose_name_is_not_text_needs_approval_again_too(
    engine: TestEngine, asking: Engine, tmp_path: Path
) -> None:
    script = tmp_path / os.fsdecode(b"\xff.sh")
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    gate = await engine.started("echo ready; read line", input="pipe")
    view = await engine.submit([str(script)], after=(gate.id,))
    script.write_text("#!/bin/sh\nexit 1\n")
    await engine.send(gate.id, b"\n")
    await until(lambda: asking.get(view.id).state == "proposed")

    assert (await engine.finished(("true",))).state == "completed"


@pytest.mark.spec("A10")
def test_both_answers_to_a_script_that_changed_meanwhile_are_refused(
    asking: Engine, home: Home, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = asking.submit(script.draft)
    script.write("second")

    def read_while_another_answers(*evidence: Any) -> Any:
        monkeypatch.undo()
        other = open_engine(home)
        with pytest.raises(Drifted, match=r"build\.sh has changed"):
            other.approve(view.id, **PERSON)
        other.close()
        return changes(*evidence)

    monkeypatch.setattr(questions, "changes", read_while_another_answers)
    with pytest.raises(Drifted, match="that you saw is void"):
        asking.approve(view.id, **PERSON)
    assert [each.state for each in asking.approvals(view.id)] == ["void", "waiting"]


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
async def test_consent_given_with_the_command_is_bound_to_the_script_too(
    engine: TestEngine, client: Engine, script: Script
) -> None:
    gate = await engine.started("echo ready; read line", input="pipe")
    view = client.submit(Draft(command=script.draft.command, cwd=script.draft.cwd, after=(gate.id,)))
    assert view.approved_by == "python (--yes)"
    script.write("second")
    await engine.send(gate.id, b"\n")
    await until(lambda: client.get(view.id).state == "proposed")

    assert script.ran == []
    assert [each.state for each in client.approvals(view.id)] == ["void", "waiting"]


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
async def test_a_program_that_is_shadowed_by_another_needs_approval_again(
    engine: TestEngine, asking: Engine, tmp_path: Path
) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    environ = {**os.environ, "PATH": f"{place}:/usr/bin:/bin"}
    gate = await engine.started("echo ready; read line", input="pipe")
    view = asking.submit(Draft(command=("true",), cwd=str(tmp_path), environ=environ, after=(gate.id,)))
    assert (view.state, view.verdict) == ("pending", "auto")
    shutil.copy("/bin/false", place / "true")
    await engine.send(gate.id, b"\n")
    await until(lambda: asking.get(view.id).state == "proposed")

    question = asking.get(view.id).question
    assert question is not None
    assert question.reasons[-1].text.startswith(f"`true` is now {place}/true, not ")


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
async def test_a_repository_whose_settings_change_needs_approval_again(
    engine: TestEngine, asking: Engine, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    gate = await engine.started("echo ready; read line", input="pipe")
    view = asking.submit(Draft(command=("git", "status"), cwd=str(tmp_path), after=(gate.id,)))
    assert (view.state, view.verdict) == ("pending", "auto")
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write("[core]\n\tfsmonitor = /nowhere/x\n")
    await engine.send(gate.id, b"\n")
    await until(lambda: asking.get(view.id).state == "proposed")

    assert [event.detail for event in await engine.events(view.id) if event.name == "drifted"] == [
        f"{tmp_path}/.git/config has changed"
    ]


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
def test_a_hook_that_git_would_run_is_part_of_the_approval(asking: Engine, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    view = asking.submit(Draft(command=("git", "push"), cwd=str(tmp_path)))
    hook = tmp_path / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\n")
    with pytest.raises(Drifted, match=r"hooks/pre-push is new"):
        asking.approve(view.id, **PERSON)

    assert asking.approve(view.id, **PERSON).state == "pending"


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_nested_repository_counts_too(
    engine: TestEngine, asking: Engine, tmp_path: Path, is_new: bool
) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "advice.addEmbeddedRepo=false")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True)

    git("init", "-q")
    git("init", "-q", "inner")
    git("-C", "inner", "commit", "-q", "--allow-empty", "-m", "x")
    if not is_new:
        git("add", "inner")
    gate = await engine.started("echo ready; read line", input="pipe")
    view = asking.submit(Draft(command=("git", "status"), cwd=str(tmp_path), after=(gate.id,)))
    assert (view.state, view.verdict) == ("pending", "auto")
    git("-C", "inner", "config", "core.fsmonitor", "/nowhere/x")
    if is_new:
        git("add", "inner")
    await engine.send(gate.id, b"\n")
    await until(lambda: asking.get(view.id).state == "proposed")

    assert [event.detail for event in await engine.events(view.id) if event.name == "drifted"] == [
        f"{tmp_path}/.git/index lists other repositories"
        if is_new
        else f"{tmp_path}/inner/.git/config has changed"
    ]


@pytest.mark.spec("A10")
async def test_a_file_that_becomes_a_link_elsewhere_needs_approval_again(
    engine: TestEngine, asking: Engine, tmp_path: Path
) -> None:
    (tmp_path / "notes").write_text("x")
    gate = await engine.started("echo ready; read line", input="pipe")
    view = asking.submit(Draft(command=("cat", "notes"), cwd=str(tmp_path), after=(gate.id,)))
    assert (view.state, view.verdict) == ("pending", "auto")
    (tmp_path / "notes").unlink()
    (tmp_path / "notes").symlink_to("/etc/shadow")
    await engine.send(gate.id, b"\n")
    await until(lambda: asking.get(view.id).state == "proposed")


@pytest.mark.spec("A10", "L12", "A6")
async def test_an_approval_covers_a_restart_only_if_nothing_changed(
    engine: TestEngine, asking: Engine, script: Script
) -> None:
    view = asking.submit(script.draft)
    asking.approve(view.id, **PERSON)
    await engine.wait(view.id)
    again = asking.restart(view.id)
    assert (again.state, again.approved_by) == ("pending", "ada")
    await engine.wait(view.id)

    script.write("second")
    changed = asking.restart(view.id)
    assert (changed.state, changed.approved_by) == ("proposed", None)
    assert changed.question is not None
    assert changed.question.run == 3
    typed = asking.cancel([view.id])[0]
    assert typed.state == "cancelled"
    asking.restart(view.id, consent="typed", door="terminal")
    await engine.wait(view.id)

    assert script.ran == ["first", "first", "second"]
    assert (await engine.get(view.id)).approved_by == typed.created_by


@pytest.mark.spec("A10", "A11", "L20")
@pytest.mark.trap(67)
def test_a_question_survives_a_daemon_crash_and_nothing_starts_meanwhile(
    asking: Engine, daemons: Daemons, script: Script
) -> None:
    daemons.start()
    view = asking.submit(script.draft)
    for _ in range(3):
        daemons.kill()
        daemons.start()
        witness = asking.submit(Draft(command=("true",)))
        finished(asking, witness.id)
        assert asking.get(view.id).state == "proposed"
    assert (script.ran, asking.get(view.id).question) == ([], view.question)
    notices = [notice for notice in asking.take_notices("user", reader="test") if notice.event == "proposed"]
    assert len(notices) == 1

    asking.approve(view.id, **PERSON)
    assert finished(asking, view.id).state == "completed"
    assert script.ran == ["first"]


@pytest.mark.spec("A10", "L20")
@pytest.mark.fault("F59")
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("errands.engine.daemon.dispatcher.Dispatcher.claim", "before"),
        ("errands.engine.daemon.supervisor.Supervisor.start", "before"),
    ],
)
def test_an_approval_survives_a_daemon_crash_and_still_covers_only_what_was_shown(
    asking: Engine, daemons: Daemons, script: Script, place: str, when: str, edited: bool
) -> None:
    """The daemon dies before it claims the run, or with the run claimed and not yet started."""
    view = asking.submit(script.draft)
    daemons.start_doomed(place, when)
    asking.approve(view.id, **PERSON)
    daemons.wait_for_doom()
    if edited:
        script.write("second")
    daemons.start()
    if edited:
        eventually(lambda: asking.get(view.id).state == "proposed")
        assert script.ran == []
        assert asking.get(view.id).latest.state == "pending"
        asking.approve(view.id, **PERSON)
    assert finished(asking, view.id).state == "completed"
    assert script.ran == ["second" if edited else "first"]


@pytest.mark.spec("A10")
def test_the_loops_that_start_runs_do_not_load_the_judge(
    asking: Engine, daemons: Daemons, script: Script
) -> None:
    view = asking.submit(script.draft)
    asking.approve(view.id, **PERSON)
    script.write("second")
    pid = daemons.start()
    eventually(lambda: asking.get(view.id).state == "proposed")

    assert "tree_sitter" not in Path(f"/proc/{pid}/maps").read_text()
    listed = (
        "import sys; from errands.bootstrap import make_loops, open_home; from errands.config import Config\n"
    )
    listed += "make_loops(open_home(), Config(), is_after_reboot=False); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True).stdout
    assert "errands.engine.daemon.dispatcher" in loaded
    judging = (
        "errands.engine.approval.ruling",
        "errands.judge.judge",
        "errands.judge.shell",
        "errands.judge.programs",
    )
    assert [name for name in loaded.split() if name.startswith(judging)] == []
