"""A plugin of pytest that runs modules of tests at the same time: `pytest -p tests.forked --at-once 5`.

The processes are forked once all tests are collected. Those of pytest-xdist collect everything each, which is
six seconds of processor time: with five of them on two cores a quarter of a minute before the first test.
The tests of a module stay in one process. Modules begin in their order, but those of folders that take long
come first, so that none of them is left alone at the end.
"""

from __future__ import annotations

import atexit
import itertools
import os
import random
import signal
import struct
import traceback
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import NoReturn

import pytest

_NUMBER = struct.Struct("=H")
_LONG = (
    "tests/chaos",
    "tests/scenarios",
    "tests/hosts",
    "tests/frontends/chat",
    "tests/frontends/cli",
    "tests/frontends/toolset",
    "tests/agents",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--at-once", type=int, default=1, help="run the tests of this many modules at a time")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    at_once = session.config.getoption("at_once")
    if at_once < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    modules = [list(tests) for _, tests in itertools.groupby(session.items, lambda item: item.path)]
    modules.sort(key=lambda tests: not tests[0].nodeid.startswith(_LONG))
    waiting, ready = os.pipe()
    with open(ready, "wb") as file:  # which has room for thirty thousand
        for number in range(len(modules)):
            file.write(_NUMBER.pack(number))
    place = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    processes: dict[Connection, int] = {}
    for number in range(at_once):
        heard, said = Pipe(duplex=False)
        pid = os.fork()
        if not pid:
            session.config._tmp_path_factory._basetemp = place / f"process{number}"  # type: ignore[attr-defined]
            _work(session, modules, waiting, said)
        said.close()
        processes[heard] = pid
    os.close(waiting)
    _report(session, processes)
    return True


def _report(session: pytest.Session, processes: dict[Connection, int]) -> None:
    """Report what the processes say, until all of them have ended."""
    hook = session.config.hook
    running: dict[Connection, str] = {}
    while processes:
        for heard in wait(list(processes)):
            assert isinstance(heard, Connection)
            try:
                said = heard.recv()
            except EOFError:
                heard.close()
                pid = processes.pop(heard)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                if code:
                    _stop(processes)
                    pytest.exit(f"a process ended with {code} during {running.get(heard)}", returncode=3)
                continue
            if isinstance(said, str):
                running[heard] = said
            else:
                report = hook.pytest_report_from_serializable(config=session.config, data=said)
                hook.pytest_runtest_logreport(report=report)
        if session.shouldfail or session.shouldstop:
            _stop(processes)
            raise session.Failed(session.shouldfail or session.shouldstop)


def _stop(processes: dict[Connection, int]) -> None:
    for pid in processes.values():
        os.kill(pid, signal.SIGTERM)


def _work(
    session: pytest.Session, modules: list[list[pytest.Item]], waiting: int, said: Connection
) -> NoReturn:
    """Run the tests of one module after the other, as long as there are any, and end."""
    config = session.config
    config._tmp_path_factory._basetemp.mkdir(mode=0o700)  # type: ignore[attr-defined]
    for name in ("terminalreporter", "lfplugin", "nfplugin"):
        config.pluginmanager.unregister(name=name)
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # else all of them would write into the same file
    capture.start_global_capturing()
    config.pluginmanager.register(_Teller(config, said))
    random.seed()
    code = 1
    try:
        tests = _tests(modules, waiting)
        this = next(tests, None)
        while this is not None:
            following = next(tests, None)
            said.send(this.nodeid)
            config.hook.pytest_runtest_protocol(item=this, nextitem=following)
            this = following
        code = 0
    except BaseException:  # noqa: BLE001  # the edge of a process
        capture.suspend_global_capture()
        traceback.print_exc()
    finally:
        said.close()
        atexit._run_exitfuncs()
        os._exit(code)


def _tests(modules: list[list[pytest.Item]], waiting: int) -> Iterator[pytest.Item]:
    while number := os.read(waiting, _NUMBER.size):
        yield from modules[_NUMBER.unpack(number)[0]]


class _Teller:
    """Tells the first process what happened to each test."""

    def __init__(self, config: pytest.Config, said: Connection) -> None:
        self._config = config
        self._said = said

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._said.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))
