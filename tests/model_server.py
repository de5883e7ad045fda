"""A fake language model for tests: a server on loopback that does what the prompt says.

It speaks OpenAI's chat completions (`/v1/chat/completions`) and responses (`/v1/responses`), Anthropic's
messages (`/v1/messages`) and Google's contents (`:generateContent`), streamed and whole. Lines of the newest
prompt control it; without any, it answers with an echo that counts what it was given, such as
`echo 'hello' tools=3 history=1 results=[]`.

    CALL tool {"json": 1}   call a tool; further such lines are the next calls, one in each answer
    AND tool {"json": 1}    call this one in the same answer as the one before
    SAY words               answer with these words, after the calls
    RECALL                  answer with all that was said before, calls and results included
    RECALL words            answer `recalled` when the words stand there, or in what the program added to it,
                            else `forgotten`
    SLOW 3                  take three seconds for each answer
    DRIP 0.2                take this many seconds between two pieces of a streamed answer
    USE 5000 200            claim this many tokens, in and out, for each answer
    FAIL cut 2              break the first two answers (without a number: all of them), in one of these ways:
                            refuse: hang up without a word; 429, 500: the error; garbage: no JSON;
                            silent: say nothing until the client hangs up; cut: hang up in the middle

The prompt is the newest message of the user with words in it. A call of a tool that was not offered is left
out, so that a program may ask for a title of the same conversation without causing calls.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Literal, get_args

from tests.model_speech import Anthropic, Google, OpenAI, Reply, Responses, Speech

Fault = Literal["refuse", "429", "500", "silent", "garbage", "cut"]
FAULTS: frozenset[str] = frozenset(get_args(Fault))
REMINDER = "<system-reminder>"  # what Claude Code adds to the words of the person
_ids = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that the server was sent."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    at: float = field(default_factory=time.monotonic)

    @property
    def text(self) -> str:
        """The whole request, to look for words in it."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def prompt(self) -> str:
        """The newest words of the user."""
        return _prompt(_conversation(self.body))[1]

    @property
    def offers(self) -> frozenset[str]:
        """The tools that the model may call."""
        return frozenset(_tools(self.body))


class ModelServer:
    """Serves from a thread, from `with` to its end; `asked` has every request."""

    def __init__(self, *, port: int = 0, log: str | None = None) -> None:
        self.asked: list[Asked] = []
        self.faults: list[Fault | None] = []  # for the next requests, whatever they ask; None: no fault
        self._log = log
        self._broken: Counter[tuple[str, bool]] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Server(("127.0.0.1", port), _Conversation)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The address for Anthropic's protocol."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The address for OpenAI's protocol, and for Ollama's version of it."""
        return f"{self.url}/v1"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def asked_for(self, words: str) -> list[Asked]:
        """Return the requests with this text in their prompt."""
        return [each for each in self.asked if words in each.prompt]

    def reply(self, asked: Asked) -> Reply:
        """Record a request and decide what to answer."""
        with self._lock:
            self.asked.append(asked)
            if self._log:
                with open(self._log, "a") as log:
                    log.write(json.dumps({"path": asked.path, "body": asked.body}) + "\n")
            reply = decide(asked.body)
            fault, times = _fault(asked.prompt)
            about = asked.prompt, bool(asked.offers)
            if self.faults:
                fault = self.faults.pop(0)
            elif fault and times is not None:
                self._broken[about] += 1
                fault = fault if self._broken[about] <= times else None
        return replace(reply, fault=fault)

    def pause(self, seconds: float | None) -> None:
        """Wait, but not longer than the server runs."""
        self._closing.wait(seconds)


