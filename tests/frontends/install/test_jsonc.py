"""JSON edited as text: an edit can be undone, and nothing else changes by a byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.frontends.install import jsonc
from errands.model.errors import BadValue

OURS = {"command": "errands", "args": ["mcp"]}
PATH = ("mcp", "errands")

WRITTEN = """\
// my own configuration
{
    "theme": "dark", // at night
    "mcp": {
        /* the other one */
        "other": {"url": "http://a//b"}, // "not": a member
    },
    "list": [1, 2]
}
"""

names = st.text('abc"\\/*é', min_size=1, max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab,:{}[]"\\/*\n', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
documents = st.dictionaries(names | st.just("mcp"), values, max_size=4).filter(
    lambda each: isinstance(each.get("mcp", {}), dict)
)
styles = st.sampled_from([{"indent": 2}, {"indent": "\t"}, {"indent": 4}, {}, {"separators": (",", ":")}])


@given(documents, styles, st.sampled_from(["", "\n", "\n// the end\n"]))
def test_an_entry_can_be_removed_again(document: dict[str, Any], style: dict[str, Any], end: str) -> None:
    text = json.dumps(document, ensure_ascii=False, **style) + end

    with_ours = jsonc.put(text, PATH, OURS)

    expected = {**document, "mcp": {**document.get("mcp", {}), "errands": OURS}}
    assert jsonc.read(with_ours).value == expected
    without = jsonc.remove(with_ours, PATH)
    if "mcp" not in document:
        without = jsonc.remove(without, PATH[:1])
    assert without == text


@given(st.lists(values, max_size=4), styles)
def test_an_added_item_can_be_removed_again(items: list[Any], style: dict[str, Any]) -> None:
    text = json.dumps({"a": 1, "hooks": items}, **style)
    mine = {"mine": True}

    with_ours = jsonc.add(text, ("hooks",), mine)

    assert jsonc.read(with_ours).value == {"a": 1, "hooks": [*items, mine]}
    assert jsonc.take(with_ours, ("hooks",), mine) == text


def test_comments_commas_and_indentation_stay() -> None:
    with_ours = jsonc.put(WRITTEN, PATH, OURS)

    assert '        "errands": {\n            "command": "errands",' in with_ours
    assert [line for line in WRITTEN.splitlines() if line not in with_ours.splitlines()] == []
    assert jsonc.remove(with_ours, PATH) == WRITTEN


def test_a_member_after_ours_stays_when_ours_is_removed() -> None:
    text = jsonc.put('{\n  "mcp": {\n    "a": 1\n  }\n}\n', PATH, OURS)
    edited = jsonc.put(text, ("mcp", "later"), {"b": 2})

    assert jsonc.read(jsonc.remove(edited, PATH)).value == {"mcp": {"a": 1, "later": {"b": 2}}}


remarks = st.sampled_from(["", " ", "\n  ", " // }\n", "\n// a, b\n", " /* ] */ ", "/* //\n */"])


@given(st.integers(1, 4), st.data(), st.booleans())
def test_comments_hide_nothing_more_than_before(
    count: int, data: st.DataObject, has_last_comma: bool
) -> None:
    places = [data.draw(remarks) for _ in range(3 * count + 1)]
    members = [f'{places[3 * n]}"m{n}": {n}{places[3 * n + 1]}' for n in range(count)]
    text = "{" + f",{places[-1]}".join(members) + ("," if has_last_comma else "") + places[-2] + "}"
    gone = data.draw(st.integers(0, count - 1))

    after = jsonc.remove(text, (f"m{gone}",))

    assert jsonc.read(after).value == {f"m{n}": n for n in range(count) if n != gone}
    assert [after.count(each) for each in ("// }", "// a, b", "/* ] */", "/* //\n */")] == [
        text.count(each) for each in ("// }", "// a, b", "/* ] */", "/* //\n */")
    ]
    put = jsonc.put(text, ("new",), OURS)
    assert jsonc.read(put).value == {**{f"m{n}": n for n in range(count)}, "new": OURS}
    assert jsonc.read(jsonc.remove(put, ("new",))).value == jsonc.read(text).value


def test_of_two_members_with_one_name_the_last_is_changed() -> None:
    with_ours = jsonc.put('{"mcp": {}, "mcp": {"a": 1}}', PATH, OURS)

    assert json.loads(with_ours) == {"mcp": {"a": 1, "errands": OURS}}
    assert json.loads(jsonc.remove(with_ours, PATH)) == {"mcp": {"a": 1}}


def test_a_comment_in_an_empty_object_stays() -> None:
    text = "{\n  // nothing yet\n}\n"

    with_ours = jsonc.put(text, PATH, OURS)

    assert "// nothing yet" in with_ours
    assert jsonc.read(with_ours).value == {"mcp": {"errands": OURS}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: a value is missing"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma or } is missing"),
        ('{"a" 1}', "line 1: a colon is missing"),
        ("{a: 1}", "line 1: a name in quotes or } is missing"),
        ('{"a": [1, 2}', "line 1: a comma or ] is missing"),
        ('{"a": 1} {', "line 1: there is text after the end"),
        ('{"a": /* ', "line 1: a comment has no end"),
        ("[" * 100_000, "line 1: it is nested too deeply"),
        ('{"a": nope}', "line 1: a value is missing or not understood"),
    ],
)
def test_malformed_text_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(BadValue, match=why.replace("]", "\\]").replace("}", "\\}")):
        jsonc.put(text, PATH, OURS)


def test_an_entry_cannot_be_put_into_something_else_than_an_object() -> None:
    with pytest.raises(BadValue, match="mcp is not an object"):
        jsonc.put('{"mcp": "off"}', PATH, OURS)
    with pytest.raises(BadValue, match="hooks is not an array"):
        jsonc.add('{"hooks": {}}', ("hooks",), 1)
