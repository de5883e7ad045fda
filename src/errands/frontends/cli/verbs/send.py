"""send: input for a running task that was started with --stdin or --pty."""

from __future__ import annotations

import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Verb, operand, option
from errands.frontends.cli.targets import fleet_control
from errands.model.errors import UnknownTask


def send(context: Context, arguments: Arguments) -> int:
    import os

    if arguments.text not in (None, "-"):
        content = os.fsencode(arguments.text) + (b"" if arguments.no_newline else b"\n")
    elif arguments.eof and sys.stdin.isatty():
        content = b""
    else:
        if sys.stdin.isatty():
            _check(context, arguments.id)
            context.note("type the input and end it with Ctrl-D")
        try:
            content = sys.stdin.buffer.read()
        except KeyboardInterrupt:
            context.note_interrupted("nothing was sent")
            raise
    try:
        context.engine.send(arguments.id, content, eof=arguments.eof)
    except UnknownTask as error:
        return fleet_control(context, error).send(arguments.id, content, eof=arguments.eof)
    return 0


def _check(context: Context, beginning: str) -> None:
    """Refuse a task that takes no input before a person types some."""
    try:
        context.engine.send(beginning, b"")
    except UnknownTask as error:
        fleet_control(context, error)


VERBS = (
    Verb(
        name="send",
        summary="send input to a running task that was started with --stdin or --pty",
        run=send,
        options=(
            option("--no-newline", "do not add a newline to TEXT"),
            option("--eof", "then close the task's input"),
        ),
        operands=(
            operand("ID", "the task", completes="live"),
            operand("[TEXT]", "a line of input, or - to read standard input (default)"),
        ),
        examples=(
            ("errands send setup-4k2 yes", "a line"),
            ("errands send load-9d3 --eof < rows.csv", "a file, then end of input"),
        ),
    ),
)
