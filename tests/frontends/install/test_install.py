"""Installing into the files of clients: shown first, idempotent, undone exactly, never destructive."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from typing import Any

import pytest

from errands.dialects.opencode import OpenCode
from errands.frontends.cli.verbs.install import CLIENTS
from errands.frontends.install import jsonc
from errands.frontends.install.clients import NAMES
from errands.model.errors import BadValue, ErrandsError
from tests.frontends.install.house import House

SERVING = [sys.executable, "-P", "-m", "errands"]


def test_the_command_line_knows_every_client() -> None:
    assert CLIENTS == NAMES


@pytest.mark.spec("X5")
@pytest.mark.parametrize("project", [False, True], ids=["user", "project"])
@pytest.mark.parametrize("client", NAMES)
def test_an_installation_is_idempotent_and_leaves_nothing_behind(
    house: House, client: str, project: bool
) -> None:
    before = house.content()

    assert house.install(client, project=project) != []
    installed = house.content()
    assert house.install(client, project=project) == []
    assert house.content() == installed

    assert house.uninstall(client, project=project) != []
    assert house.content() == before
    assert house.uninstall(client, project=project) == []


SERVERS = {
    "claude": (
        "home/.claude/errands/errands/.mcp.json",
        ("mcpServers", "errands"),
        ["client", "claude", "mcp", "--dialect", "claude"],
    ),
    "cursor": ("home/.cursor/mcp.json", ("mcpServers", "errands"), ["mcp", "--dialect", "native"]),
    "gemini": ("home/.gemini/settings.json", ("mcpServers", "errands"), ["mcp", "--dialect", "native"]),
    "vscode": ("home/.config/Code/User/mcp.json", ("servers", "errands"), ["mcp", "--dialect", "native"]),
}


@pytest.mark.parametrize("client", SERVERS)
def test_the_server_is_started_by_the_same_python(house: House, client: str) -> None:
    name, path, words = SERVERS[client]

    house.install(client)

    entry = json.loads(house.file(name).read_text())
    for part in path:
        entry = entry[part]
    assert [entry["command"], *entry["args"]] == [*SERVING, *words]


@pytest.mark.spec("X17")
def test_opencode_gets_one_file_with_the_tools_as_the_dialect_has_them(house: House) -> None:
    house.install("opencode", project=True)

    plugin = house.project / ".opencode" / "plugin" / "errands.js"
    assert [each for each in house.project.rglob("*") if each.is_file()] == [plugin]
    tools = json.loads(plugin.read_text().split("const TOOLS = ")[1].splitlines()[0])
    assert [(name, each["parameters"]) for name, each in tools.items()] == [
        (each.name, each.parameters) for each in OpenCode.all_tools
    ]


def test_opencode_has_no_other_dialect(house: House) -> None:
    with pytest.raises(BadValue, match="leave --dialect out"):
        house.install("opencode", dialect="native")


def test_codex_has_its_own_format(house: House) -> None:
    house.install("codex")

    table = tomllib.loads(house.file("home/.codex/config.toml").read_text())["mcp_servers"]["errands"]
    served = ["client", "codex", "mcp", "--dialect", "native"]
    assert [table["command"], *table["args"]] == [*SERVING, *served]


def test_a_custom_home_is_passed_on(house: House) -> None:
    house.environ["ERRANDS_HOME"] = "/somewhere else"

    house.install("cursor")
    house.install("claude")

    assert json.loads(house.file("home/.cursor/mcp.json").read_text())["mcpServers"]["errands"]["env"] == {
        "ERRANDS_HOME": "/somewhere else"
    }
    for hook in hooks(house).values():
        assert hook["command"].startswith("ERRANDS_HOME='/somewhere else' ")


def hooks(house: House) -> dict[str, dict[str, Any]]:
    """The hook of each event in the plugin for Claude Code."""
    written = json.loads(house.file("home/.claude/errands/errands/hooks/hooks.json").read_text())["hooks"]
    return {event: groups[0]["hooks"][0] for event, groups in written.items()}


FOREIGN = {
    "claude": {
        "home/.claude.json": '{"numStartups": 7, "mcpServers": {"other": {"command": "x"}}, "projects": {}}',
        "home/.claude/settings.json": '{\n    "model": "opus",\n    "hooks": {"PostToolUse": [\n'
        '        {"matcher": "Edit", "hooks": []}\n    ]},\n    "permissions": { "allow": [ ] }\n}\n',
    },
    "vscode": {"home/.config/Code/User/mcp.json": "{\n  // none yet\n}\n"},
    "codex": {"home/.codex/config.toml": '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n'},
    "gemini": {"home/.gemini/settings.json": '{"theme": "x", "mcpServers": {}}\n'},
}


@pytest.mark.parametrize("client", FOREIGN)
def test_foreign_content_stays_to_the_byte(house: House, client: str) -> None:
    for name, text in FOREIGN[client].items():
        house.file(name, text)
    before = house.content()

    house.install(client)
    for name, text in FOREIGN[client].items():
        kept = [line.rstrip(",") for line in text.splitlines() if "{" not in line and "}" not in line]
        assert [line for line in kept if line not in house.file(name).read_text()] == []

    house.uninstall(client)
    assert house.content() == before


def test_later_changes_elsewhere_in_a_file_stay(house: House) -> None:
    settings = house.file("home/.claude/settings.json", '{\n  "model": "opus"\n}\n')
    house.install("claude")
    text = settings.read_text()
    text = jsonc.put(text, ("model",), "sonnet")
    text = jsonc.put(text, ("enabledPlugins", "other@theirs"), True)
    settings.write_text(text)

    house.uninstall("claude")

    assert json.loads(settings.read_text()) == {"model": "sonnet", "enabledPlugins": {"other@theirs": True}}


def test_an_edited_command_file_is_left_alone(house: House) -> None:
    house.install("claude")
    name = "home/.claude/errands/errands/commands/tasks.md"
    house.file(name).write_text("my own words\n")

    house.uninstall("claude")

    assert house.content() == {name: "my own words\n"}


def test_an_earlier_entry_with_our_name_is_restored(house: House) -> None:
    text = '{\n  "mcpServers": {\n    "errands": {\n      "command": "mine"\n    }\n  }\n}\n'
    config = house.file("home/.cursor/mcp.json", text)

    house.install("cursor")
    house.install("cursor", dialect="egirl")
    assert "egirl" in config.read_text()

    house.uninstall("cursor")
    assert config.read_text() == text


def test_another_python_replaces_the_first(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.install("claude")
    monkeypatch.setattr(sys, "executable", "/opt/newer/python")

    house.install("claude")

    assert {each["command"].split()[0] for each in hooks(house).values()} == {"/opt/newer/python"}
    house.uninstall("claude")
    assert house.content() == {}


@pytest.mark.parametrize(
    ("client", "name", "text"),
    [
        ("claude", "home/.claude/settings.json", '{"enabledPlugins": '),
        ("claude", "home/.claude/settings.json", '{"enabledPlugins": []}'),
        ("codex", "home/.codex/config.toml", "model = \n"),
        ("cursor", "home/.cursor/mcp.json", "[]"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_left_alone_like_all_others(
    house: House, client: str, name: str, text: str
) -> None:
    house.file(name, text)
    before = house.content()

    with pytest.raises(BadValue, match="cannot be changed safely, and nothing was written") as refused:
        house.install(client)

    assert str(house.file(name)) in str(refused.value)
    assert "put this in by hand" in str(refused.value)
    assert house.content() == before


def test_a_file_that_is_not_text_is_left_alone(house: House) -> None:
    house.file("home/.cursor/mcp.json", "x").write_bytes(b"\xff\xfe{}")

    with pytest.raises(BadValue, match="is not UTF-8 text"):
        house.install("cursor")


def test_a_file_that_changed_before_the_answer_is_left_alone(house: House) -> None:
    config = house.file("home/.cursor/mcp.json", "{}\n")
    made = house.installation("cursor")
    made.plan(removing=False)
    config.write_text('{"theirs": 1}\n')

    with pytest.raises(ErrandsError, match="has changed since it was shown"):
        made.carry_out()

    assert config.read_text() == '{"theirs": 1}\n'


def test_links_and_file_modes_stay(house: House) -> None:
    real = house.file("dotfiles/mcp.json", "{}\n")
    real.chmod(0o600)
    link = house.file("home/.cursor/mcp.json")
    link.parent.mkdir(parents=True)
    link.symlink_to(real)

    house.install("cursor")

    assert link.is_symlink()
    assert "errands" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(real.parent)) == ["mcp.json"]


@pytest.mark.spec("X5")
def test_a_link_is_shown_with_the_file_that_would_change(house: House) -> None:
    real = house.file("dotfiles/mcp.json", "{}\n")
    link = house.file("home/.cursor/mcp.json")
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    ((path, diff),) = house.installation("cursor").plan(removing=False)

    assert path == str(link)
    assert diff[1] == f"+++ {link} -> {real}"


@pytest.mark.spec("X5")
@pytest.mark.parametrize("name", [".cursor", ".cursor/mcp.json"])
def test_a_project_cannot_lead_an_installation_out_of_itself(house: House, name: str) -> None:
    outside = house.file("home/precious/mcp.json", "{}\n")
    link = house.project / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside.parent if name == ".cursor" else outside)

    for removing in (False, True):
        with pytest.raises(BadValue, match=f"nothing was written: .* would change {outside}"):
            house.installation("cursor", project=True).plan(removing=removing)
    assert outside.read_text() == "{}\n"

    link.unlink()
    inside = house.file("project/real/mcp.json", "{}\n")
    link.symlink_to(inside.parent if name == ".cursor" else inside)
    assert house.install("cursor", project=True) == [str(house.project / ".cursor" / "mcp.json")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write files of others")
def test_the_owner_of_a_file_stays(house: House) -> None:
    config = house.file("home/.cursor/mcp.json", "{}\n")
    os.chown(config, 12345, 12346)
    house.install("cursor")

    assert "errands" in config.read_text()
    assert (config.stat().st_uid, config.stat().st_gid) == (12345, 12346)


def test_a_new_file_has_the_default_mode(house: House) -> None:
    mask = os.umask(0o077)
    try:
        house.install("cursor")
    finally:
        os.umask(mask)

    assert house.file("home/.cursor/mcp.json").stat().st_mode & 0o777 == 0o600


def test_the_texts_are_in_the_package(house: House) -> None:
    house.install("claude")
    house.install("opencode")

    plugin_folder = house.file("home/.claude/errands/errands")
    assert (plugin_folder / "skills/errands/SKILL.md").read_text().startswith("---\nname: errands\n")
    assert "$ARGUMENTS" in (plugin_folder / "commands/background.md").read_text()
    plugin = house.file("home/.config/opencode/plugin/errands.js").read_text()
    assert f"const ERRANDS = {json.dumps(SERVING)}\n" in plugin
    assert "const ENVIRONMENT = {}\n" in plugin


def test_existing_and_used_directories_stay(house: House) -> None:
    house.file("home/.config/opencode/opencode.json", "{}\n")
    before = house.content()
    house.install("opencode")
    house.install("claude")
    kept = house.file("home/.claude/errands/mine.md", "mine\n")

    house.uninstall("claude")
    assert [path.name for path in house.file("home/.claude").rglob("*")] == ["errands", "mine.md"]

    kept.unlink()
    kept.parent.rmdir()
    kept.parent.parent.rmdir()
    house.uninstall("opencode")
    assert house.content() == before


def test_a_damaged_memory_is_refused(house: House) -> None:
    house.install("cursor")
    house.file("home/.config/errands/installed.json").write_text("{")

    with pytest.raises(BadValue, match="is damaged; delete it"):
        house.uninstall("cursor")


def test_without_a_memory_only_what_is_certainly_ours_is_removed(house: House) -> None:
    house.install("cursor")
    house.file("home/.config/errands/installed.json").unlink()

    house.uninstall("cursor")

    assert json.loads(house.file("home/.cursor/mcp.json").read_text()) == {"mcpServers": {}}
