"""What installing writes can be undone to the byte, also what earlier versions wrote; choices are kept."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

import pytest

from errands.dialects import named
from errands.frontends.install import jsonc
from errands.ports.dialect import Caller
from tests.frontends.install.house import House

# What the version before the plugin wrote for Claude Code.
OLD_SERVER = {
    "type": "stdio",
    "command": "python",
    "args": ["-P", "-m", "errands", "client", "claude", "mcp"],
}
OLD_COMMANDS = ("commands/background.md", "commands/tasks.md", "skills/errands/SKILL.md")


def old_installation(house: House) -> None:
    """Write the files, and the memory of them, as an earlier version did."""
    notes: dict[str, Any] = {}
    state = house.file("home/.claude.json", '{"numStartups": 7}\n')
    notes[str(state)] = [{"new": False, "made": [1]}]
    state.write_text(jsonc.put(state.read_text(), ("mcpServers", "errands"), OLD_SERVER))
    settings = house.file("home/.claude/settings.json", '{"model": "opus"}\n')
    text = settings.read_text()
    for event, deed in (("PostToolUse", "wake"), ("UserPromptSubmit", "remind")):
        command = f"/usr/bin/python -P -m errands client claude {deed}"
        text = jsonc.add(text, ("hooks", event), {"hooks": [{"type": "command", "command": command}]})
    settings.write_text(text)
    notes[str(settings)] = [{"new": False, "made": [1, 2]}, {"new": False, "made": [2]}]
    for name in OLD_COMMANDS:
        path = house.file(f"home/.claude/{name}", f"old {name}\n")
        mark = blake2b(path.read_bytes(), digest_size=16).hexdigest()
        made = [path.parent, path.parent.parent] if "skills" in name else [path.parent]
        notes[str(path)] = [{"print": mark, "folders": list(map(str, made))}]
    memory = house.file("home/.config/errands/installed.json", "x")
    notes[str(memory)] = [{"folders": [str(memory.parent), str(memory.parent.parent)]}]
    memory.write_text(json.dumps(notes))


@pytest.mark.parametrize("is_upgraded", [False, True])
def test_what_an_earlier_version_wrote_for_claude_code_is_removed(house: House, is_upgraded: bool) -> None:
    old_installation(house)

    if is_upgraded:
        house.install("claude")
        written = house.content()
        assert written["home/.claude.json"] == '{"numStartups": 7}\n'
        assert "hooks" not in json.loads(written["home/.claude/settings.json"])
        assert [name for name in OLD_COMMANDS if f"home/.claude/{name}" in written] == []
        assert not house.file("home/.claude/commands").exists()
        assert house.install("claude") == []
    house.uninstall("claude")

    assert house.content() == {
        "home/.claude.json": '{"numStartups": 7}\n',
        "home/.claude/settings.json": '{"model": "opus"}\n',
    }


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("is_upgraded", [False, True])
def test_the_server_that_an_earlier_version_wrote_for_opencode_is_removed(
    house: House, named: bool, is_upgraded: bool
) -> None:
    config = house.file(
        "home/.config/opencode/opencode.json", '{\n  "mcp": {"mine": {"type": "local"}} // all\n}\n'
    )
    before = house.content()
    memory = house.file("home/.config/errands/installed.json", "x")
    note = {"new": False, "made": [], **({"piece": "mcp.errands"} if named else {})}
    folder = {"folders": [str(memory.parent)]}
    memory.write_text(json.dumps({str(config): [note], str(memory): [folder]}))
    server = {"type": "local", "command": ["python", "-m", "errands", "client", "opencode", "mcp"]}
    config.write_text(jsonc.put(config.read_text(), ("mcp", "errands"), server))

    if is_upgraded:
        house.install("opencode")
        assert (
            house.content()["home/.config/opencode/opencode.json"]
            == before["home/.config/opencode/opencode.json"]
        )
        assert house.install("opencode") == []
    house.uninstall("opencode")

    assert house.content() == before


def test_a_server_of_the_same_name_that_a_person_wrote_for_opencode_stays(house: House) -> None:
    house.file("home/.config/opencode/opencode.json", '{"mcp": {"errands": {"type": "local"}}}\n')
    before = house.content()

    house.install("opencode")
    assert house.content().items() > before.items()
    house.uninstall("opencode")

    assert house.content() == before


def test_what_a_person_made_of_an_old_command_stays(house: House) -> None:
    old_installation(house)
    house.file("home/.claude/commands/tasks.md").write_text("my own words\n")

    house.install("claude")

    assert house.content()["home/.claude/commands/tasks.md"] == "my own words\n"


BLANK = {"empty": "", "blank": "\n \n"}


@pytest.mark.spec("X19")
@pytest.mark.parametrize("text", BLANK.values(), ids=BLANK)
@pytest.mark.parametrize(
    "name", ["cursor:.cursor/mcp.json", "codex:.codex/config.toml", "claude:.claude/settings.json"]
)
def test_an_empty_file_is_empty_again(house: House, name: str, text: str) -> None:
    client, _, path = name.partition(":")
    house.file(f"home/{path}", "x").write_text(text)
    before = house.content()

    house.install(client)
    assert house.file(f"home/{path}").read_text().strip()

    house.uninstall(client)
    assert house.content() == before


UNUSUAL = {
    "no end of line": ("codex", ".codex/config.toml", 'model = "o"'),
    "a comment at the end": ("codex", ".codex/config.toml", 'model = "o"\n# mine'),
    "CR LF": (
        "codex",
        ".codex/config.toml",
        '# mine\r\nmodel = "o"\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n',
    ),
    "CR LF, no end of line": ("codex", ".codex/config.toml", 'a = 1\r\nmodel = "o"'),
    "ours, written by hand": (
        "codex",
        ".codex/config.toml",
        "[mcp_servers.errands]\ncommand='mine' # own\n\n[z]\na=1\n",
    ),
    "JSON with CR LF": ("gemini", ".gemini/settings.json", '{\r\n  "theme": "x"\r\n}\r\n'),
    "JSON without an end of line": ("gemini", ".gemini/settings.json", '{"theme": "x"}'),
    "an empty object": ("gemini", ".gemini/settings.json", '{ "mcpServers" : {  } }\n'),
    "JSON of ours, written by hand": (
        "gemini",
        ".gemini/settings.json",
        '{"mcpServers": {"errands": { "command":"mine" }}}',
    ),
}


@pytest.mark.spec("X19")
@pytest.mark.parametrize(("client", "path", "text"), UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_file_is_restored_to_the_byte(house: House, client: str, path: str, text: str) -> None:
    file = house.file(f"home/{path}", text)
    before = house.content()

    house.install(client, trust=True)
    if "\r\n" in text:
        assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")

    house.uninstall(client)
    assert house.content() == before


def test_the_command_that_lists_tasks_offers_only_what_its_tool_accepts(house: House) -> None:
    for dialect in ("claude", "native", "opencode", "co", "egirl"):
        house.install("claude", dialect=dialect)
        text = house.file("home/.claude/errands/errands/commands/tasks.md").read_text()
        _, hint, *_ = [line.partition(": ")[2] for line in text.split("---")[1].strip().splitlines()]
        offered = set(re.findall(r"\w+", hint))
        accepted = {
            word
            for tool in named(dialect).tools(Caller(session=None, cwd="", door="mcp"))
            if tool.reads_only
            for schema in tool.parameters["properties"].values()
            for word in schema.get("enum", ())
        }
        assert offered == accepted
        assert "{" not in text


TRUSTED = {
    "claude": ("home/.claude/settings.json", "mcp__plugin_errands_errands"),
    "codex": ("home/.codex/config.toml", 'default_tools_approval_mode = "approve"'),
    "gemini": ("home/.gemini/settings.json", '"trust": true'),
}


@pytest.mark.parametrize("client", TRUSTED)
def test_a_choice_of_trust_is_kept_until_another_is_made(house: House, client: str) -> None:
    name, setting = TRUSTED[client]

    house.install(client)
    assert setting not in house.file(name).read_text()
    house.install(client, trust=True)
    house.install(client, dialect="co")
    assert setting in house.file(name).read_text()
    house.install(client, trust=False)
    assert setting not in house.file(name).read_text()
    house.install(client, trust=True)

    house.uninstall(client)
    assert house.content() == {}


def test_a_rule_of_the_person_stays(house: House) -> None:
    text = '{"permissions": {"allow": ["mcp__plugin_errands_errands", "Read"]}}\n'
    settings = house.file("home/.claude/settings.json", text)

    house.install("claude", trust=True)
    house.uninstall("claude")

    assert settings.read_text() == text
