"""What installing writes can be undone to the byte; choices are kept."""

from __future__ import annotations

import json
import re

import pytest

from errands.dialects import named
from errands.ports.dialect import Caller
from tests.frontends.install.house import House


def test_a_server_of_the_same_name_that_a_person_wrote_for_opencode_stays(house: House) -> None:
    house.file("home/.config/opencode/opencode.json", '{"mcp": {"errands": {"type": "local"}}}\n')
    before = house.content()

    house.install("opencode")
    assert house.content().items() > before.items()
    house.uninstall("opencode")

    assert house.content() == before


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


@pytest.mark.spec("X19")
def test_claude_code_does_not_look_for_a_plugin_that_is_gone(house: House) -> None:
    """It notes every marketplace, and says at each look that it cannot load one whose folder is gone.

    It also notes every plugin, and lists one that is gone as disabled.
    """
    path = "home/.claude/plugins/known_marketplaces.json"
    folder = str(house.place / "home" / ".claude" / "errands")
    others = '"anthropics": {"installLocation": "/elsewhere"}'
    noted = f'{{{others}, "errands-local": {{"installLocation": {json.dumps(folder)}}}}}'
    mine, project = [{"scope": "user"}], str(house.project)
    both = [*mine, {"scope": "local", "projectPath": project}]
    plugins = '{"version": 2, "plugins": {"theirs": []%s}}'

    def listed(found: list[dict[str, str]]) -> str:
        return plugins % f', "errands@errands-local": {json.dumps(found)}'

    house.install("claude", trust=True)
    known = house.file(path, noted)
    plugged = house.file("home/.claude/plugins/installed_plugins.json", listed(both))
    assert house.install("claude", trust=True) == []
    house.install("claude", project=True)
    house.uninstall("claude", project=True)
    assert known.read_text() == noted  # which is not about the project's
    assert plugged.read_text() == listed(both)  # nor about it alone

    plugged.write_text(listed(mine))
    house.uninstall("claude")
    assert known.read_text() == f"{{{others}}}"
    assert plugged.read_text() == plugins % ""
