"""Templates: what is filled in stays text, whatever it contains, and nothing is guessed."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.config import SHELL
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.model.options.template import check_name, filled, from_text, parameters, to_text

HOSTILE = (
    "'; touch /tmp/pwned; '",
    '"; touch /tmp/pwned; "',
    "$(touch /tmp/pwned)",
    "`touch /tmp/pwned`",
    "a\ntouch /tmp/pwned\n",
    "\\'; touch /tmp/pwned #",
    "--help",
    "${HOME}",
    "*",
    "",
    "{{other}}",
    "\udcff",
)
values = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))

# Where a parameter may stand in a line, and what the line prints for it.
PLACES = {
    "printf '%s' {{x}}": "{}",
    "printf '%s' a{{x}}b": "a{}b",
    'printf "%s" "hello {{x}}!"': "hello {}!",
    "printf '%s' 'hello {{x}}!'": "hello {}!",
    "printf '%s' \"it's \"'{{x}}'": "it's {}",
    "printf '%s' \\'{{x}}\\'": "'{}'",
    "cat <<< {{x}} | head -c -1": "{}",
    "printf '%s' \"${EMPTY}$EMPTY{{x}}\"": "{}",
    "printf '%s' a#b{{x}} # the rest is silence": "a#b{}",
    "# a comment\nprintf '%s' {{x}}": "{}",
    "printf '%s' {{y='}}{{x}}": "'{}",
    "true && (printf '%s' {{x}})": "{}",
}


@pytest.mark.spec("L15")
@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=12)
@given(value=values)
def test_a_value_in_a_shell_line_is_text_and_never_code(place: str, value: str) -> None:
    draft = filled(Draft(command=place), {"x": value})
    assert isinstance(draft.command, str)
    said = subprocess.run([SHELL, "-c", draft.command], capture_output=True, check=True)
    assert said.stdout == PLACES[place].format(value).encode("utf-8", "surrogateescape")


@pytest.mark.spec("L15")
@pytest.mark.parametrize(
    "line",
    [
        "echo `date {{x}}`",
        "echo ${{x}}",
        "echo $'{{x}}'",
        'echo "$(echo "{{x}}")"',
        'echo "${A:-"{{x}}"}"',
        "echo $(( {{x}} ))",
        "echo $[ {{x}} ]",
        "cat <<END\n{{x}}\nEND",
        "make # {{x}}",
        "echo \\{{x}}",
        "echo ok; # {{x}}",
    ],
)
def test_a_place_where_a_value_could_become_code_is_refused(line: str) -> None:
    with pytest.raises(BadValue, match="could run its value as code"):
        parameters(Draft(command=line))


def test_words_and_other_fields_take_values_as_they_are() -> None:
    draft = Draft(
        command=("grep", "{{what}}", "--{{what}}={{where=.}}"),
        cwd="/srv/{{where}}",
        description="look for {{what}}",
        env={"PATTERN": "{{what}}"},
    )
    result = filled(draft, {"what": "a b;c", "where": "x y"})

    assert result.command == ("grep", "a b;c", "--a b;c=x y")
    assert (result.cwd, result.description) == ("/srv/x y", "look for a b;c")
    assert result.env == {"PATTERN": "a b;c"}


def test_every_command_of_a_template_takes_parameters() -> None:
    draft = Draft(command="a {{x}}", then=("b {{x}}",), before=(("c", "{{x}}"),), lastly=("d {{x}}",))
    result = filled(draft, {"x": "1 2"})

    assert (result.command, result.then) == ("a '1 2'", ("b '1 2'",))
    assert (result.before, result.lastly) == ((("c", "1 2"),), ("d '1 2'",))


@pytest.mark.spec("L15")
def test_a_default_counts_only_without_a_value() -> None:
    draft = Draft(command=("deploy", "{{place=staging}}"))

    assert filled(draft, {}).command == ("deploy", "staging")
    assert filled(draft, {"place": "production"}).command == ("deploy", "production")
    assert filled(draft, {"place": ""}).command == ("deploy", "")


def test_parameters_are_named_with_their_defaults() -> None:
    draft = Draft(command="deploy {{target}} {{branch=main}} {{target=staging}} {{empty=}}")
    assert parameters(draft) == {"target": "staging", "branch": "main", "empty": ""}


@pytest.mark.parametrize(
    "text", ["{{}}", "{{ x }}", "{{a-b}}", "{{", "}}", "{{x", "${x}", "{x}", "{{{", "{{1}}"]
)
def test_braces_around_anything_else_are_left_alone(text: str) -> None:
    draft = Draft(command=("echo", text))
    assert parameters(draft) == {}
    assert filled(draft, {}).command == ("echo", text)


def test_braces_inside_of_braces_find_the_inner_name() -> None:
    assert filled(Draft(command=("x", "{{ {{x}} }}")), {"x": "1"}).command == ("x", "{{ 1 }}")


def test_a_value_is_not_looked_at_again() -> None:
    filled_in = filled(Draft(command=("echo", "{{x}} {{y}}")), {"x": "{{y}}", "y": "{{x}}"})
    assert filled_in.command == ("echo", "{{y}} {{x}}")


def test_missing_and_unknown_values_are_refused_by_name() -> None:
    draft = Draft(command="deploy {{target}} {{branch=main}}")
    with pytest.raises(BadValue, match="needs a value for: target; pass target=VALUE"):
        filled(draft, {})
    with pytest.raises(BadValue, match=r"no parameter 'tarket'; it takes: target, branch"):
        filled(draft, {"tarket": "x"})


@pytest.mark.spec("L15")
@given(
    st.builds(
        Draft,
        command=st.text(min_size=1) | st.lists(st.text(), min_size=1).map(tuple),
        then=st.lists(st.text() | st.lists(st.text()).map(tuple)).map(tuple),
        name=st.none() | st.text(),
        env=st.dictionaries(st.text(), st.text()),
        after=st.lists(st.text()).map(tuple),
        priority=st.sampled_from(["high", "normal", "low"]),
        timeout=st.none() | st.integers(1, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
        memory=st.none() | st.integers(1, 2**40),
    )
)
def test_a_saved_draft_is_read_back_as_it_was(draft: Draft) -> None:
    assert from_text(to_text(draft)) == draft


@pytest.mark.parametrize("changes", [{"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"key": "once"}])
def test_options_of_a_single_start_are_not_part_of_a_template(changes: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match="set them when you start it"):
        to_text(Draft(command="true", **changes))


def test_a_name_that_is_awkward_to_type_is_refused_with_a_better_one() -> None:
    check_name("nightly-build")
    with pytest.raises(BadValue, match="nightly-build"):
        check_name("Nightly Build")
