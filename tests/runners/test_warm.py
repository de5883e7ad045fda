"""A warm start is a fork that behaves like a new process; whatever fails, a run is started once."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from errands.runners.system import linux
from tests.runners.stage import until
from tests.runners.warm_stage import WarmStage

LOST = "its supervisor (shim) was killed"
PROBE = """
import gc, json, os, random, signal, sys, threading, time
def names(kind):
    return sorted(int(each) for each in signal.valid_signals() if signal.getsignal(each) is kind)
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "environ": dict(os.environ), "cwd": os.getcwd(),
    "files": sorted(os.listdir("/proc/self/fd")), "stdin": os.readlink("/proc/self/fd/0"),
    "leads": os.getsid(0) == os.getpgid(0) == os.getpid(),
    "words": [each for each in open("/proc/self/cmdline").read().split("\\0") if each],
    "shown": sorted(each for each in open("/proc/self/environ").read().split("\\0") if each),
    "ignored": names(signal.SIG_IGN), "default": names(signal.SIG_DFL),
    "masked": list(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))), "wakes": signal.set_wakeup_fd(-1),
    "main": [sys.modules["__main__"].__dict__ is globals(), __name__, __file__, __package__],
    "streams": [repr(each) + str(each.line_buffering) + str(each.write_through) + each.errors
                for each in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__)],
    "flags": str(sys.flags), "path": sys.path, "threads": threading.active_count(), "zone": time.tzname,
    "gc": [gc.isenabled(), gc.get_threshold()], "priority": os.getpriority(os.PRIO_PROCESS, 0),
    "policy": os.sched_getscheduler(0), "umask": os.umask(0),
}))
print(random.random(), file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[WarmStage]:
    stage = WarmStage(tmp_path, library=("json", "random", "asyncio"))
    await stage.pool.open()
    yield stage
    await stage.clear()
    await stage.pool.close()


def seen(output: str, run: str) -> tuple[dict[str, Any], str]:
    """Return what the probe printed, without what differs between runs."""
    said, shown = output.splitlines()  # standard error is not buffered
    return json.loads(shown.replace(run, "THE RUN")), said


async def test_a_fork_looks_like_a_new_process(stage: WarmStage) -> None:
    stage.program("probe", PROBE)
    runs, endings = [], []
    for is_warm in (False, True, True):
        runs.append(stage.begin("probe", TZ="Asia/Tokyo", FRUIT="quince jelly"))
        endings.append(await stage.ended(runs[-1]))
        assert stage.was_warm(runs[-1]) == is_warm
        await until(lambda: stage.warm.is_ready, "a warm zygote")
    (cold, _), (warm, one), (_, other) = [seen(stage.output(run).decode(), run) for run in runs]

    assert cold == warm
    assert warm["environ"]["FRUIT"] == "quince jelly"
    assert warm["files"] == ["0", "1", "2", "3"]  # the last is the list itself
    assert one != other
    assert [each.code for each in endings] == [7, 7, 7]
    assert {each.lines for each in endings} == {2}


ENDS = {
    "raises": "import atexit; atexit.register(print, 'later'); print('first'); raise ValueError('quince')",
    "large": "import sys; print('a' * 100_000); sys.exit(300)",
    "threads": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), print('from a thread'))).start()",
    "interrupted": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)",
    "terminated": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "spawns": "import os, subprocess, sys\n"
    "print(subprocess.run(['printenv', 'ERRANDS_RUN_DIR', 'FRUIT'], capture_output=True).returncode)",
    "odd": "import sys; sys.exit(['no', 'number'])",
    "missing": None,
}


async def test_a_fork_ends_in_every_way_like_a_new_process(stage: WarmStage) -> None:
    for name, text in ENDS.items():
        if text is not None:
            stage.program(name, text)
    found: list[dict[str, object]] = []
    for is_warm in (False, True):
        runs = {name: stage.begin(name, FRUIT="quince") for name in ENDS}
        ended = {name: await stage.ended(run) for name, run in runs.items()}
        found.append(
            {
                name: (each.code, each.signal, stage.output(runs[name]).decode())
                for name, each in ended.items()
            }
        )
        assert {stage.was_warm(run) for run in runs.values()} == {is_warm}
        await until(lambda: stage.warm.is_ready, "a warm zygote")

    assert found[0] == found[1]
    assert found[1]["large"] == (44, None, "a" * 100_000 + "\n")


WAITS = """
import os, signal, sys, time
with open("count", "a") as file: file.write("x")
for detach in (False, True):
    if os.fork() == 0:
        if detach: os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True: time.sleep(1000)
os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000")
print("ready", flush=True)
while not os.path.exists("go"): time.sleep(0.005)
print("done")
sys.exit(3)
"""


async def waiting(stage: WarmStage) -> str:
    """Start a warm run with children of all kinds, which ends once the file `go` exists."""
    await stage.warm_up()
    stage.program("waits", WAITS)
    run = stage.begin("waits")
    await stage.printed(run, b"ready")
    await until(lambda: len(stage.living(run)) == 4, "the whole tree, by its marks")
    assert stage.was_warm(run)
    return run


