"""Endings are reported exactly: exit codes, signals, and why a command could not start."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from errands.ports.runner import Ended, Started
from tests.runners.stage import Stage


@pytest.mark.spec("L8")
@pytest.mark.fault("F4")
async def test_every_exit_code_is_reported(stage: Stage) -> None:
    runs = [stage.start(f"exit {code}") for code in range(256)]
    endings = await asyncio.gather(*map(stage.ended, runs))

    assert [ending.code for ending in endings] == list(range(256))
    assert {(ending.signal, ending.error, ending.stop) for ending in endings} == {(None, None, None)}


@pytest.mark.spec("L7")
@pytest.mark.trap(20)
@pytest.mark.parametrize("name", ["HUP", "INT", "KILL", "SEGV", "PIPE", "TERM"])
async def test_a_death_by_signal_is_reported(stage: Stage, name: str) -> None:
    number = signal.Signals[f"SIG{name}"]
    ending = await stage.run(f"kill -{name} $$")

    assert (ending.signal, ending.code) == (number, None)


@pytest.mark.spec("O8")
async def test_an_ending_has_times_and_resource_usage(stage: Stage) -> None:
    ending = await stage.run("echo one; echo two; printf three")

    assert ending.started_at is not None
    assert ending.ended_at is not None
    assert ending.ended_at >= ending.started_at
    assert ending.elapsed is not None
    assert 0 < ending.elapsed < 10
    assert (ending.bytes, ending.lines) == (13, 3)
    assert ending.rss > 0
    assert ending.cpu > 0


async def test_a_longer_run_reports_its_start_before_its_end(stage: Stage) -> None:
    run = stage.start("echo $$; sleep 0.1")
    ending = await stage.ended(run)

    started, ended = stage.reports
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert started.pid == ending.pid == int(stage.output(run))
    assert started.at == ending.started_at


async def test_a_run_that_ends_at_once_reports_its_pid_with_its_end(stage: Stage) -> None:
    runs = [stage.start("echo $$") for _ in range(20)]
    endings = [await stage.ended(run) for run in runs]

    assert [ending.pid for ending in endings] == [int(stage.output(run)) for run in runs]
    assert sum(isinstance(report, Started) for report in stage.reports) < len(runs)


@pytest.mark.spec("L8")
async def test_a_command_that_is_not_on_the_path_is_not_found(stage: Stage) -> None:
    ending = await stage.run(("no-such-command", "--flag"))

    assert ending.error == "command not found: no-such-command"
    assert ending.code is ending.signal is None


@pytest.mark.spec("L8")
async def test_a_missing_program_is_named(stage: Stage) -> None:
    ending = await stage.run(("/nowhere/program",))

    assert ending.error == "no such program: /nowhere/program"


@pytest.mark.spec("L8")
async def test_a_file_without_execute_permission_is_reported(stage: Stage) -> None:
    script = stage.folder / "script"
    script.write_text("#!/bin/sh\n")

    ending = await stage.run((str(script),))

    assert ending.error == f"not executable: {script}"


@pytest.mark.spec("L8")
async def test_a_file_without_execute_permission_in_the_path_is_reported_unless_another_can_run(
    stage: Stage,
) -> None:
    first, second = (stage.folder / each for each in ("first", "second"))
    for each in (first, second):
        each.mkdir()
    (first / "tool").write_text("no program\n")
    env = {"PATH": f"{first}:{second}:/usr/bin:/bin"}

    ending = await stage.run(("tool",), env=env)
    assert ending.error == f"not executable: {first}/tool"

    (second / "tool").write_text("#!/bin/sh\necho it ran\n")
    (second / "tool").chmod(0o755)
    run = stage.start(("tool",), env=env)
    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"it ran\n"


@pytest.mark.spec("L8")
async def test_a_script_with_a_missing_interpreter_names_the_interpreter(stage: Stage) -> None:
    script = stage.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)

    ending = await stage.run((str(script),))

    assert ending.error == f"the interpreter that {script} names in its first line does not exist"


@pytest.mark.spec("L8")
async def test_a_file_that_is_not_a_program_is_reported(stage: Stage) -> None:
    script = stage.folder / "script"
    script.write_text("echo hello\n")
    script.chmod(0o755)

    ending = await stage.run((str(script),))

    assert ending.error is not None
    assert "is a #! line missing?" in ending.error


@pytest.mark.spec("L8")
async def test_arguments_that_are_too_long_are_one_clear_failure(stage: Stage) -> None:
    ending = await stage.run(("/bin/echo", "x" * 200_000))

    assert ending.error == "arguments and environment are too large for the system: /bin/echo"


@pytest.mark.trap(29)
@pytest.mark.fault("F43")
async def test_a_directory_that_is_gone_is_one_clear_failure(stage: Stage) -> None:
    gone = stage.folder / "gone"

    ending = await stage.run("true", cwd=str(gone))

    assert ending.error == f"the working directory does not exist: {gone}"


@pytest.mark.fault("F43")
async def test_a_directory_replaced_by_a_file_is_one_clear_failure(stage: Stage) -> None:
    replaced = stage.folder / "replaced"
    replaced.write_text("")

    ending = await stage.run("true", cwd=str(replaced))

    assert ending.error == f"the working directory is not a directory: {replaced}"


@pytest.mark.spec("L25")
@pytest.mark.trap(28)
@pytest.mark.fault("F44")
async def test_a_task_sees_the_environment_path_and_directory_of_its_launch(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_DAEMON", "secret")
    folder = stage.folder / "tools"
    folder.mkdir()
    tool = folder / "only-here"
    tool.write_text('#!/bin/sh\necho "$GREETING from $PWD"; env\n')
    tool.chmod(0o755)

    launch = stage.launch(("only-here",), cwd=str(folder))
    env = {**launch.env, "PATH": f"{folder}:/usr/bin:/bin", "GREETING": "hello"}
    run = stage.start(("only-here",), cwd=str(folder), env=env)

    assert (await stage.ended(run)).code == 0
    assert stage.output(run).startswith(f"hello from {folder}\n".encode())
    assert b"OF_THE_DAEMON" not in stage.output(run)


async def test_text_that_is_not_unicode_passes_through_arguments_and_environment(stage: Stage) -> None:
    odd = os.fsdecode(b"caf\xe9")
    env = {"PATH": os.environ["PATH"], "ODD": odd}

    run = stage.start(("/bin/sh", "-c", 'printf %s "$1$ODD"', "sh", odd), env=env)
    await stage.ended(run)

    assert stage.output(run) == b"caf\xe9caf\xe9"


@pytest.mark.spec("L24")
@pytest.mark.trap(25)
async def test_standard_input_is_empty(stage: Stage) -> None:
    run = stage.start("cat; echo the end")

    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"the end\n"


# Two signals belong to the C library, which ignores them in everything it spawns.
LIBRARY_OWN = 1 << 31 | 1 << 32


async def test_a_task_inherits_no_files_and_no_ignored_signals(stage: Stage) -> None:
    run = stage.start("ls /proc/self/fd | wc -l; grep -E 'SigIgn|SigBlk' /proc/self/status")

    await stage.ended(run)

    lines = stage.output(run).decode().split("\n")
    assert int(lines[0]) == 4  # the standard three, and the folder that `ls` reads
    blocked, ignored = (int(line.split()[1], 16) for line in lines[1:3])
    assert blocked == 0
    assert ignored & ~LIBRARY_OWN == 0


async def test_a_task_can_leave_files_in_its_run_directory(stage: Stage) -> None:
    run = stage.start('echo report > "$ERRANDS_RUN_DIR/report.txt"')

    await stage.ended(run)

    assert (stage.directory(run) / "report.txt").read_text() == "report\n"


@pytest.mark.spec("O12")
async def test_log_and_record_are_readable_only_by_their_owner(stage: Stage) -> None:
    run = stage.start("echo secret")
    await stage.ended(run)

    folder = stage.directory(run)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes == {folder.name: 0o700, "record.1": 0o600, "output.log": 0o600}


async def test_a_run_directory_that_cannot_be_created_is_one_clear_failure(stage: Stage) -> None:
    blocked = stage.runs / "task-x.1"
    blocked.write_text("a file is in the way")

    ending = await stage.run("true", run_id="task-x.1")

    assert ending.error is not None
    assert ending.error.startswith("the run could not be set up: ")
    assert Path(blocked).read_text() == "a file is in the way"