def decide(body: Mapping[str, Any]) -> Reply:
    """Do what the newest prompt of a request says."""
    messages = _conversation(body)
    place, prompt = _prompt(messages)
    results = [text for role, text in messages[place:] if role == "tool"]
    before = [text for role, text in messages[:place] if role != "system"]
    offered = _tools(body)
    delay, drip, tokens = 0.0, 0.0, (10, 5)
    said: list[str] = []
    rounds: list[list[tuple[str, str]]] = []
    for line in prompt.splitlines():
        match line.strip().split(" ", 2):
            case ["CALL" | "AND" as how, tool, *arguments] if name := _offered(tool, offered):
                call = (name, arguments[0] if arguments else "{}")
                if how == "AND" and rounds:
                    rounds[-1].append(call)
                else:
                    rounds.append([call])
            case ["SAY", *words]:
                said.append(" ".join(words))
            case ["RECALL"]:
                said.append("\n".join(before))
            case ["RECALL", *words]:
                known = "\n".join([*before, *_reminders(body)])
                said.append("recalled" if " ".join(words) in known else "forgotten")
            case ["SLOW", seconds, *_]:
                delay = float(seconds)
            case ["DRIP", seconds, *_]:
                drip = float(seconds)
            case ["USE", into, out]:
                tokens = int(into), int(out)
        before.append(line)
    answered = 0
    for calls in rounds:
        if answered >= len(results):
            made = [(f"call_{next(_ids)}_{time.time_ns()}", name, arguments) for name, arguments in calls]
            return Reply(calls=made, delay=delay, tokens=tokens)
        answered += len(calls)
    short = [each[:300] for each in results]
    echo = f"echo {prompt[:200]!r} tools={len(offered)} history={len(messages)} results={short}"
    return Reply(text="\n".join(said) or echo, delay=delay, drip=drip, tokens=tokens)


def _fault(prompt: str) -> tuple[Fault | None, int | None]:
    for line in prompt.splitlines():
        match line.split():
            case ["FAIL", fault, *times] if fault in FAULTS:
                return fault, int(times[0]) if times else None  # type: ignore[return-value]
    return None, None


