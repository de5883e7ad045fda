"""The backend: sessions and prompts of one agent that speaks the Agent Client Protocol.

The agent keeps the conversation. What it said and did is stored, too: it shows whether a prompt was sent
before a crash, and is repeated to agents that can neither load nor fork a session.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import FIRST_COMPLETED
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from acp import RequestError, text_block
from acp.client import ClientSideConnection
from acp.schema import PromptResponse, SessionConfigOptionSelect

from errands.agents.acp.child import Child
from errands.agents.acp.client import Client
from errands.agents.acp.transcript import Piece, fits, quoted
from errands.agents.acp.turn import Turn
from errands.agents.session_log import SessionLog, check_settings, forked
from errands.model.errors import AgentError, AgentUnavailable, BudgetExceeded, SessionGone
from errands.ports.agent import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext, Spec

_PATIENCE = 180.0  # seconds without a sign of life, by default
_NOT_FOUND = -32002
_NO_METHOD = -32601
_GRACE = 10.0  # seconds that an agent may take to stop
_LOOKUP = 20.0  # seconds in which an agent has to say whether it has a session: a person waits for it
_LINE_ERRORS = (RequestError, ConnectionError, ValueError)  # ValueError: an invalid response

_INTERRUPTED = (
    "You were interrupted while you worked on the request before this message. Go on with it from where you "
    "stopped. Do not repeat what has been done already."
)
_UNFINISHED = (
    "These tool calls had begun and may or may not have been carried out; find out before you do anything of "
    "the kind again: {calls}."
)


class Acp:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Settings: command (words or a line), env, meta (sent with every session), patience (seconds)."""
        check_settings("acp", settings)
        command = settings.get("command")
        if not command:
            raise AgentError("an ACP agent needs a command, for example: command = ['opencode', 'acp']")
        self._client = Client()
        self._child = Child(command, settings.get("env", {}), self._client)
        self._meta: Mapping[str, Any] = settings.get("meta", {})
        self._patience = float(settings.get("patience", _PATIENCE))
        self._entered: dict[
            str, tuple[ClientSideConnection, str]
        ] = {}  # by name: the connection, and the id there
        self._turns: dict[str, Turn] = {}

    async def open(self, context: AgentContext) -> str:
        session = await self._new(context.spec)
        return SessionLog.create(context, session, _system(context)).session

    async def fork(self, session: str, context: AgentContext) -> str:
        copied, later = forked(context, session)
        pieces = _newest_states(SessionLog(context, session, copied).entries)
        spec = context.spec
        connection = await self._child.connection(spec.cwd)
        # The agent would copy all of it: a history that is too long for a fork, or has more than was asked
        # for, is repeated to a new session instead.
        if self._child.sessions.fork is not None and fits(pieces) and not later:
            _check(spec)
            try:
                parent = _live_id(session, pieces)
                made = await connection.fork_session(session_id=parent, cwd=spec.cwd, **self._meta)
            except _LINE_ERRORS as error:
                raise await self._lost(error) from error
            fork = made.session_id
            await self._choose(connection, fork, made.config_options, spec.model)
            self._entered[fork] = (connection, fork)
            kept = [each for each in pieces if each["role"] != "moved"]
            return SessionLog.create(context, fork, [*kept, {"role": "born"}, *_system(context)]).session
        if self._child.can.load_session and not later:
            history = await self._load(connection, session, _live_id(session, pieces), spec)
            pieces = [*history, *_posts(pieces)]
        fork = await self._new(spec)
        return SessionLog.create(context, fork, [_post(_repeated(pieces)), *_system(context)]).session

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        with self._turn(session, context) as turn:
            posts = [each["text"] for each in _posts(_kept(session, context))]
            whole = "\n\n".join([*await self._enter(session, context), *posts, text])
            SessionLog(context, session).add(role="user", text=whole, prompt=text, run=context.run)
            return await self._converse(session, whole, context, turn)

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        kept = _kept(session, context)
        since = _since(kept, context.run)
        if not since:
            return await self.prompt(session, text, context)
        sent, *later = since
        if later and later[-1]["role"] == "end":
            return Answer(text=later[-1]["text"], usage=later[-1]["usage"])
        with self._turn(session, context) as turn:
            connection = await self._child.connection(context.spec.cwd)
            if self._child.can.load_session:
                where = _live_id(session, kept)
                pieces = await self._load(connection, session, where, context.spec)
                if not any(sent["text"].strip() in each["text"] for each in pieces if each["role"] == "user"):
                    return await self._converse(session, sent["text"], context, turn)
            note = [*await self._enter(session, context), _INTERRUPTED]
            calls = [each for each in later if each["role"] == "tool" and not each["ended"]]
            if calls:
                named = ", ".join(f"{each['name']} {json.dumps(each['arguments'])}" for each in calls)
                note.append(_UNFINISHED.format(calls=named))
            return await self._converse(session, "\n\n".join(note), context, turn)

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        SessionLog(context, session).add(**_post(text))

    async def abort(self, session: str) -> None:
        if session in self._turns:
            self._turns[session].stop(AgentError("the prompt was stopped"))

    async def drop(self, session: str, context: AgentContext) -> None:
        context.delete_messages(session)
        entered = self._entered.pop(session, None)
        if entered is not None and self._child.sessions.close is not None:
            connection, live = entered
            with suppress(*_LINE_ERRORS):
                await connection.close_session(session_id=live)

    def knows(self, session: str, lines: Sequence[str], cwd: str) -> bool:
        """Return whether the agent still has a session; True if it is silent. `lines` are what we stored."""
        with ThreadPoolExecutor(1) as pool:  # the caller may be in an event loop
            return pool.submit(asyncio.run, self._knows(session, lines, cwd)).result()

    async def close(self) -> None:
        self._entered.clear()
        await self._client.close()
        await self._child.close()

    @contextmanager
    def _turn(self, session: str, context: AgentContext) -> Iterator[Turn]:
        turn = self._turns[session] = Turn(session, context)
        try:
            yield turn
        finally:
            del self._turns[session]

    async def _new(self, spec: Spec) -> str:
        _check(spec)
        connection = await self._child.connection(spec.cwd)
        try:
            made = await connection.new_session(cwd=spec.cwd, **self._meta)
        except _LINE_ERRORS as error:
            raise await self._child.trouble(error) from error
        await self._choose(connection, made.session_id, made.config_options, spec.model)
        self._entered[made.session_id] = (connection, made.session_id)
        return made.session_id

    async def _enter(self, session: str, context: AgentContext) -> list[str]:
        """Open the session in the agent; return the history that it has to be given, if any."""
        spec = context.spec
        connection = await self._child.connection(spec.cwd)
        if session in self._entered and self._entered[session][0] is connection:
            return []
        pieces = _kept(session, context)
        try:
            if self._child.sessions.resume is not None:
                await self._resume(connection, session, _live_id(session, pieces), spec)
                return []
            if self._child.can.load_session:
                await self._load(connection, session, _live_id(session, pieces), spec)
                return []
        except SessionGone:
            # Some agents keep a session only from its first prompt on.
            if not _is_new(pieces):
                raise
        live = await self._new(spec)
        self._entered[session] = (connection, live)
        SessionLog(context, session).add(role="moved", to=live)
        waiting = [id(each) for each in _posts(pieces)]
        history = [each for each in pieces if id(each) not in waiting]
        return [_repeated(history)] if any(each["role"] == "user" for each in history) else []

    async def _knows(self, session: str, lines: Sequence[str], cwd: str) -> bool:
        pieces = _newest_states([json.loads(line) for line in lines])
        if _is_new(pieces):
            return True
        live = _live_id(session, pieces)
        try:
            async with asyncio.timeout(_LOOKUP):
                connection = await self._child.connection(cwd)
                if self._child.sessions.resume is not None:
                    await connection.resume_session(session_id=live, cwd=cwd, **self._meta)
                elif self._child.can.load_session:
                    with self._client.replaying(live):
                        await connection.load_session(session_id=live, cwd=cwd, **self._meta)
        except RequestError as error:
            return not _says_not_found(error)
        except (AgentError, TimeoutError, *_LINE_ERRORS):
            pass
        finally:
            await self.close()
        return True

    async def _resume(self, connection: ClientSideConnection, session: str, live: str, spec: Spec) -> None:
        try:
            found = await connection.resume_session(session_id=live, cwd=spec.cwd, **self._meta)
        except _LINE_ERRORS as error:
            raise await self._lost(error) from error
        await self._choose(connection, live, found.config_options, spec.model)
        self._entered[session] = (connection, live)

    async def _load(
        self, connection: ClientSideConnection, session: str, live: str, spec: Spec
    ) -> list[Piece]:
        """Load a session; return its history, which the agent replays while loading."""
        with self._client.replaying(live) as transcript:
            try:
                loaded = await connection.load_session(session_id=live, cwd=spec.cwd, **self._meta)
            except _LINE_ERRORS as error:
                raise await self._lost(error) from error
        await self._choose(connection, live, loaded.config_options, spec.model)
        self._entered[session] = (connection, live)
        return transcript.pieces

    async def _choose(
        self,
        connection: ClientSideConnection,
        session: str,
        options: Sequence[object] | None,
        model: str | None,
    ) -> None:
        if model is None:
            return
        offered = [each for each in options or () if isinstance(each, SessionConfigOptionSelect)]
        for option in offered:
            if option.category == "model":
                try:
                    await connection.set_config_option(option.id, session, model)
                except _LINE_ERRORS as error:
                    raise await self._child.trouble(error) from error
                return
        raise AgentError(
            f"this agent offers no choice of models; configure it there, and leave out {model!r}"
        )

    async def _converse(self, session: str, text: str, context: AgentContext, turn: Turn) -> Answer:
        """Send a prompt and wait for the answer."""
        connection, live = self._entered[session]
        await context.wait_turn()
        response: PromptResponse | None = None
        with self._client.serving(live, turn, cwd=context.spec.cwd):
            asking = asyncio.ensure_future(connection.prompt(session_id=live, prompt=[text_block(text)]))
            try:
                await self._wait(asking, turn)
                if not asking.done():
                    await self._stop(connection, live, asking)
                response = asking.result() if turn.reason is None else None
            except asyncio.CancelledError:
                await asyncio.shield(self._stop(connection, live, asking))
                raise
            except _LINE_ERRORS as error:
                raise _with_partial(await self._child.trouble(error), turn) from error
            finally:
                turn.close(response)
        if turn.reason is not None:  # the usage may be known only at the end
            raise _with_partial(turn.reason, turn)
        assert response is not None
        return self._answer(response, turn, context)

    async def _wait(self, asking: asyncio.Future[PromptResponse], turn: Turn) -> None:
        """Wait for the answer or a stop; stop an agent that is silent for too long."""
        stopping = asyncio.ensure_future(turn.stopped.wait())
        try:
            while not asking.done() and not stopping.done():
                left = self._patience - turn.silence()
                if left <= 0:
                    said = f"the agent was silent for {self._patience:g} s; its model may not be reachable"
                    turn.stop(AgentUnavailable(said))
                await asyncio.wait((asking, stopping), timeout=max(left, 0.01), return_when=FIRST_COMPLETED)
        finally:
            stopping.cancel()

    async def _stop(
        self, connection: ClientSideConnection, live: str, asking: asyncio.Future[PromptResponse]
    ) -> None:
        """Ask the agent to stop; end its process if it does not."""
        with suppress(*_LINE_ERRORS, TimeoutError):
            await asyncio.wait_for(connection.cancel(session_id=live), _GRACE)
        await asyncio.wait((asking,), timeout=_GRACE)
        if not asking.done():
            await self._child.close()
            await asyncio.wait((asking,))
        asking.exception()  # retrieved, so that asyncio does not complain

    def _answer(self, response: PromptResponse, turn: Turn, context: AgentContext) -> Answer:
        match response.stop_reason:
            case "end_turn":
                pass
            case "max_turn_requests":
                raise _with_partial(BudgetExceeded("the agent has used up its own limit of requests"), turn)
            case "max_tokens":
                raise _with_partial(BudgetExceeded("the agent has used up the tokens of one answer"), turn)
            case other:
                raise _with_partial(AgentError(f"the agent did not finish: {other}"), turn)
        if not turn.history.pieces:
            raise AgentUnavailable("the agent answered with nothing; its model may not be reachable")
        answer = Answer(text=turn.answer, usage=dict(turn.usage))
        SessionLog(context, turn.session).add(role="end", text=answer.text, usage=dict(answer.usage))
        return answer

    async def _lost(self, error: Exception) -> AgentError:
        """Return `SessionGone` if the session no longer exists, else the general error."""
        if isinstance(error, RequestError) and _says_not_found(error):
            return SessionGone()
        return await self._child.trouble(error)


