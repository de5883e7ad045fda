"""agents setup: what can answer prompts on this machine is found, explained, and written after asking."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic_ai.models import KnownModelName

from errands.agents.candidates import KEYS
from errands.config.edit import with_agents
from errands.model.agent.install_hints import INSTALLED_BY
from errands.model.errors import BadValue
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended

MODELS = {"nomic-embed-text:latest": ["embedding"], "qwen3:8b": ["completion", "tools"]}


class Ollama(BaseHTTPRequestHandler):
    """What Ollama answers about its models."""

    def do_GET(self) -> None:
        self._send({"models": [{"name": name} for name in MODELS]} if self.path == "/api/tags" else {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send({"capabilities": MODELS[asked["model"]]})

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def _send(self, thing: object) -> None:
        body = json.dumps(thing).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def ollama() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture
def bare(newcomer: Person, tmp_path: Path) -> Person:
    """A person whose machine has no model, no agent program and no key."""
    for name in [each for each in newcomer.environ if each.endswith("_API_KEY")]:
        del newcomer.environ[name]
    newcomer.environ["OLLAMA_BASE_URL"] = "http://127.0.0.1:1/v1"  # nothing listens there
    newcomer.environ["PATH"] = str(tmp_path / "bin")
    (tmp_path / "bin").mkdir()
    return newcomer


def has(person: Person, *names: str) -> None:
    for name in names:
        program = Path(person.environ["PATH"], name)
        program.write_text("#!/bin/sh\ncat\n")
        program.chmod(0o700)


def file_of(person: Person) -> Path:
    return Path(person.environ["XDG_CONFIG_HOME"], "errands", "config.toml")


@pytest.mark.spec("R6")
def test_a_prompt_without_a_model_fails_and_the_setup_that_it_names_mends_that(bare: Person) -> None:
    failed = bare.types("ask", "--wait", "how are you?", code=1)
    assert "no model is set up" in failed.err
    assert "`errands agents setup`" in failed.err
    assert failed.out == ""
    assert "`errands agents setup` sets one up" in bare.types("ask", "how are you?").err

    has(bare, "claude")
    said = bare.types("agents", "setup", "--yes").out
    assert "1  claude: Claude Code, " in said
    assert file_of(bare).read_text() == '[agents]\ndefault = "claude"\n'
    assert bare.types("config", "check").code == 0
    assert bare.types("ask", "-q", "how are you?").code == 0
    assert bare.types("ls", "--json", "--all").objects[0]["agent"] == "claude"


@pytest.mark.spec("R6")
def test_nothing_to_set_up_says_how_to_get_something(bare: Person) -> None:
    said = bare.types("agents", "setup", "--yes", code=1).out
    assert "Nothing on this machine can answer prompts." in said
    assert "ollama pull qwen3" in said
    assert all(each in said for each in INSTALLED_BY.values())
    assert not file_of(bare).exists()
    assert bare.types("agents", "setup", "--json", code=1).object["found"] == []


@pytest.mark.spec("R3", "R6")
def test_a_model_on_this_machine_comes_first_and_has_to_use_tools(bare: Person, ollama: str) -> None:
    has(bare, "claude", "codex", "opencode")
    bare.environ |= {"OLLAMA_BASE_URL": ollama, "ANTHROPIC_API_KEY": "secret-key"}
    said = bare.types("agents", "setup", "--json").object
    assert [each["name"] for each in said["found"]] == ["ollama", "claude", "codex", "opencode", "anthropic"]
    assert [each["trouble"] for each in said["found"]] == [None] * 5
    assert (said["chosen"], said["written"]) == ("ollama", False)
    assert not file_of(bare).exists()

    written = bare.types("agents", "setup", "--yes")
    assert "secret-key" not in written.out
    assert file_of(bare).read_text() == (
        '[agents]\ndefault = "builtin"\n\n[agents.builtin]\nmodel = "ollama:qwen3:8b"\n'
    )


@pytest.mark.spec("R6")
def test_what_is_found_but_cannot_start_says_why(bare: Person) -> None:
    bare.environ["GROQ_API_KEY"] = "x"
    (found,) = bare.types("agents", "setup", "--json", code=None).object["found"]
    if found["trouble"]:  # the provider's library is not part of the extra
        assert "pip install" in found["trouble"]
        refused = bare.types("agents", "setup", "--agent", "groq", "--yes", code=1).err
        assert "groq cannot be set up yet: " in refused
    assert (
        "'cloude' was not found on this machine"
        in bare.types("agents", "setup", "--agent", "cloude", code=2).err
    )


@pytest.mark.spec("R6")
def test_without_a_terminal_nothing_is_written_unasked(bare: Person) -> None:
    has(bare, "claude")
    assert "pass --yes" in bare.types("agents", "setup", code=2).err
    assert not file_of(bare).exists()


@pytest.mark.spec("R6")
def test_a_person_chooses_and_confirms(bare: Person) -> None:
    has(bare, "claude", "codex")
    bare.environ["PATH"] += ":/usr/bin:/bin"
    child = Terminal(bare).types("agents", "setup")
    child.expect_exact("Which one? [1-2, or Enter for none] ")
    child.sendline("2")
    child.expect_exact("Write this? [y/N] ")
    child.sendline("y")
    said, code = ended(child)
    assert "codex answers prompts from now on, in clients from their next start" in " ".join(said.split())
    assert code == 0
    assert file_of(bare).read_text() == '[agents]\ndefault = "codex"\n'


def test_a_number_that_is_not_in_the_list_and_an_interrupt_write_nothing(bare: Person) -> None:
    has(bare, "claude", "codex")
    bare.environ["PATH"] += ":/usr/bin:/bin"
    terminal = Terminal(bare)
    child = terminal.types("agents", "setup")
    child.expect_exact("Which one? [1-2, or Enter for none] ")
    child.sendline("3")
    said, code = ended(child)
    assert code == 2
    assert "errands: there is no 3 in the list; nothing was written" in said

    child = terminal.types("agents", "setup")
    child.expect_exact("Which one? ")
    child.sendintr()
    said, code = ended(child)
    assert said.splitlines()[-1] == "nothing was written"
    assert (code, file_of(bare).exists()) == (4, False)


def test_agents_are_listed_with_what_keeps_them_from_starting(bare: Person) -> None:
    has(bare, "codex")
    found = {each["name"]: each for each in bare.types("agents", "ls", "--json").objects}
    assert (found["offline"]["default"], found["offline"]["ready"]) == (True, True)
    assert found["codex"]["ready"]
    assert not found["claude"]["ready"]
    assert "npm install -g @anthropic-ai/claude-code" in found["claude"]["reason"]
    assert "offline (default)" in bare.types("agents", "ls").out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[agents]\ndefault = "a"\n'),
        ("# mine\n[lanes]\nlocal = 1\n", '# mine\n[lanes]\nlocal = 1\n\n[agents]\ndefault = "a"\n'),
        (
            '[agents]\n# why\ndefault = "b"\ndepth = 2\n\n[agents.b]\nbackend = "offline"\n',
            '[agents]\ndefault = "a"\n# why\ndepth = 2\n\n[agents.b]\nbackend = "offline"\n',
        ),
        ("[agents]\ndepth = 2", '[agents]\ndefault = "a"\ndepth = 2\n'),
    ],
)
def test_the_rest_of_a_configuration_stays(before: str, after: str) -> None:
    assert with_agents(before, "a", {}) == after


@pytest.mark.parametrize("before", ['agents.default = "b"\n', 'agents = { default = "b" }\n', "[agents"])
def test_a_configuration_that_cannot_be_edited_is_left_alone(before: str) -> None:
    with pytest.raises(BadValue, match=r"by hand|cannot be read"):
        with_agents(before, "a", {})


def test_the_models_to_begin_with_exist() -> None:
    known: tuple[Any, ...] = get_args(KnownModelName.__value__)
    models = [model for _, _, model in KEYS if not model.startswith("openrouter:")]
    assert [each for each in models if each not in known] == []