def _conversation(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return role and text of every message, with OpenAI's roles: results have the role `tool`."""
    found = []
    for message in body.get("messages") or _contents(body) or _messages(body.get("input", ())):
        role, content = message["role"], message.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
        words = []
        for part in parts:
            if part.get("type") == "tool_result":
                found.append(("tool", _text(part.get("content") or "")))
            elif part.get("type") == "tool_use":
                words.append(f"{part['name']} {json.dumps(part['input'])}")
            elif part.get("type") == "text" and not part["text"].lstrip().startswith(REMINDER):
                if role == "user" and words:  # an earlier prompt that was never answered
                    found.append((role, words.pop()))
                words.append(part["text"])
        for call in message.get("tool_calls") or ():
            words.append(f"{call['function']['name']} {call['function']['arguments']}")
        if words or role != "user":
            found.append((role, "\n".join(words)))
    return found


def _reminders(body: Mapping[str, Any]) -> list[str]:
    """Return what Claude Code added to the words of the person."""
    contents = [each.get("content") or () for each in body.get("messages") or ()]
    parts = [part for each in contents for part in ([{"text": each}] if isinstance(each, str) else each)]
    return [text for part in parts if (text := part.get("text", "")).lstrip().startswith(REMINDER)]


def _messages(items: Any) -> list[dict[str, Any]]:
    """Convert the items of OpenAI's responses to messages of its chat completions."""
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    found: list[dict[str, Any]] = []
    for item in items:
        match item.get("type", "message"):
            case "message":
                role = "system" if item["role"] == "developer" else item["role"]
                parts = item["content"]
                texts = parts if isinstance(parts, str) else [{**each, "type": "text"} for each in parts]
                found.append({"role": role, "content": texts})
            case "function_call":
                found.append({"role": "assistant", "tool_calls": [{"function": item}]})
            case "function_call_output":
                found.append({"role": "tool", "content": _text(item["output"])})
    return found


def _contents(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Convert Google's contents to messages of OpenAI's chat completions."""
    found: list[dict[str, Any]] = []
    for content in body.get("contents", ()):
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if call := part.get("functionCall"):
                function = {"name": call["name"], "arguments": json.dumps(call.get("args", {}))}
                found.append({"role": role, "tool_calls": [{"function": function}]})
            elif result := part.get("functionResponse"):
                found.append({"role": "tool", "content": json.dumps(result["response"], ensure_ascii=False)})
            elif part.get("text"):
                found.append({"role": role, "content": part["text"]})
    return found


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _prompt(messages: Sequence[tuple[str, str]]) -> tuple[int, str]:
    places = [place for place, (role, text) in enumerate(messages) if role == "user" and text.strip()]
    return (places[-1], messages[places[-1]][1]) if places else (0, "")


def _tools(body: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools; one in a group has the group's name before its own."""
    names = []
    for tool in body.get("tools") or ():
        if tool.get("type") == "namespace":
            names += [f"{tool['name']}.{each['name']}" for each in tool["tools"]]
        elif "functionDeclarations" in tool:
            names += [each["name"] for each in tool["functionDeclarations"]]
        else:
            names.append(tool.get("function", tool).get("name", ""))
    return names


def _offered(tool: str, offered: Sequence[str]) -> str | None:
    """Find a tool by its name or its suffix: programs put the server's name before it."""
    return next((each for each in offered if each == tool or each.endswith((f"_{tool}", f".{tool}"))), None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: many tests are about clients that hang up."""


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the body of an answer waits 40 ms behind its head
    server: _Server

    def log_message(self, format: str, *arguments: object) -> None:
        """Stay silent."""

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "fake", "object": "model"}], "has_more": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": 10})
        elif path.endswith("/chat/completions"):
            self._answer(path, body, OpenAI(body.get("model", "fake")))
        elif path.endswith("/responses"):
            self._answer(path, body, Responses(body.get("model", "fake")))
        elif path.endswith("/messages"):
            self._answer(path, body, Anthropic(body.get("model", "fake")))
        elif path.endswith(":countTokens"):
            self._send({"totalTokens": 10})
        elif path.endswith((":generateContent", ":streamGenerateContent")):
            name = path.rpartition("/")[2].partition(":")[0]
            self._answer(path, {**body, "stream": ":stream" in path}, Google(name))
        else:
            self._send({"error": {"message": f"no such path: {path}"}}, code=404)

    def _answer(self, path: str, body: Mapping[str, Any], speak: Speech) -> None:
        model = self.server.model
        reply = model.reply(Asked(path=path, body=body, headers=dict(self.headers)))
        match reply.fault:
            case "refuse":
                self.close_connection = True
            case "429" | "500" as code:
                error = {"type": "api_error", "message": f"the model server was asked to answer {code}"}
                self._send({"type": "error", "error": error}, code=int(code))
            case "silent":
                model.pause(None)
                self.close_connection = True
            case "garbage":
                self._send_bytes(b"<html>not JSON</html>", kind="application/json")
            case fault:
                if body.get("stream"):
                    self._stream(list(speak.pieces(reply)), reply, cut=fault == "cut")
                else:
                    model.pause(reply.delay)
                    whole = json.dumps(speak.whole(reply)).encode()
                    self._send_bytes(whole, kind="application/json", cut=fault == "cut")

    def _stream(self, pieces: Sequence[bytes], reply: Reply, *, cut: bool) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for place, piece in enumerate(pieces):
            if cut and place >= len(pieces) // 2:
                return  # without the last chunk, so that it does not look complete
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            self.server.model.pause(reply.delay if place == 0 else reply.drip)
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, thing: object, *, code: int = 200) -> None:
        self._send_bytes(json.dumps(thing).encode(), code=code, kind="application/json")

    def _send_bytes(self, body: bytes, *, kind: str, code: int = 200, cut: bool = False) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut


_EXAMPLE = """\
It prints its address and serves until it is stopped (Ctrl-C). To use it:

    Errands            [agents.builtin] model = "fake", url = "ADDRESS/v1" in the configuration
    OpenAI's programs  OPENAI_BASE_URL=ADDRESS/v1 OPENAI_API_KEY=none
    Claude Code        ANTHROPIC_BASE_URL=ADDRESS ANTHROPIC_API_KEY=none
    Gemini CLI         GOOGLE_GEMINI_BASE_URL=ADDRESS GEMINI_API_KEY=none
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.model_server",
        description=__doc__,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port", type=int, default=0, help="where to listen on 127.0.0.1; without it any free port is taken"
    )
    parser.add_argument("--log", metavar="FILE", help="write every request to a file, as JSON, one per line")
    options = parser.parse_args()
    with ModelServer(port=options.port, log=options.log) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
