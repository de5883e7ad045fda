"""`errands install` and `errands uninstall` on the command line: confirmed first, or only printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended, plain


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    place = tmp_path_factory.mktemp("installing")
    person = Person(place / "errands", place)
    person.environ["HOME"] = str(place / "home")
    return person


def test_a_person_sees_the_changes_and_says_yes(person: Person) -> None:
    terminal, config = Terminal(person), person.cwd / "home" / ".gemini" / "settings.json"
    try:
        asked = terminal.types("install", "gemini", "--no-trust")
        asked.expect(r"Change 1 file\? \[y/N\] ")
        assert '"mcpServers"' in plain(asked.before or "")
        asked.sendline("n")
        said, code = ended(asked)
        assert (code, config.exists()) == (4, False)
        assert "nothing was written" in said

        asked = terminal.types("install", "gemini", "--no-trust")
        asked.expect(r"\[y/N\] ")
        asked.sendline("y")
        said, code = ended(asked)
        assert (code, config.exists()) == (0, True)
        assert "Gemini CLI has Errands from its next start" in said
    finally:
        terminal.close()


@pytest.mark.parametrize("answers", [[], ["y"]], ids=["the first", "the second"])
def test_an_interrupt_at_any_question_ends_it(person: Person, answers: list[str]) -> None:
    terminal, config = Terminal(person), person.cwd / "home" / ".codex" / "config.toml"
    try:
        asked = terminal.types("install", "codex")
        for answer in answers:
            asked.expect(r"\[y/N\] ")
            asked.sendline(answer)
        asked.expect(r"\[y/N\] ")
        asked.sendintr()
        said, code = ended(asked)
        assert (code, config.exists()) == (4, False)
        assert said.splitlines()[-2:] == ["^C", "nothing was written"]
    finally:
        terminal.close()


def test_without_a_person_it_needs_yes(person: Person) -> None:
    refused = person.types("install", "cursor", code=2)
    assert "cannot ask without a terminal, so nothing was written; pass --yes, or see --print" in refused.err

    assert "+++ " in person.types("install", "cursor", "--diff", "--yes").out
    assert person.types("install", "cursor", "--yes").out == "nothing to do: already installed\n"
    assert person.types("uninstall", "cursor", code=2).err.endswith("nothing was written; pass --yes\n")
    assert "Errands was removed from Cursor" in person.types("uninstall", "cursor", "--yes").out
    assert person.types("uninstall", "cursor", "--yes").out == "nothing to do: not installed\n"


@pytest.mark.spec("X21")
def test_the_summary_is_short_and_fits_the_terminal(person: Person) -> None:
    said = person.types("install", "claude", code=2, COLUMNS="80").out.splitlines()
    whole = person.types("install", "claude", "--diff", code=2).out.splitlines()

    assert len(said) < 40 < 100 < len(whole)
    assert max(map(len, said)) <= 80
    assert any(line.startswith("create ") and line.endswith("hooks.json  (42 lines)") for line in said)
    assert said[-1] == "--diff shows every line"


def test_it_can_be_printed_only(person: Person) -> None:
    said = person.types("install", "vscode", "--print", "--project").out

    assert said.startswith(f"# {person.cwd}/.vscode/mcp.json\n")
    assert '"servers"' in said
    assert not (person.cwd / ".vscode").exists()


def test_the_printed_text_of_a_file_is_a_whole_file(person: Person) -> None:
    said = person.types("install", "claude", "--print", "--project").out
    texts = dict(part.split("\n", 1) for part in said.removeprefix("# ").split("\n# /"))

    settings = json.loads(texts[f"{person.cwd}/.claude/settings.local.json".removeprefix("/")])
    assert list(settings) == ["extraKnownMarketplaces", "enabledPlugins"]


def test_a_person_is_asked_whether_the_client_shall_stop_asking(person: Person) -> None:
    terminal, config = Terminal(person), person.cwd / "home" / ".codex" / "config.toml"

    def installs(*answers: str) -> str:
        asked = terminal.types("install", "codex")
        for answer in answers:
            asked.expect(r"\[y/N\] ")
            asked.sendline(answer)
        said, code = ended(asked)
        assert code == 0
        return said

    try:
        installs("n", "y")
        assert "approval_mode" not in config.read_text()
        installs("y", "y")
        assert 'default_tools_approval_mode = "approve"' in config.read_text()
        assert "already installed" in installs()  # and it is not asked again
    finally:
        terminal.close()


def test_without_a_person_the_client_is_trusted_only_with_a_flag(person: Person) -> None:
    config = person.cwd / "home" / ".gemini" / "settings.json"

    said = person.types("install", "gemini", "--yes")
    assert "Pass --trust to let it use them without asking (trust: true)" in said.err
    assert "Errands does its own asking" in said.err
    assert "trust" not in json.loads(config.read_text())["mcpServers"]["errands"]

    assert person.types("install", "gemini", "--yes", "--trust").err == ""
    assert json.loads(config.read_text())["mcpServers"]["errands"]["trust"] is True
    assert person.types("install", "gemini", "--yes").out == "nothing to do: already installed\n"
    person.types("install", "gemini", "--yes", "--no-trust")
    assert "trust" not in json.loads(config.read_text())["mcpServers"]["errands"]


@pytest.mark.trap(41)
def test_contradicting_options_are_refused(person: Person) -> None:
    assert "not both" in person.types("install", "codex", "--project", "--user", "--yes", code=2).err
    assert "unknown dialect 'x'" in person.types("install", "codex", "--dialect", "x", code=2).err
    assert "not both" in person.types("install", "codex", "--trust", "--no-trust", "--yes", code=2).err
    assert "--trust does not apply to Cursor" in person.types("install", "cursor", "--trust", code=2).err
    assert (
        "--trust does not apply to the service" in person.types("install", "service", "--trust", code=2).err
    )
    assert "CLIENT cannot be 'emacs'" in person.types("install", "emacs", code=2).err


@pytest.mark.spec("X5")
def test_without_the_server_package_nothing_is_written(person: Person, tmp_path: Path) -> None:
    # A Python that finds Errands and nothing else, as after `pip install errands`.
    lacking = "import sys; sys.modules['mcp'] = None; from errands.__main__ import main; main()"

    def types(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", lacking, "install", "claude", "--project", *words],
            env=person.environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    refused = types("--yes")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "nothing was written" in refused.stderr
    assert "pip install '.[mcp]' in a clone of Errands" in refused.stderr
    printed = types("--print")
    assert (printed.returncode, "mcpServers" in printed.stdout) == (0, True)
    assert list(tmp_path.iterdir()) == []
