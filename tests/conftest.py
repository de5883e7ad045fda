"""The rules of every test (a home of its own, known requirements, no silent skips), and shared fixtures."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import errands
from errands.bootstrap import open_engine
from errands.engine.daemon.lock import daemon_facts, is_daemon_running
from errands.engine.engine import Engine
from errands.ports.home import Home, make_home
from errands.runners.pool import pool
from errands.runners.shim import zygote
from errands.stores.sqlite import connection
from errands.testing.engines import TestEngine, embedded
from tests.engine.daemons import Daemons
from tests.postgres import database as database
from tests.postgres import postgres as postgres
from tests.requirements import PLACE, read, unknown_ids

# Deadlines, and how long the first examples take, measure the machine, not the code. In CI a failure must be
# reproducible.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("person", UNTIMED)
settings.register_profile("ci", UNTIMED, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "person")

# The programs under test must see the widths and colours of a test, not those of the terminal that runs it.
# Importing readline sets two of them behind the back of `os.environ`.
with suppress(ImportError):
    import readline  # noqa: F401
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
    os.environ.pop(name, None)
    os.unsetenv(name)

# Tests press Ctrl-C, which a shell without job control ignores in what it starts in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

_numbers = itertools.count()
ENDS_WITHIN = 5.0  # seconds; a daemon that was killed or told to stop still has its lock for an instant

# Collecting twelve thousand tests makes a million objects that stay. Searching them for garbage again and
# again took a third of that time (9.8 instead of 6.9 s), and more later: they are set aside once they exist.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        default=os.environ.get("CI") == "true",
        help="a skipped test fails the run (always so with CI=true)",
    )
    parser.addoption(
        "--placed", action="store_true", help="run the scenarios with every run placed on another home"
    )


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")
    wrong = unknown_ids(items, read(PLACE.read_text()))
    if wrong:
        raise pytest.UsageError("\n".join(wrong))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.freeze()  # else everything is searched once more at exit


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    scenarios = _scenarios([*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")])
    if scenarios:
        terminalreporter.section("scenarios of the conformance suite")
        terminalreporter.write_line("\n".join(scenarios))
    skipped = len(terminalreporter.stats.get("skipped", []))
    if skipped:
        verdict = "this fails the run" if config.getoption("no_skips") else "in CI this fails the run"
        terminalreporter.section(f"{skipped} SKIPPED: {verdict}", sep="!", red=True, bold=True)


def _scenarios(reports: list[pytest.TestReport]) -> list[str]:
    """List the scenarios of the conformance suite with their verdicts, whichever process ran them."""
    lines = []
    for report in reports:
        noted = dict(report.user_properties)
        if "scenario" in noted:
            verdict = noted.get("verdict", "passed") if report.passed else "FAILED"
            lines.append(f"{noted['scenario']}: {verdict}")
    return lines


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter is not None and reporter.stats.get("skipped")
    if skipped and session.config.getoption("no_skips") and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def own_home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep every test away from the user's own tasks and configuration; create nothing, leave no daemon."""
    for name in os.environ:
        if name.startswith("ERRANDS_"):
            monkeypatch.delenv(name)
    home = _homes / str(next(_numbers))
    monkeypatch.setenv("ERRANDS_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{home}-config")
    monkeypatch.setenv("XDG_STATE_HOME", f"{home}-state")
    yield home
    left = Home(path=str(home))
    deadline = time.monotonic() + ENDS_WITHIN
    while is_daemon_running(left) and time.monotonic() < deadline:
        time.sleep(0.005)
    if is_daemon_running(left):
        facts = daemon_facts(left)
        Daemons(left).end()
        pytest.fail(f"this test left a daemon running, which has been ended: {facts}")


@pytest.fixture(scope="session", autouse=True)
def _copied_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let a store in a new home begin as a copy of one that was made before.

    Going through all migrations takes 13 ms, a thousand times. It is done once here, by the processes that
    tests start, and wherever the home exists before the store.
    """
    place = tmp_path_factory.mktemp("store") / "errands.db"
    connection.Connection(str(place)).close()
    content, prepare = place.read_bytes(), connection._prepare

    def prepare_copy(path: str, *, new: bool) -> None:
        folder = os.path.dirname(path)
        with suppress(OSError):  # which the original reports
            if not os.path.lexists(folder):
                make_home(folder)
                copy = f"{folder}/copy-{threading.get_ident()}"
                with open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(content)
                try:
                    os.link(copy, path)  # unless another process was quicker
                finally:
                    os.unlink(copy)
        prepare(path, new=new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_prepare", prepare_copy)
        yield


# Its path ends like that of the real one, by which runs know that they are inside of one (`engine/actor.py`).
_ZYGOTE = "errands/runners/shim/zygote.py"
_REHEARSES_ONCE = """
import os, sys
sys.path.insert(0, {source!r})
from errands.runners.shim import zygote
zygote._PREWARM_RUNS = 1
zygote.main()
os._exit(0)
"""


@pytest.fixture(scope="session", autouse=True)
def _quick_zygotes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the zygotes of engines inside a test rehearse once instead of 24 times, which only saves memory.

    That takes 25 of the 39 ms of processor time of their start, a thousand times. Those of real daemons
    rehearse in full.
    """
    place = tmp_path_factory.mktemp("zygote") / _ZYGOTE
    place.parent.mkdir(parents=True)
    place.write_text(_REHEARSES_ONCE.format(source=str(Path(errands.__file__).parents[1])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_ZYGOTE", str(place))
        yield


@pytest.fixture
def real_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure zygotes and shims as they are: use it before the fixture that starts them."""
    monkeypatch.setattr(pool, "_ZYGOTE", zygote.__file__)


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(path=str(own_home))


@pytest.fixture
async def engine(home: Home) -> AsyncIterator[TestEngine]:
    async with embedded(home.path) as engine:
        yield engine


@pytest.fixture
def client(home: Home) -> Iterator[Engine]:
    """The engine of a process that runs no loops, such as a command with `--yes`."""
    engine = open_engine(home, consent="yes")
    yield engine
    engine.close()


@pytest.fixture
def daemons(home: Home) -> Iterator[Daemons]:
    daemons = Daemons(home)
    yield daemons
    daemons.end()


@pytest.fixture
def config_file(own_home: Path) -> Path:
    """The user's configuration, which does not exist yet."""
    path = Path(f"{own_home}-config") / "errands" / "config.toml"
    path.parent.mkdir(parents=True)
    return path
