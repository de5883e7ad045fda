"""`errands client opencode serve`: carries out the calls of OpenCode's plugin and reports the ends of tasks.

The plugin writes one JSON object per line, and so do we. The end of our input means that OpenCode is gone;
what was launched keeps running.

    hello      who OpenCode is: pid, program, the socket of its bridge, and whether it outlives its turn
    call       a tool call and its caller -> question, if approval is needed -> reply
    cancel     a call is no longer wanted; what it launched keeps running
    answer     what the person said to a question: yes, always, no, or none if no person was asked
    withdraw ->  a question was answered elsewhere, and needs no answer here
    watch      a session is in use here: report the ends of its tasks
    prompt     may a prompt be sent to a session of ours? -> reply, with why not
    news ->    there is something to report to a session -> ready, when it is idle
    notice ->  the report -> delivered, or not
    deleted    a session was deleted
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from errands.engine.engine import Engine
from errands.frontends.opencode.calls import Calls, Program, owner_of
from errands.frontends.opencode.reports import Reports
from errands.ports.bridges import Bridge, data_directory, folder, holder, keep, started

_LONGEST = 64 << 20  # bytes of one line
_LOG = logging.getLogger("errands.opencode")


def serve(open_engine: Callable[[], Engine], environ: Mapping[str, str] = os.environ) -> int:
    """Serve until OpenCode is gone."""
    gc.enable()  # a long-lived process needs garbage collection, which the command line turns off
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="errands client: %(message)s")
    engine = open_engine()
    try:
        asyncio.run(_Service(engine, environ).run())
    finally:
        engine.close()
    return 0


class _Service:
    def __init__(self, engine: Engine, environ: Mapping[str, str]) -> None:
        self._engine = engine
        self._calls = Calls(engine, environ, ask=self._ask)
        self._reports = Reports(engine, send=self._send)
        self._environ = environ
        self._used: dict[str, None] = {}  # the sessions in use here, in order
        self._answers: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        reader = asyncio.StreamReader(limit=_LONGEST)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self._begin(self._reports.run())
        try:
            while line := await reader.readline():
                self._receive(json.loads(line))
        finally:
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _receive(self, message: Mapping[str, Any]) -> None:
        match message:
            case {"type": "hello", "pid": int(pid)}:
                facts = {name: message[name] for name in ("program", "socket", "wakes")}
                self._calls.program = Program(pid=pid, **facts)
                self._reports.claimant = str(pid)
                self._note_bridge()
            case {"type": "call", "id": int(number)}:
                self._in_flight[number] = self._begin(self._call(number, message))
            case {"type": "cancel", "id": int(number)} if number in self._in_flight:
                self._in_flight[number].cancel()
            case {"type": "answer", "id": int(number)}:
                if asked := self._answers.pop(number, None):  # else it was answered elsewhere before
                    asked.set_result(message)
            case {"type": "watch", "session": str(session)}:
                self._use(session)
            case {"type": "prompt", "id": int(number), "session": str(session)}:
                self._send({"type": "reply", "id": number, "text": self._refusal(session)})
            case {"type": "ready", "id": int(number)}:
                self._reports.ready(number)
            case {"type": "delivered", "id": int(number), "delivered": is_delivered}:
                self._reports.settle(number, is_delivered=bool(is_delivered))
            case {"type": "deleted", "session": str(session)}:
                self._engine.sessions.deleted(session, parent=owner_of(session))
            case _:
                _LOG.warning("OpenCode's plugin sent an unknown message: %.200r", message)

    async def _call(self, number: int, message: Mapping[str, Any]) -> None:
        try:
            await self._carry_out(number, message)
        finally:
            del self._in_flight[number]

    async def _carry_out(self, number: int, message: Mapping[str, Any]) -> None:
        self._use(message["caller"]["session"])
        tool, arguments, caller = message["tool"], message["arguments"], message["caller"]
        reply = await self._calls.call(number, tool, arguments, caller, may_ask=message["asks"])
        self._send(
            {"type": "reply", "id": number, "text": reply.text, "failed": reply.failed, "tasks": reply.tasks}
        )
        self._reports.expect(caller["session"])  # now there is something to report

    def _refusal(self, session: str) -> str:
        """Say why a prompt to a session must wait: a headless server of ours works on it."""
        run = holder(folder(self._engine.home.path), session)
        if run is None:
            return ""
        task = run.rpartition(".")[0] or "ID"
        return (
            "OpenCode was closed, and Errands continues this agent elsewhere. Send your message again "
            f"when it has ended (errands wait {task}), or end it first (errands cancel {task})."
        )

    def _use(self, session: str) -> None:
        """Note that a session is in use in this OpenCode: it reports there, and agents of it run there."""
        self._reports.watch(session)
        if session not in self._used:
            self._used[session] = None
            self._note_bridge()

    def _note_bridge(self) -> None:
        program = self._calls.program
        if program.socket is None:
            return
        bridge = Bridge(
            pid=program.pid,
            started=started(program.pid),
            socket=program.socket,
            program=program.program,
            data=data_directory(self._environ),
            sessions=tuple(self._used),
        )
        keep(folder(self._engine.home.path), bridge)

    async def _ask(self, number: int, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have a question asked in OpenCode and return what came back; to cancel this withdraws it."""
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._send({"type": "question", "id": number, **question})
        try:
            return await answer
        except asyncio.CancelledError:
            self._send({"type": "withdraw", "id": number})
            raise
        finally:
            self._answers.pop(number, None)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # The plugin says so to every call that waits, and starts another process for the next one.
            _LOG.error("the process for OpenCode ends: %r", error)
            os._exit(1)

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()
        except OSError:
            pass  # OpenCode is gone, and the end of our input says so
