"""The table of task options: drafts, keywords, templates and the configuration agree with it."""

from __future__ import annotations

from errands import config
from errands.frontends.cli.verbs import load
from errands.model.limits import Limits
from errands.model.options.draft import BLANK, Draft
from errands.model.options.table import BY_NAME, OPTIONS
from errands.model.options.typed import PromptOptions, TaskOptions
from errands.model.options.values import value_of
from errands.model.record import fields

KINDS = {"shell": TaskOptions, "agent": PromptOptions}


def test_the_draft_has_a_field_for_every_option_in_the_same_order() -> None:
    assert fields(Draft) == ("command", "prompt", *BY_NAME)
    assert len(BY_NAME) == len(OPTIONS)


def test_the_keywords_are_the_options_of_their_kind() -> None:
    for kind, keywords in KINDS.items():
        assert set(keywords.__annotations__) == {each.name for each in OPTIONS if each.kind in ("", kind)}


def test_a_default_is_a_value_that_the_option_takes() -> None:
    for option in OPTIONS:
        default = getattr(BLANK, option.name)
        if default is not None:
            assert value_of(option, default, option.name) is default


def test_an_option_names_only_options_that_exist() -> None:
    for option in OPTIONS:
        assert BY_NAME.keys() >= {*option.needs, *option.excludes}


def test_every_option_with_a_flag_is_taken_by_the_verbs_of_its_kind() -> None:
    for verb, kind in (("run", "shell"), ("propose", "shell"), ("ask", "agent")):
        flags = {flag for option in load(verb).options for flag in option.flags}
        for option in OPTIONS:
            own = {*option.flags, *(flag for flag, _, _ in option.switches)}
            assert own & flags == (own if option.kind in ("", kind) else set())


def test_a_template_is_saved_with_all_but_what_belongs_to_one_start() -> None:
    saved = {flag for option in load("template save").options for flag in option.flags}
    start = {option.flags[0] for option in OPTIONS if option.group == "start"}
    run = {flag for option in load("template run").options for flag in option.flags}

    assert start == {"--after", "--at", "--hold", "--key"}
    assert not start & saved
    assert {*start, "--name"} <= run


def test_a_default_of_the_configuration_is_a_key_with_the_same_values() -> None:
    keys = {key.path: key for key in config.KEYS}
    for option in OPTIONS:
        if option.setting:
            key = keys[option.setting]
            assert (key.kind, key.choices) == (option.type, option.choices)
            assert key.optional == option.unlimited
            if option.type == "size" and not option.unlimited:
                assert key.least == option.least


def test_every_limit_of_a_run_is_an_option() -> None:
    assert BY_NAME.keys() >= set(fields(Limits))