def count(stage: WarmStage) -> str:
    return (stage.folder / "count").read_text()


async def test_a_cancel_ends_the_whole_tree_of_a_fork(stage: WarmStage) -> None:
    run = await waiting(stage)

    stage.pool.stop(run, grace=0.2)
    ending = await stage.ended(run)

    assert ending.stop == "cancel"
    assert ending.survivors == ()
    assert stage.living(run) == []


@pytest.mark.spec("L20")
async def test_a_run_does_not_notice_the_death_of_its_warm_zygote(stage: WarmStage) -> None:
    run = await waiting(stage)
    killed = stage.warm_zygote
    os.kill(killed, signal.SIGKILL)
    await until(lambda: not stage.warm.is_ready, "the end of the warm zygote")

    (stage.folder / "go").touch()
    ending = await stage.ended(run)

    assert (ending.code, ending.leftovers) == (3, 3)
    assert stage.living(run) == []
    await stage.warm_up()
    assert stage.warm_zygote != killed
    again = stage.begin("first")
    await stage.ended(again)
    assert stage.was_warm(again)


@pytest.mark.fault("F10")
@pytest.mark.parametrize("also_the_zygote", [False, True])
async def test_a_killed_shim_leaves_no_process_of_a_fork(stage: WarmStage, also_the_zygote: bool) -> None:
    run = await waiting(stage)
    living = stage.living(run)

    if also_the_zygote:
        os.kill(stage.warm_zygote, signal.SIGKILL)
    os.kill(stage.shim_of(run), signal.SIGKILL)
    ending = await stage.ended(run)

    assert (ending.lost, ending.survivors, ending.code) == (LOST, (), None)
    assert [pid for pid in living if linux.is_alive(pid)] == []
    assert count(stage) == "x"


async def test_a_shim_killed_after_the_library_is_unloaded_leaves_no_process(stage: WarmStage) -> None:
    run = await waiting(stage)
    stage.warm._unload()

    os.kill(stage.shim_of(run), signal.SIGKILL)

    assert (await stage.ended(run)).lost == LOST
    assert stage.living(run) == []


@pytest.mark.spec("L20")
async def test_a_run_given_to_a_dying_zygote_is_still_started_once(stage: WarmStage) -> None:
    stage.program("counts", 'open("count", "a").write("x")')
    for number in range(1, 6):
        if not stage.warm.is_ready:
            await stage.warm_up()
        os.kill(stage.warm_zygote, signal.SIGSTOP if number % 2 else signal.SIGKILL)
        run = stage.begin("counts")
        os.kill(stage.warm_zygote, signal.SIGKILL)

        assert (await stage.ended(run)).code == 0
        assert count(stage) == "x" * number
        await until(lambda: not stage.warm.is_ready, "the end of the warm zygote")


async def test_a_cancel_counts_even_if_the_warm_zygote_dies_with_the_launch(stage: WarmStage) -> None:
    await stage.warm_up()
    stage.program("counts", 'open("count", "a").write("x")')
    os.kill(stage.warm_zygote, signal.SIGSTOP)
    run = stage.begin("counts")
    stage.pool.stop(run, grace=1)
    os.kill(stage.warm_zygote, signal.SIGKILL)

    assert (await stage.ended(run)).stop == "cancel"
    assert not (stage.folder / "count").exists()


async def test_a_run_that_needs_a_different_interpreter_starts_cold(stage: WarmStage) -> None:
    stage.program("looks", "import os; os.environ.get('QUINCES')")
    stage.warm._library = lambda: ("looks",)
    await stage.warm_up()
    usual = stage.launch_module("first").env["PYTHONPATH"]

    async def is_warm(**variables: str) -> bool:
        run = stage.begin("first", **variables)
        assert (await stage.ended(run)).code == 0
        return stage.was_warm(run)

    assert await is_warm()
    assert await is_warm(APPLES="2")
    assert not await is_warm(QUINCES="2")  # the library has read it
    assert not await is_warm(PYTHONPATH=f"{usual}:/elsewhere")
    assert not await is_warm(PYTHONUNBUFFERED="1")
    assert not await is_warm(LD_LIBRARY_PATH="/elsewhere")
    assert not await is_warm(LC_ALL="C.UTF-8")
    assert await is_warm()


async def test_a_path_that_depends_on_the_directory_is_never_warm(stage: WarmStage) -> None:
    path = f"{stage.launch_module('first').env['PYTHONPATH']}:code"
    await stage.warm_up(PYTHONPATH=path)
    run = stage.begin("first", PYTHONPATH=path)
    await stage.ended(run)
    assert not stage.was_warm(run)


async def test_a_library_that_was_reinstalled_is_loaded_again(stage: WarmStage) -> None:
    installed = stage.folder / "site-packages"
    installed.mkdir()
    (installed / "quince.py").write_text("KIND = 'old'")
    stage.program("shows", "import quince; print(quince.KIND)")
    stage.warm._library = lambda: ("quince",)
    path = f"{stage.launch_module('first').env['PYTHONPATH']}:{installed}"
    await stage.warm_up(PYTHONPATH=path)
    assert await stage.result("shows", PYTHONPATH=path) == (0, "old\n")

    (installed / "quince.py").unlink()
    (installed / "quince.py").write_text("KIND = 'brand new'")
    for _ in range(2):
        assert await stage.result("shows", PYTHONPATH=path) == (0, "brand new\n")
        await until(lambda: stage.warm.is_ready, "another warm zygote")


