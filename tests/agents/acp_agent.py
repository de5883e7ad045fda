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

from tests.agents.acp_peer import Peer, RequestError

ASK = [
    {"optionId": "for-ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
Json = dict[str, Any]


class Obedient:
    def __init__(self, folder: Path, can: set[str]) -> None:
        self._folder = folder
        self._can = can
        self._stopped: dict[str, asyncio.Event] = {}
        self._models: dict[str, str] = {}
        self._cwd: dict[str, str] = {}
        self._usage: Json = {}
        self._stop_reason = "end_turn"
        self._client = Peer(
            {
                "initialize": self._initialize,
                "session/new": self._new_session,
                "session/load": self._load_session,
                "session/resume": self._resume_session,
                "session/fork": self._fork_session,
                "session/close": self._close_session,
                "session/set_config_option": self._set_config_option,
                "session/prompt": self._prompt,
                "session/cancel": self._cancel,
            }
        )

    async def serve(self) -> None:
        await self._client.serve()

    async def _initialize(self, params: Json) -> Json:
        sessions: Json = {each: {} for each in ("fork", "resume", "close") if each in self._can}
        return {
            "protocolVersion": 99 if "future" in self._can else params["protocolVersion"],
            "agentCapabilities": {"loadSession": "load" in self._can, "sessionCapabilities": sessions},
        }

    async def _new_session(self, params: Json) -> Json:
        meta = (params.get("_meta") or {}).get("colour")
        name = self._enter(uuid.uuid4().hex[:8], params["cwd"], {"role": "meta", "text": json.dumps(meta)})
        return {"sessionId": name, "configOptions": self._options()}

    async def _load_session(self, params: Json) -> Json:
        session = params["sessionId"]
        for each in self._history(session):
            match each["role"]:
                case "user" | "agent":
                    update: Json = {
                        "sessionUpdate": f"{each['role']}_message_chunk",
                        "content": _text(each["text"]),
                    }
                case "tool":
                    update = {
                        "sessionUpdate": "tool_call",
                        "toolCallId": each["id"],
                        "title": each["title"],
                        "status": each["status"],
                        "content": [_content(each["text"])],
                    }
                case _:
                    continue
            self._update(session, update)
        self._enter(session, params["cwd"])
        return {"configOptions": self._options()}

    async def _resume_session(self, params: Json) -> Json:
        self._history(params["sessionId"])
        self._enter(params["sessionId"], params["cwd"])
        return {"configOptions": self._options()}

    async def _fork_session(self, params: Json) -> Json:
        name = self._enter(uuid.uuid4().hex[:8], params["cwd"], *self._history(params["sessionId"]))
        return {"sessionId": name, "configOptions": self._options()}

    async def _close_session(self, params: Json) -> Json:
        self._keep(params["sessionId"], {"role": "closed", "text": ""})
        return {}

    async def _set_config_option(self, params: Json) -> Json:
        if params["value"] not in ("small", "large"):
            raise RequestError(-32602, "Invalid params", {"details": f"no model {params['value']}"})
        self._models[params["sessionId"]] = params["value"]
        return {"configOptions": []}

    async def _cancel(self, params: Json) -> Json:
        if "deaf" not in self._can:
            self._stopped[params["sessionId"]].set()
        return {}

    async def _prompt(self, params: Json) -> Json:
        session = params["sessionId"]
        if session not in self._cwd:
            raise _not_found(session)
        text = "".join(block.get("text", "") for block in params["prompt"])
        with (self._folder / "prompts").open("a") as file:
            file.write(json.dumps(text) + "\n")
        if "forgetful" not in self._can:
            self._keep(session, {"role": "user", "text": text})
        self._stopped[session] = asyncio.Event()
        working = asyncio.ensure_future(self._work(session, text))
        stopping = asyncio.ensure_future(self._stopped[session].wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not working.done():
            working.cancel()
            return {"stopReason": "cancelled"}
        working.result()
        return {"stopReason": self._stop_reason, "usage": self._usage}

    async def _work(self, session: str, text: str) -> None:
        self._usage, self._stop_reason = _usage(10, 5), "end_turn"
        orders: dict[str, Callable[[str, str], Awaitable[str]]] = {
            "RUN": self._run, "TERMINAL": self._terminal, "INSIDE": self._inside, "KILL": self._kill,
            "READ": self._read, "WRITE": self._write, "EDIT": self._edit, "RECALL": self._recall,
            "SILENT": self._silent, "FAIL": self._fail, "DIE": self._die, "STOP": self._stop,
            "USE": self._use, "COST": self._cost, "MODEL": self._model, "META": self._told_meta,
        }  # fmt: skip
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            said = await orders[word](session, rest) if word in orders else line and f"I heard: {line}"
            if said:
                for piece in (said[:3], said[3:]):
                    said_so = {"sessionUpdate": "agent_message_chunk", "content": _text(piece)}
                    self._update(session, said_so)
                self._keep(session, {"role": "agent", "text": said})

    async def _run(self, session: str, line: str) -> str:
        call = f"call-{uuid.uuid4().hex[:6]}"
        start = {"title": "shell", "kind": "execute", "status": "pending", "rawInput": {"command": line}}
        self._update(session, {"sessionUpdate": "tool_call", "toolCallId": call, **start})
        outcome = await self._permission(session, {"toolCallId": call, "title": "shell"})
        change = {"sessionUpdate": "tool_call_update", "toolCallId": call}
        if outcome.get("optionId") != "yes":
            self._update(session, {**change, "status": "failed"})
            return f"not allowed: {outcome['outcome']}"
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
        self._update(session, {**change, "status": "completed", "content": [_content(said)]})
        return f"it printed {said}"

    async def _inside(self, session: str, rest: str) -> str:
        """Run a command in a directory: `DIRECTORY COMMAND`."""
        directory, _, line = rest.partition(" ")
        return await self._terminal(session, line, cwd=directory)

    async def _terminal(self, session: str, line: str, **more: str) -> str:
        try:
            made = await self._client.ask("terminal/create", sessionId=session, command=line, **more)
        except RequestError as error:
            return f"no terminal: {error}"
        which = {"sessionId": session, "terminalId": made["terminalId"]}
        over = await self._client.ask("terminal/wait_for_exit", **which)
        shown = await self._client.ask("terminal/output", **which)
        await self._client.ask("terminal/release", **which)
        ended = f"exit {over.get('exitCode')} signal {over.get('signal')}"
        return f"{ended} truncated {shown['truncated']}: {shown['output']}"

    async def _kill(self, session: str, line: str) -> str:
        made = await self._client.ask(
            "terminal/create", sessionId=session, command="sh", args=["-c", line], outputByteLimit=10
        )
        which = {"sessionId": session, "terminalId": made["terminalId"]}
        while not (await self._client.ask("terminal/output", **which))["output"]:
            await asyncio.sleep(0.01)
        await self._client.ask("terminal/kill", **which)
        shown = await self._client.ask("terminal/output", **which)
        return f"killed: {(shown.get('exitStatus') or {}).get('signal')}: {shown['output']}"

    async def _read(self, session: str, path: str) -> str:
        try:
            found = await self._client.ask("fs/read_text_file", sessionId=session, path=path, line=2, limit=1)
        except RequestError as error:
            return f"cannot read: {error}"
        return f"second line: {found['content']}"

    async def _write(self, session: str, rest: str) -> str:
        path, _, words = rest.partition(" ")
        try:
            await self._client.ask("fs/write_text_file", sessionId=session, path=path, content=words)
        except RequestError as error:
            return f"cannot write: {error}"
        return "written"

    async def _edit(self, session: str, rest: str) -> str:
        path, _, words = rest.partition(" ")
        diff = {"type": "diff", "path": path, "newText": words}
        change = {"toolCallId": "edit-1", "title": "edit", "kind": "edit", "content": [diff]}
        await self._permission(session, change)
        return await self._write(session, rest)

    async def _recall(self, session: str, _: str) -> str:
        return "\n".join(each["text"] for each in self._history(session))

    async def _silent(self, *_: str) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    async def _fail(self, session: str, words: str) -> str:
        raise RequestError(-32603, "Internal error", {"details": words})

    async def _die(self, session: str, words: str) -> str:
        print(words, file=sys.stderr, flush=True)
        os._exit(7)

    async def _stop(self, session: str, reason: str) -> str:
        self._stop_reason = reason
        return "so far"

    async def _use(self, session: str, rest: str) -> str:
        taken, given = map(int, rest.split())
        self._usage = _usage(taken, given)
        return ""

    async def _cost(self, session: str, rest: str) -> str:
        cost = {"amount": float(rest), "currency": "USD"}
        self._update(session, {"sessionUpdate": "usage_update", "used": 1, "size": 10, "cost": cost})
        await asyncio.sleep(0.5)
        return ""

    async def _model(self, session: str, _: str) -> str:
        return f"model {self._models.get(session)}"

    async def _told_meta(self, session: str, _: str) -> str:
        return str(next(each["text"] for each in self._history(session) if each["role"] == "meta"))

    async def _permission(self, session: str, change: Json) -> Json:
        answer = await self._client.ask(
            "session/request_permission", sessionId=session, toolCall=change, options=ASK
        )
        outcome: Json = answer["outcome"]
        return outcome

    def _update(self, session: str, update: Json) -> None:
        self._client.tell("session/update", sessionId=session, update=update)

    def _options(self) -> list[Json]:
        if "models" not in self._can:
            return []
        options = [{"name": each, "value": each} for each in ("small", "large")]
        model = {"id": "the-model", "name": "Model", "category": "model", "type": "select"}
        return [{**model, "currentValue": "small", "options": options}]

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
            raise _not_found(name) from None
        return [json.loads(line) for line in lines]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _content(text: str) -> Json:
    return {"type": "content", "content": _text(text)}


def _usage(taken: int, given: int) -> Json:
    return {"totalTokens": taken + given, "inputTokens": taken, "outputTokens": given}


def _not_found(session: str) -> RequestError:
    return RequestError(-32002, "Resource not found", {"uri": session})


if __name__ == "__main__":
    asyncio.run(Obedient(Path(sys.argv[1]), set(sys.argv[2:])).serve())
