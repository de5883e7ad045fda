"""A process that has loaded the command line, and forks a process of its own for every command.

The tests start thousands of commands, and loading was most of the time of each. A command is still a process
with its own directory, environment, files and exit code; how much it would load is tested elsewhere.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import signal
import socket
import sys
import termios
import time
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from errands import __main__ as program
from tests.frontends.cli.frozen import freeze

MODULES = (
    "errands.bootstrap", "errands.config.keys", "errands.config.loader", "errands.engine.agents.sessions",
    "errands.engine.approval.answers", "errands.engine.approval.approve", "errands.engine.approval.questions",
    "errands.engine.daemon.lock", "errands.engine.details", "errands.engine.log_header",
    "errands.engine.submit.submission", "errands.engine.waiting", "errands.frontends.cli.approval.confirm",
    "errands.frontends.cli.approval.proposals", "errands.frontends.cli.display.listing",
    "errands.frontends.cli.display.recurring", "errands.engine.text_mask",
    "errands.frontends.cli.help", "errands.frontends.cli.live.follow", "errands.frontends.cli.reply",
    "errands.frontends.cli.verbs.ls", "errands.frontends.cli.verbs.run", "errands.frontends.cli.verbs.show",
    "errands.judge.judge", "errands.model.options.template", "errands.model.schedule.cron",
    "errands.stores.sqlite.approvals", "errands.stores.sqlite.notices", "errands.stores.sqlite.queue",
    "errands.stores.sqlite.store", "errands.stores.sqlite.views",
    "errands.config.backends", "errands.config.channels", "errands.engine.daemon.outcome",
    "errands.engine.notices.inbox", "errands.engine.queue", "errands.engine.triggers.debounce",
    "errands.engine.walls.private_homes", "errands.engine.walls.variables", "errands.frontends.cli.context",
    "errands.frontends.cli.verbs.ask", "errands.frontends.cli.verbs.cancel",
    "errands.frontends.cli.verbs.daemon", "errands.frontends.cli.verbs.logs",
    "errands.frontends.cli.verbs.notices", "errands.frontends.cli.verbs.pause",
    "errands.frontends.cli.verbs.schedule", "errands.frontends.cli.verbs.template",
    "errands.frontends.cli.verbs.wait", "errands.judge.containment", "errands.judge.programs.harms",
    "errands.judge.programs.outward", "errands.judge.programs.shell", "errands.model.ending",
    "errands.model.notices.result", "errands.model.schedule.cursor", "errands.model.schedule.event_trigger",
    "errands.model.schedule.slots", "errands.model.schedule.watch",
    "errands.model.text.mask", "errands.runners.output.log", "errands.stores.sqlite.migrations",
    "errands.stores.sqlite.retention", "errands.stores.sqlite.schedules", "binascii", "ipaddress", "shutil",
    "struct", "tree_sitter", "tree_sitter_bash", "urllib.parse",
)  # fmt: skip
LARGEST = 1 << 16  # bytes of a request: words and variables
FILES = 4  # of a request: input, output, errors, and where its exit code is written


def serve(asked: socket.socket) -> None:
    """Run commands until nobody can ask any more."""
    running: dict[int, int] = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready, _, _ = select.select([asked.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _report(running)
        if asked.fileno() in ready:
            request, files, _, _ = socket.recv_fds(asked, LARGEST, FILES)
            if not request:
                return
            pid = os.fork()
            if not pid:
                _command(json.loads(request), files)
            running[pid] = files.pop()
            os.write(running[pid], f"{pid}\n".encode())
            for file in files:
                os.close(file)


def _report(running: dict[int, int]) -> None:
    """Write down the exit codes of the commands that ended."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        report = running.pop(pid)
        with suppress(BrokenPipeError):  # a test that waited too long for the command listens no more
            os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(report)


def _command(request: dict[str, object], files: list[int]) -> NoReturn:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, (file, name) in enumerate(zip(files, ("stdin", "stdout", "stderr"), strict=False)):
        os.dup2(file, number)
        usual = getattr(sys, name)
        stream = open(  # noqa: SIM115 - open to the end
            number, "w" if number else "r", encoding=usual.encoding, errors=usual.errors, closefd=False
        )
        stream.reconfigure(line_buffering=usual.line_buffering)
        setattr(sys, name, stream)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(request["environ"])  # type: ignore[call-overload]
    time.tzset()
    cwd = sys.path[0] = str(request["cwd"])
    os.chdir(cwd)
    sys.argv = [program.__file__, *request["words"]]  # type: ignore[misc]
    if request.get("on_terminal"):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if request.get("frozen"):
        freeze(*request["frozen"])  # type: ignore[misc]
    program.main()


if __name__ == "__main__":
    more = sys.argv[2:]
    for module in (*MODULES, *more):
        import_module(module)
    # A command that finds these loaded would leave slowly, as one with threads does.
    assert more or not {"asyncio", "threading"} & sys.modules.keys()
    gc.disable()
    gc.freeze()  # a search for garbage would copy every page of a fork
    serve(socket.socket(fileno=int(sys.argv[1])))