async def test_a_library_that_was_edited_is_loaded_again(stage: WarmStage) -> None:
    stage.program("quince", "KIND = 'old'")
    stage.program("shows", "import quince; print(quince.KIND)")
    stage.warm._library = lambda: ("quince",)
    await stage.warm_up()
    assert await stage.result("shows") == (0, "old\n")

    stage.program("quince", "KIND = 'brand new'")
    assert await stage.result("shows") == (0, "brand new\n")


async def test_the_library_is_unloaded_when_it_is_unused_for_a_while(tmp_path: Path) -> None:
    stage = WarmStage(tmp_path, keep=3.0)  # long enough for a busy machine to start a run in it
    await stage.pool.open()
    run = await waiting(stage)
    zygote = stage.warm_zygote

    used = stage.warm._used_at
    await until(lambda: stage.warm._used_at > used, "a look for idleness")
    assert stage.warm.is_ready, "a run uses it"
    (stage.folder / "go").touch()
    assert (await stage.ended(run)).code == 3
    await until(lambda: not linux.is_alive(zygote), "the end of the warm zygote")
    await until(lambda: not stage.warm._exiting, "the zygote to be reaped")
    assert await stage.result("first") == (0, "")
    await until(lambda: stage.warm.is_ready, "another warm zygote")
    await stage.pool.close()


UNFIT = {
    "threads": ("import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
                "starts threads"),
    "files": ("file = open('/dev/null')", "opens files"),
    "exits": ("raise SystemExit('enough')", "SystemExit: enough"),
    "dies": ("import os; os._exit(1)", "died"),
    "fails": ("1 / 0", "ZeroDivisionError"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNFIT)
async def test_a_library_that_cannot_be_forked_is_named_and_runs_start_cold(
    stage: WarmStage, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    text, reason = UNFIT[kind]
    stage.program("unfit", text)
    stage.program("first", "")
    stage.warm._library = lambda: ("unfit",)
    with caplog.at_level(logging.WARNING, "errands.pool"):
        assert await stage.result("first") == (0, "")
        await until(lambda: stage.warm._zygote is None, "the end of the warm zygote")

        assert await stage.result("first") == (0, "")
    assert [reason in each.message for each in caplog.records] == [True]
    assert stage.warm._zygote is None, "it is not tried again at once"


async def test_a_pool_that_closes_does_not_wait_for_a_library(tmp_path: Path) -> None:
    stage = WarmStage(tmp_path, library=("sleeps",))
    stage.program("sleeps", "import time; time.sleep(1000)")
    stage.program("first", "")
    await stage.pool.open()
    assert await stage.result("first") == (0, "")
    zygote = stage.warm_zygote
    assert linux.is_alive(zygote)

    await stage.pool.close()

    assert not os.path.exists(f"/proc/{zygote}")


@pytest.mark.spec("A8")
async def test_processes_started_by_a_fork_count_as_inside_its_run(stage: WarmStage) -> None:
    stage.program(
        "asks",
        "import os, subprocess, sys\n"
        "code = 'from errands.engine.actor import enclosing_runs as e; print(sorted(e()))'\n"
        "path = {'PYTHONPATH': os.environ['PYTHONPATH']}\n"
        "subprocess.run([sys.executable, '-c', code], env=path, check=True)",
    )
    found = []
    for _ in range(2):
        run = stage.begin("asks")
        await stage.ended(run)
        found.append(stage.output(run).decode().replace(run, "THE RUN"))
        await until(lambda: stage.warm.is_ready, "a warm zygote")
    assert found == ["['THE RUN', 'that this process descends from']\n"] * 2


async def test_forks_see_the_changes_a_library_makes_to_the_environment(stage: WarmStage) -> None:
    stage.program(
        "tidies",
        "from os import environ\n"
        "environ.setdefault('QUINCES', '5'); environ['PEARS'] = '6'; environ.pop('PLUMS', 0)",
    )
    stage.program("shows", "import os, tidies; print(sorted(os.environb.items()))")
    stage.warm._library = lambda: ("tidies",)
    found = []
    for _ in range(2):
        run = stage.begin("shows", PEARS="1", PLUMS="2", FIGS="3")
        await stage.ended(run)
        found.append((stage.was_warm(run), stage.output(run).decode().replace(run, "THE RUN")))
        await until(lambda: stage.warm.is_ready, "a warm zygote")
    assert [is_warm for is_warm, _ in found] == [False, True]
    assert found[0][1] == found[1][1]
    assert "b'5'" in found[1][1]


async def test_an_invalid_variable_fails_the_run_and_not_the_pool(stage: WarmStage) -> None:
    run = stage.begin("first", **{"with=sign": "1"})
    assert "cannot start" in ((await stage.ended(run)).error or "")
    assert stage.warm._zygote is None
