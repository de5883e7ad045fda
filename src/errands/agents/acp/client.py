"""Our side of the connection: updates go to the turn, and requests are served inside its directory."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    CreateTerminalResponse,
    DeniedOutcome,
    EnvVariable,
    KillTerminalResponse,
    PermissionOption,
    ReadTextFileResponse,
    ReleaseTerminalResponse,
    RequestPermissionResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from errands.agents.acp.terminals import Terminals
from errands.agents.acp.transcript import Transcript
from errands.agents.acp.turn import Turn, in_directory
from errands.ports.agent import ToolCall

_FILE = 16 * 2**20  # bytes of a file that is read as a whole
_REFUSED = -32001


class Client:
    def __init__(self) -> None:
        self._turns: dict[str, tuple[Turn, str]] = {}
        self._replays: dict[str, Transcript] = {}
        self._terminals = Terminals()
        self._numbers = count(1)

    @contextmanager
    def serving(self, session: str, turn: Turn, *, cwd: str) -> Iterator[None]:
        """Pass updates and requests of a session to a turn, inside a directory."""
        self._turns[session] = (turn, os.path.realpath(cwd))
        try:
            yield
        finally:
            del self._turns[session]

    @contextmanager
    def replaying(self, session: str) -> Iterator[Transcript]:
        """Collect what the agent replays while a session is loaded."""
        transcript = self._replays[session] = Transcript()
        try:
            yield transcript
        finally:
            del self._replays[session]

    async def close(self) -> None:
        await self._terminals.close()

    def on_connect(self, conn: Any) -> None:
        """There is nothing to do: we never speak first."""

    async def session_update(self, session_id: str, update: Any, **meta: Any) -> None:
        if session_id in self._replays:
            self._replays[session_id].add(update)
        elif session_id in self._turns:
            self._turns[session_id][0].handle(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **meta: Any
    ) -> RequestPermissionResponse:
        decision = None
        if session_id in self._turns:
            decision = await self._turns[session_id][0].ask_about(tool_call)
        if decision is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        # Only this call is approved, never its kind forever.
        wanted = "allow_once" if decision.allowed else "reject_once"
        for option in options:
            if option.kind == wanted:
                chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=chosen)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **meta: Any
    ) -> ReadTextFileResponse:
        real = self._inside(session_id, path)
        await self._approve(session_id, "read_text_file", {"path": path})
        if not os.path.isfile(real):
            raise RequestError.resource_not_found(path)
        if os.path.getsize(real) > _FILE:
            raise RequestError(_REFUSED, f"{path} is longer than {_FILE} bytes")
        with open(real, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
        if line is not None or limit is not None:
            first = max((line or 1) - 1, 0)
            lines = text.splitlines(keepends=True)
            text = "".join(lines[first:] if limit is None else lines[first : first + limit])
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **meta: Any
    ) -> WriteTextFileResponse:
        real = self._inside(session_id, path)
        await self._approve(
            session_id, "write_text_file", {"path": path, "content": content}, wants=("write", path, content)
        )
        try:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            with open(real, "w", encoding="utf-8", newline="") as file:
                file.write(content)
        except OSError as error:
            raise RequestError.internal_error({"details": str(error)}) from error
        return WriteTextFileResponse()

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **meta: Any,
    ) -> CreateTerminalResponse:
        directory = self._inside(session_id, cwd or ".")
        line = _line(command, args or (), env or ())
        plain = shlex.join([command, *args]) if args else command
        arguments = {"command": line, "cwd": directory}
        judged = in_directory(line, directory, self._turn(session_id)[1])
        wants = ("run", judged) if line == plain else ()
        await self._approve(session_id, "terminal", arguments, command=judged, wants=wants)
        try:
            name = await self._terminals.create(line, cwd=directory, limit=output_byte_limit)
        except OSError as error:
            raise RequestError.internal_error({"details": str(error)}) from error
        return CreateTerminalResponse(terminal_id=name)

    async def terminal_output(self, session_id: str, terminal_id: str, **meta: Any) -> TerminalOutputResponse:
        terminal = self._terminals.get(terminal_id)
        over = terminal.exit
        return TerminalOutputResponse(
            output=terminal.output,
            truncated=terminal.truncated,
            exit_status=None if over is None else TerminalExitStatus(exit_code=over[0], signal=over[1]),
        )

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **meta: Any
    ) -> WaitForTerminalExitResponse:
        code, signal = await self._terminals.get(terminal_id).wait()
        return WaitForTerminalExitResponse(exit_code=code, signal=signal)

    async def kill_terminal(self, session_id: str, terminal_id: str, **meta: Any) -> KillTerminalResponse:
        await self._terminals.get(terminal_id).kill()
        return KillTerminalResponse()

    async def release_terminal(
        self, session_id: str, terminal_id: str, **meta: Any
    ) -> ReleaseTerminalResponse:
        await self._terminals.release(terminal_id)
        return ReleaseTerminalResponse()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore the extensions of single agents."""

    def _turn(self, session: str) -> tuple[Turn, str]:
        try:
            return self._turns[session]
        except KeyError:
            raise RequestError(_REFUSED, "no prompt is being answered") from None

    def _inside(self, session: str, path: str) -> str:
        """Return the real path; refuse one outside the session's directory."""
        _, directory = self._turn(session)
        real = os.path.realpath(os.path.join(directory, path))
        if real != directory and not real.startswith(directory.rstrip("/") + "/"):
            raise RequestError(_REFUSED, f"{path} is outside {directory}")
        return real

    async def _approve(
        self,
        session: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        command: str | None = None,
        wants: tuple[str, ...] = (),
    ) -> None:
        turn, _ = self._turn(session)
        call = ToolCall(id=f"{tool}-{next(self._numbers)}", tool=tool, arguments=arguments, command=command)
        decision = await turn.ask(call, wants=wants)
        if decision is None or not decision.allowed:
            raise RequestError(_REFUSED, decision.reason or "refused" if decision else "stopped")


def _line(command: str, args: Sequence[str], env: Sequence[EnvVariable]) -> str:
    """Return a terminal's command as one line, which is judged and run."""
    line = shlex.join([command, *args]) if args else command
    if not env:
        return line
    settings = [shlex.quote(f"{each.name}={each.value}") for each in env]
    return f"env {' '.join(settings)} " + (line if args else f"sh -c {shlex.quote(line)}")
