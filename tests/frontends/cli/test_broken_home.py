"""What commands say when a part of the home is missing, or its daemon cannot start."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person


@pytest.mark.spec("X15")
def test_a_daemon_that_cannot_start_says_why_and_nothing_of_an_earlier_one(newcomer: Person) -> None:
    newcomer.finishes("true")
    newcomer.types("daemon", "stop")
    refused = newcomer.types("daemon", "start", code=1, ERRANDS_RUNS_GRACE="x").err

    assert refused.startswith(
        "errands: the daemon could not start:\nerrands: environment ERRANDS_RUNS_GRACE: "
    )
    assert "INFO" not in refused


@pytest.mark.spec("O1")
def test_output_that_was_removed_is_not_shown_as_none(person: Person) -> None:
    task_id = person.finishes("seq 3")
    log = Path(person.sees(task_id)["output_file"])
    log.unlink()

    assert (
        f"the output of {task_id}.1 (6 B) is gone: {log} was removed"
        in person.types("logs", task_id, code=3).err
    )
    assert "is gone" in person.types("logs", "--tail", "1", task_id, code=3).err


@pytest.fixture
def small_disk(newcomer: Person) -> Iterator[Path]:
    """Put the home on a separate disk of 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    newcomer.home.mkdir(mode=0o700)
    disk = ["-t", "tmpfs", "-o", "size=4m,mode=0700", "errands-test", str(newcomer.home)]
    subprocess.run(["mount", *disk], check=True)
    yield newcomer.home
    newcomer.leaves()
    subprocess.run(["umount", "--lazy", newcomer.home], check=True)


@pytest.mark.spec("X7", "X15")
def test_the_list_says_that_the_disk_is_full(newcomer: Person, small_disk: Path) -> None:
    later = newcomer.starts("--at", "+1h", "true")
    assert "disk" not in newcomer.types("ls").out
    full = f"the disk of {small_disk} is full: nothing starts, and no end is recorded, until it has room"
    said = ""
    with open(small_disk / "ballast", "wb", buffering=0) as ballast:
        for _ in range(20):  # what the daemon frees meanwhile is filled, too
            with suppress(OSError):
                while True:
                    ballast.write(bytes(1 << 16))
            said = " ".join(newcomer.types("ls").out.split())
            if full in said:
                break
    assert full in said
    (small_disk / "ballast").unlink()
    newcomer.types("cancel", later)
