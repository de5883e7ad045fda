"""A table in a TOML file: added, replaced and removed, with everything else as it was."""

from __future__ import annotations

import tomllib

import pytest

from errands.frontends.install import toml
from errands.model.errors import BadValue

PATH = ("mcp_servers", "errands")
OURS = {"command": "/a b/python", "args": ["-m", "errands"], "env": {"ERRANDS_HOME": "/h"}}

TEXTS = [
    "",
    "a = 1\n",
    '# mine\nmodel = "o"  # the best\n\n[mcp_servers.other]\ncommand = "x"\n',
    "[[lists]]\nb = 1\n\n[[lists]]\nb = 2\n",
    "[mcp_servers]\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_added_table_can_be_removed_again(text: str) -> None:
    with_ours = toml.put(text, PATH, OURS)

    assert tomllib.loads(with_ours)["mcp_servers"]["errands"] == OURS
    assert with_ours.startswith(text)
    assert toml.put(with_ours, PATH, OURS) == with_ours
    assert toml.remove(with_ours, PATH) == text


def test_text_after_the_table_stays() -> None:
    text = toml.put("a = 1\n", PATH, OURS) + '\n# later\n[profiles.fast]\nmodel = "m"\n'

    changed = toml.put(text, PATH, {"command": "new"})
    without = toml.remove(changed, PATH)

    assert tomllib.loads(changed)["mcp_servers"]["errands"] == {"command": "new"}
    assert without == 'a = 1\n\n# later\n[profiles.fast]\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = ", "Invalid value"),
        ('mcp_servers = { other = { command = "x" } }\n', "is not a table of its own in this file"),
        ('mcp_servers = "none"\n', "is not a table of its own in this file"),
    ],
)
def test_a_text_that_cannot_be_edited_safely_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadValue, match=why):
        toml.put(text, PATH, OURS)
