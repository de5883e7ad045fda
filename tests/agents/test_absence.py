"""What stands behind an agent is not there: one sentence says what is missing and what to do about it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from errands.agents.acp import Acp
from errands.agents.builtin import Builtin
from errands.agents.command import Command
from errands.agents.opencode import OpenCode
from errands.model.errors import AgentError
from errands.testing.agent_context import RecordingContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Agent

pytestmark = pytest.mark.fault("F47")


@pytest.fixture
def nowhere() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def empty() -> Iterator[str]:
    """A server like Ollama's that has none of the models it is asked for."""

    class NoModels(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = b'{"error": {"message": "model not found", "type": "not_found_error", "code": null}}'
            self.send_response(404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *words: object) -> None:
            """Stay silent."""

    with HTTPServer(("127.0.0.1", 0), NoModels) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


async def complaint(agent: Agent, folder: Path) -> str:
    """Ask an agent that cannot answer; give what it says."""
    context = RecordingContext(folder)
    with pytest.raises(AgentError) as caught:
        await agent.prompt(await agent.open(context), "hello", context)
    await agent.close()
    said = str(caught.value)
    assert "Errno" not in said
    assert "Pydantic" not in said
    return said


async def test_claude_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    said = await complaint(Command({"home": str(tmp_path)}), tmp_path)
    assert "claude cannot be started: program not found" in said
    assert "`npm install -g @anthropic-ai/claude-code`" in said
    assert "`errands config show`" in said


async def test_a_program_that_speaks_the_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    said = await complaint(Acp({"command": "opencode acp"}), tmp_path)
    assert "opencode cannot be started" in said
    assert "`npm install -g opencode-ai`" in said


async def test_an_opencode_server(tmp_path: Path, nowhere: str) -> None:
    said = await complaint(OpenCode({"url": nowhere, "retries": 0}), tmp_path)

    assert f"OpenCode at {nowhere} does not answer: nothing is listening there" in said
    assert "`opencode serve`" in said
    assert "`url` of this agent" in said


async def test_ollama(tmp_path: Path, nowhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", nowhere)
    agent = Builtin({"model": "qwen3:8b", "tries": 1, "home": str(tmp_path)})

    said = await complaint(agent, tmp_path)
    assert f"{nowhere}: nothing is listening there; start Ollama with `ollama serve`" in said
    assert "OLLAMA_BASE_URL" in said


async def test_a_model_that_ollama_does_not_have(
    tmp_path: Path, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", empty)
    agent = Builtin({"model": "qwen3:8b", "tries": 1, "home": str(tmp_path)})

    assert "has no such model; get it with `ollama pull qwen3:8b`" in await complaint(agent, tmp_path)


async def test_a_server_of_models(tmp_path: Path, nowhere: str) -> None:
    agent = Builtin({"model": "m", "url": nowhere, "tries": 1, "home": str(tmp_path)})

    said = await complaint(agent, tmp_path)
    assert f"{nowhere}: nothing is listening there; start the server, or set `url`" in said
    assert "Ollama" not in said


async def test_the_key_of_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = Builtin({"model": "openai:gpt-5.1", "home": str(tmp_path)})

    said = await complaint(agent, tmp_path)
    assert said == (
        "the model 'openai:gpt-5.1' cannot be used: the variable OPENAI_API_KEY is not set; set it, or say "
        "with `key` where the key is"
    )


async def test_the_library_of_a_provider(tmp_path: Path) -> None:
    agent = Builtin({"model": "google:gemini", "home": str(tmp_path)})

    said = await complaint(agent, tmp_path)
    assert "its library is not installed; install it with: pip install 'pydantic-ai-slim[google]'" in said
