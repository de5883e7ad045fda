"""A task can replace every file in its run directory: nothing hangs, and nothing outside is written."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errands.model.errors import NoInput
from errands.ports import own_file, rundir
from errands.ports.home import is_locked
from errands.ports.runner import Alive, Ended
from errands.runners.output import log
from errands.runners.pool.pool import ShimPool
from errands.runners.shim import run_record
from tests.runners.stage import HEADER, Stage, until

SECRET = b"0.000 0.000 0.000 of somebody else\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file outside of the run directory, which must stay as it is."""
    path = tmp_path / "victim"
    path.write_bytes(SECRET)
    return path


# What a task puts in the place of a file, as shell commands with the file as `$it` and a victim as `$victim`.
REPLACEMENTS = {
    "fifo": 'rm -rf "$it"; mkfifo "$it"',
    "directory": 'rm -rf "$it"; mkdir "$it"; touch "$it/full"',
    "link": 'rm -rf "$it"; ln -s "$victim" "$it"',
    "hard link": 'rm -rf "$it"; ln "$victim" "$it"',
    "dangling link": 'rm -rf "$it"; ln -s "$victim.new" "$it"',
    "device": 'rm -rf "$it"; ln -s /dev/zero "$it"',
}


@pytest.fixture(params=REPLACEMENTS)
def replace(request: pytest.FixtureRequest, victim: Path) -> Callable[[str], str]:
    """Return the command of a task that replaces one of its files."""

    def command(name: str) -> str:
        return f'it="$ERRANDS_RUN_DIR/{name}"; it="${{it%/}}"; victim={victim}; {REPLACEMENTS[request.param]}'

    return command


@pytest.fixture
def untouched(victim: Path) -> Callable[[], bool]:
    return lambda: victim.read_bytes() == SECRET and not Path(f"{victim}.new").exists()


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT])
def test_only_a_plain_file_is_opened_and_opening_never_waits(tmp_path: Path, flags: int) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(plain)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))

        os.close(own_file.open_file(str(plain), flags))
        for name in ("fifo", "directory", "link", "dangling", "socket"):
            with pytest.raises(own_file.ReplacedError):
                own_file.open_file(str(tmp_path / name), flags)
    assert not (tmp_path / "nothing").exists()


def test_a_file_with_a_second_name_is_read_and_not_written(victim: Path) -> None:
    os.link(victim, f"{victim}.2")

    os.close(own_file.open_file(str(victim)))
    with pytest.raises(own_file.ReplacedError):
        own_file.open_file(str(victim), os.O_WRONLY)


async def test_a_log_that_was_replaced_before_the_run_is_made_anew(
    stage: Stage, victim: Path, replace: Callable[[str], str], untouched: Callable[[], bool]
) -> None:
    launch = stage.launch("echo printed")
    rundir.create(launch.directory, HEADER)
    assert not os.system(f"ERRANDS_RUN_DIR={launch.directory}; {replace('output.log')}")

    stage.pool.start(launch)
    ending = await stage.ended(launch.run_id)

    assert (ending.code, ending.disk) == (0, None)
    assert stage.output(launch.run_id) == b"printed\n"
    assert untouched()


@pytest.mark.parametrize("name", ["output.log", "output.tail", "progress", "progress.new", "record.1"])
async def test_a_task_that_replaces_a_file_of_its_run_ends_as_it_would(
    stage: Stage, replace: Callable[[str], str], untouched: Callable[[], bool], name: str
) -> None:
    flood = "head -c 200000 /dev/zero | tr '\\0' x"
    command = f"{replace(name)}; echo '::progress 1/2 half'; {flood}; echo '::progress 2/2 all'; exit 7"

    run = stage.start(command, cap=100_000)
    ending = await stage.ended(run)

    directory = str(stage.directory(run))
    assert ending.code == 7
    assert untouched()
    log.read(directory)
    log.tail(directory, 5)
    log.header(directory)
    rundir.reported_progress(directory)
    rundir.last_output(directory)
    if name != "record.1":
        assert stage.output(run).endswith(b"all\n") or name == "output.log"


