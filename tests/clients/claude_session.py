"""A session of the real Claude Code, with the fake model and the tools of Errands."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from typing import Any

from tests.clients.programs import program
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer

WITHIN = 60.0  # seconds
# The server has started before the first prompt, on a busy machine as well.
STARTED = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000", "MCP_TIMEOUT": "60000"}
READY = STARTED | {"ENABLE_TOOL_SEARCH": "false"}  # and all tools are in the request
COMMAND = ["--model", "claude-fake", "--verbose", "--output-format", "stream-json"]


class ClaudeSession:
    """A streaming session, as in programs that embed Claude Code and show its dialogs."""

    def __init__(self, person: Person, model: ModelServer) -> None:
        self._model = model
        self._said: queue.Queue[dict[str, Any]] = queue.Queue()
        self._process = subprocess.Popen(
            [program("claude"), "-p", *COMMAND, "--input-format", "stream-json"],
            cwd=person.cwd,
            env={**person.environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"},  # such programs name themselves
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()
        self._known = len(model.asked)
        self.said = ""
        self.dialogs: list[str] = []
        self.answer: dict[str, Any] = {"action": "cancel"}

    def prompts(self, text: str) -> list[str]:
        """Send a prompt; return the results of its tool calls. `said` has the model's last words then."""
        self._send({"type": "user", "message": {"role": "user", "content": text}})
        return self._turn()

    def is_woken(self) -> str:
        """Wait for a turn without a prompt; return the request to the model."""
        while True:
            self._turn()
            for asked in self._model.asked[self._known :]:
                self._known += 1
                messages = asked.body.get("messages")
                if messages and "task-notification" in json.dumps(messages[-1]):
                    return asked.text

    def _turn(self) -> list[str]:
        results: list[str] = []
        while True:
            said = self._said.get(timeout=WITHIN)
            if said["type"] == "result":
                self.said = said.get("result", "")
                return results
            if said["type"] == "control_request":
                self.dialogs.append(said["request"]["message"])
                if self.answer["action"] == "decline":
                    time.sleep(1.1)  # a person reads before they decline
                response = {"request_id": said["request_id"], "response": self.answer}
                self._send({"type": "control_response", "response": {"subtype": "success", **response}})
            results += results_in(said)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))

    def leaves(self) -> None:
        with self._process:
            self._process.kill()
        self._listening.join()


def results_in(said: dict[str, Any]) -> list[str]:
    content = said.get("message", {}).get("content", ())
    return [each["content"] for each in content if isinstance(each, dict) and each["type"] == "tool_result"]


def calling(tool: str, **arguments: Any) -> str:
    return f"CALL mcp__plugin_errands_errands__{tool} {json.dumps(arguments)}\n"
