"""An agent that speaks the Agent Client Protocol and does what prompts say; its sessions live in a folder.

    python -m tests.agents.acp_agent FOLDER [load] [resume] [fork] [close]

The words name what it can do. Every line of a prompt that begins so is carried out, the rest is repeated:

    RUN line          ask, then run a shell line itself
    TERMINAL line     have the client run it
    KILL line         have the client run it, and end it when it has said something
    READ path         have the client read a file; WRITE path words: write it; EDIT path words: ask before
    RECALL            say all that was said
    SILENT            say nothing any more
    FAIL words        give an error; DIE words: complain and leave
    STOP reason       end the turn for this reason
    USE 10 5          claim these tokens; COST 0.5: claim these dollars
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from acp import (
    RequestError,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    Cost,
    ForkSessionResponse,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionForkCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

ASK = [
    PermissionOption(option_id="for-ever", name="Always", kind="allow_always"),
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class Obedient:
    def __init__(self, folder: Path, can: set[str]) -> None:
        self._folder = folder
        self._can = can
        self._stopped: dict[str, asyncio.Event] = {}
        self._models: dict[str, str] = {}
        self._cwd: dict[str, str] = {}
        self._usage: Usage | None = None
        self._stop_reason: Any = "end_turn"

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=99 if "future" in self._can else protocol_version,
            agent_capabilities=AgentCapabilities(
                load_session="load" in self._can,
                session_capabilities=SessionCapabilities(
                    fork=SessionForkCapabilities() if "fork" in self._can else None,
                    resume=SessionResumeCapabilities() if "resume" in self._can else None,
                    close=SessionCloseCapabilities() if "close" in self._can else None,
                ),
            ),
        )

    async def new_session(self, cwd: str, **meta: Any) -> NewSessionResponse:
        name = self._enter(
            uuid.uuid4().hex[:8],
            cwd,
            {"role": "meta", "text": json.dumps(meta.get("colour"))},
        )
        return NewSessionResponse(session_id=name, config_options=self._options(name))

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        for each in self._history(session_id):
            match each["role"]:
                case "user":
                    update: Any = update_user_message_text(each["text"])
                case "agent":
                    update = update_agent_message_text(each["text"])
                case "tool":
                    content = [tool_content(text_block(each["text"]))]
                    update = start_tool_call(
                        each["id"], each["title"], status=each["status"], content=content
                    )
                case _:
                    continue
            await self._client.session_update(session_id, update)
        self._enter(session_id, cwd)
        return LoadSessionResponse(config_options=self._options(session_id))

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        self._history(session_id)
        self._enter(session_id, cwd)
        return ResumeSessionResponse(config_options=self._options(session_id))

    async def fork_session(self, session_id: str, cwd: str, **_: Any) -> ForkSessionResponse:
        name = self._enter(uuid.uuid4().hex[:8], cwd, *self._history(session_id))
        return ForkSessionResponse(session_id=name, config_options=self._options(name))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        self._keep(session_id, {"role": "closed", "text": ""})
        return CloseSessionResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        if value not in ("small", "large"):
            raise RequestError.invalid_params({"details": f"no model {value}"})
        self._models[session_id] = str(value)
        return SetSessionConfigOptionResponse(config_options=[])

    async def cancel(self, session_id: str, **_: Any) -> None:
        if "deaf" not in self._can:
            self._stopped[session_id].set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        if session_id not in self._cwd:
            raise RequestError.resource_not_found(session_id)
        text = "".join(getattr(block, "text", "") for block in prompt)
        with (self._folder / "prompts").open("a") as file:
            file.write(json.dumps(text) + "\n")
        if "forgetful" not in self._can:
            self._keep(session_id, {"role": "user", "text": text})
        self._stopped[session_id] = asyncio.Event()
        working = asyncio.ensure_future(self._work(session_id, text))
        stopping = asyncio.ensure_future(self._stopped[session_id].wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not working.done():
            working.cancel()
            return PromptResponse(stop_reason="cancelled")
        working.result()
        return PromptResponse(stop_reason=self._stop_reason, usage=self._usage)

    async def _work(self, session: str, text: str) -> None:
        self._usage, self._stop_reason = Usage(total_tokens=15, input_tokens=10, output_tokens=5), "end_turn"
        orders: dict[str, Callable[[str, str], Awaitable[str]]] = {
            "RUN": self._run, "TERMINAL": self._terminal, "KILL": self._kill, "READ": self._read,
            "WRITE": self._write, "EDIT": self._edit, "RECALL": self._recall, "SILENT": self._silent,
            "FAIL": self._fail, "DIE": self._die, "STOP": self._stop, "USE": self._use, "COST": self._cost,
            "MODEL": self._model, "META": self._told_meta,
        }  # fmt: skip
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            said = await orders[word](session, rest) if word in orders else line and f"I heard: {line}"
            if said:
                for piece in (said[:3], said[3:]):
                    await self._client.session_update(session, update_agent_message_text(piece))
                self._keep(session, {"role": "agent", "text": said})

    async def _run(self, session: str, line: str) -> str:
        call = f"call-{uuid.uuid4().hex[:6]}"
        start = start_tool_call(call, "shell", kind="execute", status="pending", raw_input={"command": line})
        await self._client.session_update(session, start)
        answer = await self._client.request_permission(
            session_id=session, tool_call=ToolCallUpdate(tool_call_id=call, title="shell"), options=ASK
        )
        if answer.outcome.outcome == "cancelled" or answer.outcome.option_id != "yes":
            await self._client.session_update(session, update_tool_call(call, status="failed"))
            return f"not allowed: {answer.outcome.outcome}"
        piece = {"role": "tool", "id": call, "title": "shell", "status": "in_progress", "text": ""}
        self._keep(session, piece)
        shell = await asyncio.create_subprocess_shell(
            line, cwd=self._cwd[session], stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        try:
            output, _ = await shell.communicate()
        except asyncio.CancelledError:
            shell.kill()
            raise
        said = output.decode()
        self._keep(session, {**piece, "status": "completed", "text": said})
        content = [tool_content(text_block(said))]
        await self._client.session_update(
            session, update_tool_call(call, status="completed", content=content)
        )
        return f"it printed {said}"

    async def _terminal(self, session: str, line: str) -> str:
        try:
            made = await self._client.create_terminal(command=line, session_id=session)
        except RequestError as error:
            return f"no terminal: {error}"
        over = await self._client.wait_for_terminal_exit(session_id=session, terminal_id=made.terminal_id)
        shown = await self._client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        await self._client.release_terminal(session_id=session, terminal_id=made.terminal_id)
        return f"exit {over.exit_code} signal {over.signal} truncated {shown.truncated}: {shown.output}"

    async def _kill(self, session: str, line: str) -> str:
        made = await self._client.create_terminal(
            command="sh", args=["-c", line], session_id=session, output_byte_limit=10
        )
        while not (
            await self._client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        ).output:
            await asyncio.sleep(0.01)
        await self._client.kill_terminal(session_id=session, terminal_id=made.terminal_id)
        shown = await self._client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        return f"killed: {shown.exit_status.signal if shown.exit_status else None}: {shown.output}"

    async def _read(self, session: str, path: str) -> str:
        try:
            found = await self._client.read_text_file(path=path, session_id=session, line=2, limit=1)
        except RequestError as error:
            return f"cannot read: {error}"
        return f"second line: {found.content}"

    async def _write(self, session: str, rest: str) -> str:
        path, _, words = rest.partition(" ")
        try:
            await self._client.write_text_file(path=path, content=words, session_id=session)
        except RequestError as error:
            return f"cannot write: {error}"
        return "written"

    async def _edit(self, session: str, rest: str) -> str:
        path, _, words = rest.partition(" ")
        change = ToolCallUpdate(
            tool_call_id="edit-1", title="edit", kind="edit", content=[tool_diff_content(path, words)]
        )
        await self._client.request_permission(session_id=session, tool_call=change, options=ASK)
        return await self._write(session, rest)

    async def _recall(self, session: str, _: str) -> str:
        return "\n".join(each["text"] for each in self._history(session))

    async def _silent(self, *_: str) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    async def _fail(self, session: str, words: str) -> str:
        raise RequestError.internal_error({"details": words})

    async def _die(self, session: str, words: str) -> str:
        print(words, file=sys.stderr, flush=True)
        os._exit(7)

    async def _stop(self, session: str, reason: str) -> str:
        self._stop_reason = reason
        return "so far"

    async def _use(self, session: str, rest: str) -> str:
        taken, given = map(int, rest.split())
        self._usage = Usage(total_tokens=taken + given, input_tokens=taken, output_tokens=given)
        return ""

    async def _cost(self, session: str, rest: str) -> str:
        cost = Cost(amount=float(rest), currency="USD")
        update = UsageUpdate(session_update="usage_update", used=1, size=10, cost=cost)
        await self._client.session_update(session, update)
        await asyncio.sleep(0.5)
        return ""

    async def _model(self, session: str, _: str) -> str:
        return f"model {self._models.get(session)}"

    async def _told_meta(self, session: str, _: str) -> str:
        return str(next(each["text"] for each in self._history(session) if each["role"] == "meta"))

    def _options(self, session: str) -> list[Any]:
        if "models" not in self._can:
            return []
        options = [SessionConfigSelectOption(name=each, value=each) for each in ("small", "large")]
        return [
            SessionConfigOptionSelect(
                id="the-model", name="Model", category="model", type="select", current_value="small",
                options=options,
            )
        ]  # fmt: skip

    def _enter(self, name: str, cwd: str, *pieces: dict[str, Any]) -> str:
        self._cwd[name] = cwd
        self._stopped[name] = asyncio.Event()
        for piece in pieces:
            self._keep(name, piece)
        return name

    def _keep(self, name: str, piece: dict[str, Any]) -> None:
        with (self._folder / f"{name}.session").open("a") as file:
            file.write(json.dumps(piece) + "\n")

    def _history(self, name: str) -> list[dict[str, Any]]:
        try:
            lines = (self._folder / f"{name}.session").read_text().splitlines()
        except FileNotFoundError:
            raise RequestError.resource_not_found(name) from None
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    asyncio.run(
        run_agent(Obedient(Path(sys.argv[1]), set(sys.argv[2:])), use_unstable_protocol=True)  # type: ignore[arg-type]
    )
