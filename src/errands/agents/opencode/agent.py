"""The backend behind an OpenCode server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from errands.agents.opencode.host import Host
from errands.agents.opencode.server import Server
from errands.agents.opencode.turn import TAG, Turn, Unfinished, sent_by
from errands.agents.opencode.turn_account import entries
from errands.agents.session_log import INTERRUPTED, check_settings, forked
from errands.http import HttpError
from errands.model.agent.fork import clipped, newest, tokens
from errands.model.errors import AgentError, AgentUnavailable, SessionGone
from errands.ports import bridges
from errands.ports.agent import Answer
from errands.ports.bridges import SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext, Spec

POLL = 5.0  # seconds until an end is found whose event was missed
PATIENCE = 300.0  # seconds without a sign of life from the model
ANSWERING = 5.0  # seconds for a server to say whether it has a session: a person waits for it
STOPPING = 10.0  # seconds for a session to come to rest
ARRIVES_WITHIN = 15.0  # seconds for a prompt that was sent a moment ago to be in its session

# These only read, inside the project: OpenCode itself asks before they leave it.
HARMLESS = ("glob", "grep", "list", "lsp", "read", "todoread", "todowrite")
# No person can answer a question, and a subagent's tool calls would not be approved by anyone.
USELESS = ("question", "task", "plan_enter", "plan_exit")

T = TypeVar("T")
GENERAL = "general"  # OpenCode's agent for everything
SUBAGENTS = ("todowrite", "task")  # what OpenCode denies to subagents that do not name it
TOOLS = "background_*"  # ours: a background agent starts no others

REFUSED = "Not all of these calls were allowed ({}). Go on without them, or say why you cannot."


class Interrupted(AgentError):  # noqa: N818  # as in errors.py
    """The turn was aborted in OpenCode, by a person or because OpenCode ends."""


class OpenCode:
    """Settings: where the server is, `agent`, `model`; `poll`, `patience` and `timeout` are seconds.

    What was started from OpenCode runs there, in a child session of the caller's, with the rights that
    OpenCode gives to its own subagents.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        check_settings("opencode", settings)
        self._settings = settings
        self._model: str | None = settings.get("model")
        self._server = Server(settings)
        self._host: Host | None = None
        self._agent: str | None = settings.get("agent")
        self._poll = float(settings.get("poll", POLL))
        self._patience = float(settings.get("patience", PATIENCE))

    async def open(self, context: AgentContext) -> str:
        await self._reach(context)
        return await self._anywhere(lambda: self._open(context))

    async def _open(self, context: AgentContext) -> str:
        body = {"title": context.session, "permission": _rules(context.spec)}
        if self._host is not None:
            body = await self._child(context)
        return await self._server.create(context.spec.cwd, body)

    async def fork(self, session: str, context: AgentContext) -> str:
        await self._reach(context)
        return await self._anywhere(lambda: self._fork(session, context))

    async def _fork(self, session: str, context: AgentContext) -> str:
        is_callers = self._host is not None and session == context.spec.parent
        session = session.removeprefix(SESSION)
        directory = await self._server.directory(session)
        if directory != context.spec.cwd:
            raise AgentError(
                f"OpenCode keeps a fork in the directory of its parent, {directory}; "
                f"start it there, not in {context.spec.cwd}"
            )
        # The message that asks for the fork is not finished yet: the copy ends before it.
        end = context.spec.message if is_callers else await self._later(session, context)
        fork = await self._server.fork(session, before=end)
        body = {"title": context.session, "permission": _rules(context.spec)}
        if self._host is not None:
            child = await self._child(context)
            body = {name: child[name] for name in ("title", "permission", "metadata")}
        await self._server.change(fork, body)
        await self._shorten(fork)
        return fork

    async def _later(self, session: str, context: AgentContext) -> str | None:
        """Return the first message that a run has sent since the fork was asked for."""
        if context.messages(session) is None:
            return None
        later = [json.loads(each) for each in forked(context, session)[1]]
        runs = [each["run"] for each in later if each["kind"] == "prompt"]
        sent = sent_by(await self._server.messages(session), runs[0]) if runs else ()
        return sent[0] if sent else None

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        await self._reach(context)
        await context.wait_turn()
        # A recovery has to look for the prompt only if it may have been sent.
        context.append_messages(session, [json.dumps({"kind": "prompt", "run": context.run})])
        return await self._finish(session, text, context)

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        await self._reach(context)
        if not any(each["run"] == context.run for each in entries(context, session)):
            return await self.prompt(session, text, context)
        await context.wait_turn()
        unsent = None if await self._arrived(session, context) else text
        return await self._finish(session, unsent, context, again=True)

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        await self._reach(context)
        await self._anywhere(lambda: self._post(session, text, context))

    async def _post(self, session: str, text: str, context: AgentContext) -> None:
        try:
            await self._server.add(session, self._message(text, context.spec))
        except HttpError as error:
            raise AgentUnavailable(f"OpenCode at {self._server.url} hung up: {error}") from error

    async def abort(self, session: str) -> None:
        try:
            async with asyncio.timeout(STOPPING):
                await self._server.abort(session)
                while await self._server.state(session):
                    await asyncio.sleep(0.05)
        except (TimeoutError, SessionGone):
            pass

    async def drop(self, session: str, context: AgentContext) -> None:
        await self._reach(context, may_start=False)
        try:
            await self._server.delete(session)
        except SessionGone:
            pass
        context.delete_messages(session)

    def knows(self, session: str, environ: Mapping[str, str], *, is_own: bool) -> bool:
        """Return whether OpenCode still has a session; `is_own` is for an agent of OpenCode's own."""
        servers = self._servers(session, environ, is_own=is_own)
        with ThreadPoolExecutor(1) as pool:  # the caller may be in an event loop
            return not servers or pool.submit(asyncio.run, _is_in_one_of(servers, session)).result()

    def _servers(self, session: str, environ: Mapping[str, str], *, is_own: bool) -> list[Server]:
        """Return the servers that may have a session: the OpenCode of a caller, and the configured one."""
        brief = {**self._settings, "retries": 0, "timeout": ANSWERING}
        notes = os.path.join(str(self._settings["home"]), bridges.NOTES)
        known = bridges.found(notes, bridges.data_directory(environ), session)
        living = next((each for each in known if each.is_alive), None)
        servers = [] if is_own and "url" not in self._settings else [Server(brief)]
        if living is not None:
            servers.insert(0, Server({**brief, "url": "http://opencode"}, socket=living.socket))
        return servers

    async def close(self) -> None:
        if self._host is not None:
            await self._host.close()

    async def _reach(self, context: AgentContext, *, may_start: bool = True) -> None:
        """Find the OpenCode to use: the caller's own or, for others, the configured server."""
        spec, is_own = context.spec, "/" in context.spec.agent and "url" not in self._settings
        if self._host is None and (is_own or (spec.parent or "").startswith(SESSION)):
            host = Host(self._settings, spec.parent or "", spec.cwd)
            self._server = await host.server(may_start=may_start)
            self._host = host

    async def _anywhere(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something before the prompt; do it again if the caller's OpenCode goes away meanwhile."""
        try:
            return await act()
        except AgentUnavailable:
            if not await self._is_replaced():
                raise
        return await act()

    async def _is_replaced(self) -> bool:
        """If the caller's OpenCode is gone, continue without it; return whether it was gone."""
        server = None if self._host is None else await self._host.takes_over()
        self._server = server or self._server
        return server is not None

    async def _child(self, context: AgentContext) -> dict[str, Any]:
        """Return what a child session of the caller's is created with, as OpenCode creates its subagents."""
        spec, parent, name = context.spec, None, self._agent or GENERAL
        agent = await self._server.agent(name, spec.cwd)
        if agent is None:
            raise AgentError(f"OpenCode has no agent {name!r} in {spec.cwd}")
        named = {rule["permission"] for rule in agent.get("permission") or ()}
        rules = [_rule(each, "deny") for each in SUBAGENTS if each not in named]
        body: dict[str, Any] = {"title": f"{spec.title} (@{name} subagent)", "agent": name}
        if spec.parent is not None and spec.parent.startswith(SESSION):
            parent = await self._server.session(spec.parent.removeprefix(SESSION))
            body["parentID"] = parent["id"]
        inherited = [each for each in (parent or {}).get("permission") or () if _is_inherited(each)]
        denied = (
            [] if spec.tools is None else [_rule("*", "deny"), *(_rule(each, "allow") for each in spec.tools)]
        )
        body["permission"] = [*inherited, *denied, *rules, _rule(TOOLS, "deny"), _rule("question", "deny")]
        return {**body, "metadata": {"errands": context.session}}

    async def _finish(
        self, session: str, words: str | None, context: AgentContext, *, again: bool = False
    ) -> Answer:
        """Follow a prompt to its answer; if the caller's OpenCode is gone meanwhile, without it."""
        try:
            return await self._follow(session, words, context, again=again)
        except (AgentUnavailable, Interrupted):
            if not await self._is_replaced():
                raise
        unsent = words if words is not None and not await self._arrived(session, context) else None
        return await self._follow(session, unsent, context, again=True)

    async def _arrived(self, session: str, context: AgentContext) -> bool:
        """Return whether the prompt is in the session; one sent a moment ago may still be on its way."""
        turn = self._turn(session, context)
        for _ in range(round(ARRIVES_WITHIN / 0.5)):
            if await turn.sent():
                return True
            await asyncio.sleep(0.5)
        return await turn.sent()

    async def _send(self, session: str, text: str, context: AgentContext) -> None:
        body = self._message(text, context.spec)
        body["parts"][0]["metadata"] = {TAG: context.run}
        try:
            await self._server.send(session, body)
        except HttpError:
            pass  # it may have arrived, so it is never sent again; following the turn shows whether it did

    async def _follow(
        self, session: str, words: str | None, context: AgentContext, *, again: bool = False
    ) -> Answer:
        """Send a prompt and wait for the answer; with `again`, an interrupted turn is asked to continue."""
        if self._host is not None:
            await self._host.hold(session, context.run)
        is_over = False
        try:
            async with self._turn(session, context) as turn:
                while True:
                    if words is not None:
                        await self._send(session, words, context)
                    try:
                        answer = await turn.finish()
                        is_over = True
                        return answer
                    except Unfinished as error:
                        if turn.refused:
                            # Of several refusals at once OpenCode passes on only one, and ends the turn.
                            words, turn.refused = REFUSED.format("; ".join(turn.refused)), []
                        elif again:
                            words, again = INTERRUPTED, False
                        else:
                            is_over = True
                            raise Interrupted(f"the prompt was interrupted in OpenCode: {error}") from error
        finally:
            if not is_over:
                await asyncio.shield(self._stop(session))

    async def _stop(self, session: str) -> None:
        """Abort the session, if the server can be reached."""
        try:
            await self.abort(session)
        except AgentError:
            pass  # the error that made us give up matters more

    async def _shorten(self, session: str) -> None:
        """Clip long tool results of a fork, and remove its oldest messages until the rest fits."""
        messages = [
            {**message, "parts": [await self._clipped(part) for part in message["parts"]]}
            for message in await self._server.messages(session)
        ]
        # A call and its result are one part of one message, so no cut can separate them.
        kept = newest(messages, size=_size)
        begin = len(messages) - len(kept)
        # Some models want a user message first, and an answer without its question says little anyway.
        starts = [place for place in range(begin, len(messages)) if messages[place]["info"]["role"] == "user"]
        for message in messages[: starts[0] if begin and starts else begin]:
            await self._server.remove(session, message["info"]["id"])

    async def _clipped(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        state = part.get("state") or {}
        output = state.get("output")
        if part["type"] != "tool" or not isinstance(output, str) or clipped(output) == output:
            return part
        # The copy for people may be just as long.
        metadata = {name: value for name, value in (state.get("metadata") or {}).items() if name != "output"}
        shorter = {**part, "state": {**state, "output": clipped(output), "metadata": metadata}}
        await self._server.rewrite(shorter)
        return shorter

    def _turn(self, session: str, context: AgentContext) -> Turn:
        return Turn(self._server, session, context, poll=self._poll, patience=self._patience)

    def _message(self, text: str, spec: Spec) -> dict[str, Any]:
        body: dict[str, Any] = {"parts": [{"type": "text", "text": text}]}
        if spec.system:
            body["system"] = spec.system
        if name := spec.model or self._model:
            provider, _, model = name.partition("/")
            body["model"] = {"providerID": provider, "modelID": model}
        if self._agent:
            body["agent"] = self._agent
        return body


async def _is_in_one_of(servers: list[Server], session: str) -> bool:
    """Return whether a server has a session; it is gone only if every server says no."""
    for server in servers:
        try:
            await server.session(session)
        except SessionGone:
            continue
        except AgentError:
            pass  # without an answer, assume that it has
        return True
    return False


def _rules(spec: Spec) -> list[dict[str, str]]:
    """Return the permission rules of a session; the last rule that matches counts."""
    asked = ["*"] if spec.tools is None else [each for each in spec.tools if each not in HARMLESS]
    free = [each for each in HARMLESS if spec.tools is None or each in spec.tools]
    rules = [] if spec.tools is None else [_rule("*", "deny")]
    rules += [_rule(each, "ask") for each in asked]
    rules += [_rule(each, "allow") for each in free]
    rules += [_rule(each, "deny") for each in USELESS]
    return [
        *rules,
        _rule("external_directory", "ask"),
        _rule("read", "ask", "*.env"),
        _rule("read", "ask", "*.env.*"),
    ]


def _is_inherited(rule: Mapping[str, str]) -> bool:
    """Return whether a subagent of OpenCode keeps a rule of its caller's session."""
    return rule["action"] == "deny" or rule["permission"] == "external_directory"


def _rule(permission: str, action: str, pattern: str = "*") -> dict[str, str]:
    return {"permission": permission, "pattern": pattern, "action": action}


def _size(message: Mapping[str, Any]) -> int:
    size = 0
    for part in message["parts"]:
        state = part.get("state") or {}
        if part["type"] == "tool":
            size += tokens(json.dumps(state.get("input") or {}, ensure_ascii=False))
            size += tokens(state.get("output") or state.get("error") or "")
        else:
            size += tokens(part.get("text") or "")
    return size