async def test_the_ending_is_recorded_though_the_task_replaced_its_record(
    stage: Stage, replace: Callable[[str], str], untouched: Callable[[], bool]
) -> None:
    run = stage.start(f"{replace('record.1')}; exit 7")
    await stage.ended(run)

    found = ShimPool(str(stage.runs)).recover(run, attempt=1)

    assert isinstance(found, Ended)
    assert found.ending.code == 7
    assert untouched()


async def test_the_ending_is_recorded_though_the_task_moved_its_record_away(
    stage: Stage, tmp_path: Path
) -> None:
    run = stage.start(
        f'mv "$ERRANDS_RUN_DIR/record.1" {tmp_path}/moved; mkfifo "$ERRANDS_RUN_DIR/record.1"; exit 7'
    )
    await stage.ended(run)

    found = run_record.read(str(stage.directory(run)), 1)

    assert found is not None
    assert found.exit is not None
    assert found.exit["code"] == "7"


@pytest.mark.parametrize("name", ["record.1", "output.log", ""])
async def test_a_run_whose_shim_is_gone_is_swept_whatever_it_replaced(
    stage: Stage, replace: Callable[[str], str], untouched: Callable[[], bool], name: str
) -> None:
    run = stage.start(f"{replace(name)}; kill -9 $PPID; sleep 1000")

    ending = await stage.ended(run)

    assert ending.lost is not None
    assert not stage.living(run)
    assert untouched()
    assert (await stage.run("echo the next one")).code == 0


@pytest.mark.parametrize(
    "damage", ["pid nonsense", "pid 1", "run x shim=%zz", "run x header=999999999999999999", "exit code=%q"]
)
async def test_a_garbled_record_stops_neither_the_zygote_nor_a_new_pool(stage: Stage, damage: str) -> None:
    run = stage.start(f'echo "{damage}" >> "$ERRANDS_RUN_DIR/record.1"; kill -9 $PPID; sleep 1000')
    zygote = stage.zygote

    ending = await stage.ended(run)

    assert (ending.lost, ending.code) != (None, 0)
    log.header(str(stage.directory(run)))
    log.read(str(stage.directory(run)))
    await until(lambda: not run_record.is_locked(str(stage.directory(run)), 1), "the death of the shim")
    assert isinstance(ShimPool(str(stage.runs)).recover(run, attempt=1), Ended)
    assert stage.zygote == zygote


async def test_a_pool_that_finds_a_replaced_record_of_a_living_run_does_not_hang(
    stage: Stage, replace: Callable[[str], str], untouched: Callable[[], bool]
) -> None:
    run = stage.start(f"{replace('record.1')}; echo ready; sleep 1000")
    await stage.printed(run, b"ready")

    assert not is_locked(str(stage.directory(run) / "record.1")) or stat.S_ISREG(
        os.lstat(stage.directory(run) / "record.1").st_mode
    )
    found = stage.pool.recover(run, attempt=1)

    assert isinstance(found, Alive)
    stage.pool.stop(run, grace=0)
    assert (await stage.ended(run)).stop == "cancel"
    assert untouched()


async def test_input_does_not_reach_a_socket_that_the_task_links_to(stage: Stage, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other"))
        other.listen()
        other.setblocking(False)
        run = stage.start(
            f'ln -sf {tmp_path}/other "$ERRANDS_RUN_DIR/control"; echo ready; cat', input="pipe"
        )
        await stage.printed(run, b"ready")

        with pytest.raises(NoInput):
            log.send(str(stage.directory(run)), b"a secret\n")
        with pytest.raises(BlockingIOError):
            other.accept()
    stage.pool.stop(run, grace=0)
    await stage.ended(run)


def test_a_file_that_two_replace_at_once_has_the_content_of_one(tmp_path: Path) -> None:
    path = f"{tmp_path}/placement"

    def replace_often(content: bytes) -> None:
        for _ in range(500):
            own_file.replace_file(path, content)

    with ThreadPoolExecutor(4) as several:
        list(several.map(replace_often, [b"one\n", b"two\n", b"six\n", b"ten\n"]))

    assert Path(path).read_text() in ("one\n", "two\n", "six\n", "ten\n")
    assert os.listdir(tmp_path) == ["placement"]