def _says_not_found(error: RequestError) -> bool:
    if error.code == _NO_METHOD:  # what it does not find is not the session
        return False
    return error.code == _NOT_FOUND or "not found" in f"{error} {error.data}".lower()


def _check(spec: Spec) -> None:
    if spec.tools is not None:
        raise AgentError("an ACP agent brings its own tools; choose them there, and leave `tools` out")


def _kept(session: str, context: AgentContext) -> list[Piece]:
    """Return the stored conversation, with the newest state of each tool call."""
    return _newest_states(SessionLog(context, session).entries)


def _newest_states(entries: Sequence[Mapping[str, Any]]) -> list[Piece]:
    pieces: dict[object, Piece] = {}
    for place, piece in enumerate(entries):
        pieces[piece["id"] if piece["role"] == "tool" else place] = dict(piece)
    return list(pieces.values())


def _system(context: AgentContext) -> list[Mapping[str, Any]]:
    """Return what the agent has to know first: the protocol has no system message."""
    return [_post(context.spec.system)] if context.spec.system else []


def _post(text: str) -> Piece:
    return {"role": "post", "text": text}


def _posts(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the posts that wait for the next prompt."""
    sent = [place for place, piece in enumerate(pieces) if piece["role"] == "user"]
    return [each for each in pieces[sent[-1] if sent else 0 :] if each["role"] == "post"]


def _since(pieces: list[Piece], run: str) -> list[Piece]:
    """Return what was stored since this run sent its prompt."""
    for place, piece in enumerate(pieces):
        if piece["role"] == "user" and piece["run"] == run:
            return pieces[place:]
    return []


def _repeated(pieces: Sequence[Piece]) -> str:
    return f"This is what was said and done in our conversation so far, as a transcript.\n\n{quoted(pieces)}"


def _live_id(session: str, pieces: Sequence[Piece]) -> str:
    """Return the id under which the agent knows the session."""
    return next((str(each["to"]) for each in reversed(pieces) if each["role"] == "moved"), session)


def _is_new(pieces: Sequence[Piece]) -> bool:
    """Return whether nothing was sent to the session itself; what a fork inherited does not count."""
    marks = [each["role"] for each in pieces if each["role"] in ("user", "born")]
    return not marks or marks[-1] == "born"


def _with_partial(error: AgentError, turn: Turn) -> AgentError:
    error.partial = turn.answer
    return error
