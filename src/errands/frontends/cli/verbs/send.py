"""send: input for a running task that was started with --stdin or --pty."""

from __future__ import annotations

import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Operand, Option, Verb


def send(context: Context, arguments: Arguments) -> int:
    import os

    if arguments.text is not None:
        content = os.fsencode(arguments.text) + (b"" if arguments.no_newline else b"\n")
    elif arguments.eof and sys.stdin.isatty():
        content = b""
    else:
        if sys.stdin.isatty():
            context.note("type the input and end it with Ctrl-D")
        content = sys.stdin.buffer.read()
    context.engine.send(arguments.id, content, eof=arguments.eof)
    return 0


VERBS = (
    Verb(
        name="send",
        summary="send input to a running task that was started with --stdin or --pty",
        run=send,
        options=(
            Option(flags=("--no-newline",), help="do not add a newline to TEXT"),
            Option(flags=("--eof",), help="then close the task's input"),
        ),
        operands=(
            Operand(metavar="ID", help="the task", completes="live"),
            Operand(metavar="TEXT", help="a line of input (default: standard input)", optional=True),
        ),
        examples=(
            ("errands send setup-4k2 yes", "a line"),
            ("errands send load-9d3 --eof < rows.csv", "a file, then end of input"),
        ),
    ),
)
