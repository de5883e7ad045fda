"""The option parser: what the table lists is read, what it does not list is an error that helps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.frontends.cli.parser import Operand, Option, Usage, Verb, parse, whole, whole_from_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def nothing(context: Context, arguments: Arguments) -> int:
    return 0


LOGS = Verb(
    name="logs",
    summary="print the output of a task",
    run=nothing,
    options=(
        Option(flags=("-f", "--follow"), help="keep printing until the end"),
        Option(flags=("-q", "--quiet"), help="say less"),
        Option(flags=("-n", "--tail"), metavar="N", help="only the last lines", convert=whole),
        Option(flags=("--env",), metavar="K=V", help="add a variable", repeat=True),
        Option(flags=("--state",), metavar="STATE", help="a state", choices=("pending", "running")),
        Option(flags=("--lane",), metavar="LANE", help="a lane", default="shell"),
    ),
    operands=(
        Operand(metavar="ID", help="a task"),
        Operand(metavar="MORE", help="more", optional=True, repeat=True),
    ),
)

RUN = Verb(
    name="run",
    summary="run",
    run=nothing,
    options=(Option(flags=("--wait",), help="wait"),),
    operands=(Operand(metavar="COMMAND", help="what to run", repeat=True, completes="command"),),
)


def test_options_and_operands_can_be_mixed() -> None:
    arguments = parse(LOGS, ["a-1", "-f", "--tail", "5", "b-2", "--env=A=1", "--env", "B=2"])

    assert arguments.id == "a-1"
    assert arguments.more == ("b-2",)
    assert arguments.follow is True
    assert arguments.quiet is False
    assert arguments.tail == 5
    assert arguments.env == ("A=1", "B=2")


def test_what_is_not_given_has_its_default() -> None:
    arguments = parse(LOGS, ["a-1"])

    assert (arguments.tail, arguments.env, arguments.lane, arguments.more) == (None, (), "shell", ())


@pytest.mark.parametrize("words", [["-n5"], ["-n", "5"], ["-n=5"], ["--tail=5"], ["--tail", "5"], ["-fn5"]])
def test_a_value_can_be_written_in_every_usual_way(words: list[str]) -> None:
    assert parse(LOGS, ["a", *words]).tail == 5


def test_short_flags_can_be_joined() -> None:
    arguments = parse(LOGS, ["-fq", "a"])

    assert arguments.follow
    assert arguments.quiet


def test_after_two_dashes_everything_is_an_operand() -> None:
    arguments = parse(RUN, ["--wait", "--", "grep", "--wait", "-n", "--", "x"])

    assert arguments.command == ("grep", "--wait", "-n", "--", "x")
    assert arguments.dashed == 0


def test_options_after_an_operand_are_listed_so_that_a_verb_can_reject_them() -> None:
    assert parse(RUN, ["make all", "--wait"]).trailing == (("--wait", 1),)
    assert parse(RUN, ["--wait", "make"]).trailing == ()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["a", "--folow"], "no option --folow \\(did you mean --follow\\?\\)"),
        (["a", "-x"], "no option -x; see errands logs --help"),
        (["a", "--tail"], "--tail needs a value; write --tail N"),
        (["a", "--tail", "--follow"], "--tail needs a value"),
        (["a", "--tail", "five"], "--tail: 'five' is not a whole number"),
        (["a", "--tail", "-5"], "--tail: must be at least 0 .got -5."),
        (["a", "--follow=yes"], "--follow takes no value"),
        (["a", "--lane=x", "--lane=y"], "--lane was given twice"),
        (
            ["a", "--state", "runing"],
            "cannot be 'runing'; choose one of: pending, running \\(did you mean running\\?\\)",
        ),
        ([], "logs needs ID: a task"),
    ],
)
def test_what_cannot_be_understood_is_an_error_that_says_what_to_write(
    words: list[str], complaint: str
) -> None:
    with pytest.raises(Usage, match=complaint) as caught:
        parse(LOGS, words)

    assert caught.value.exit_code == 2


def test_an_unknown_option_of_run_may_belong_to_the_command() -> None:
    with pytest.raises(Usage, match="put -- before the command"):
        parse(RUN, ["-x", "pytest"])


def test_too_many_operands_are_refused() -> None:
    alone = Verb(name="show", summary="", run=nothing, operands=(Operand(metavar="ID", help="a task"),))

    with pytest.raises(Usage, match="show does not take 'b'"):
        parse(alone, ["a", "b"])


def test_help_is_found_before_anything_is_complained_about() -> None:
    assert parse(LOGS, ["--help"]).help
    assert parse(LOGS, ["-fh"]).help


def test_numbers_from_one_refuse_nothing_at_all() -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        whole_from_one("0")


@given(st.lists(st.text()))
def test_no_command_line_breaks_the_parser(words: list[str]) -> None:
    try:
        arguments = parse(LOGS, words)
    except Usage:
        return
    assert arguments.help or arguments.id in words
