"""The command `errands`: find the verb, run it, and turn errors into a message and an exit code.

Only what the verb needs is imported, because people wait for every command.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from errands.frontends.cli.context import Bootstrap


def main() -> NoReturn:
    """Run the command line of this process, and exit with its exit code."""
    if sys.version_info < (3, 12):
        # Before 3.12, `datetime` loads a version of itself in Python first, which takes every command 1 ms.
        sys.modules.setdefault("datetime", __import__("_datetime"))
    leave(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """Run one command line; return its exit code."""
    import gc

    from errands.model.errors import ErrandsError

    # Most commands end before there is garbage worth collecting; long ones enable it again.
    gc.disable()
    try:
        code = _answer(words)
        sys.stdout.flush()
        return code
    except ErrandsError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _silence_output()
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _complain(f"cannot continue: {error.strerror or error}{where}{_remedy(error)}", 1)


def _remedy(error: OSError) -> str:
    """Return what to do about an error of the system, if that is known."""
    import errno

    remedies = {
        errno.ENOSPC: "free some space and try again",
        errno.EROFS: "mount it writable, or set ERRANDS_HOME to a directory that is",
        errno.EACCES: "change its permissions, or set ERRANDS_HOME to a directory of your own",
        errno.EMFILE: "raise the limit of open files (ulimit -n) and try again",
    }
    return f"; {remedies[error.errno]}" if error.errno in remedies else ""


def leave(code: int) -> NoReturn:
    """Exit at once: shutting the interpreter down takes longer than most commands.

    A process with an event loop or threads shuts down properly.
    """
    if "asyncio" in sys.modules or "threading" in sys.modules:
        import gc

        gc.freeze()  # otherwise all objects are searched for garbage, which ends with the process anyway
        sys.exit(code)
    import os

    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)


def _answer(words: list[str]) -> int:
    import os

    from errands.frontends.cli import verbs
    from errands.frontends.cli.context import Context
    from errands.model.errors import Ambiguous

    _prepare_streams()
    context = Context(_bootstrap, os.environ)
    if not words or {"-h", "--help", "help"} & set(words):
        # Help works with a wrong configuration, too.
        context.ignore_problems()
    match words:
        case []:
            from errands.frontends.cli.help import first_page

            context.note(first_page(context.error_look))
            return 2
        case ["--version" | "-V" | "version"]:
            from errands import __version__

            context.say(f"errands {__version__}")
            return 0
        case ["--help" | "-h" | "help"]:
            from errands.frontends.cli.help import overview

            context.say(overview(context.look))
            return 0
        case ["help", *rest]:
            words = [*rest, "--help"]
    name, rest = verbs.find(words)
    if name in verbs.FAMILIES:
        from errands.frontends.cli.help import family

        asked = rest[:1] in (["--help"], ["-h"])
        (context.say if asked else context.note)(family(name, context.look))
        return 0 if asked else 2
    verb = verbs.load(name)
    from errands.frontends.cli.parser import parse

    arguments = parse(verb, rest)
    if arguments.help:
        from errands.frontends.cli.help import verb_help

        context.say(verb_help(verb, context.look))
        return 0
    if verb.starts:
        context.require_valid_config()
    if isinstance(getattr(arguments, "json", False), str):
        from errands.frontends.cli.display.json_fields import OF_TASKS, wanted_fields
        from errands.frontends.cli.parser import JSON_TASKS

        known = OF_TASKS if JSON_TASKS in verb.options else verb.fields
        context.fields = wanted_fields(arguments.json, known)
    try:
        return verb.run(context, arguments)
    except Ambiguous as error:
        from errands.frontends.cli.targets import describe_matches

        raise describe_matches(context, error) from None


def _prepare_streams() -> None:
    import codecs

    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed (`>&-`).
            setattr(sys, name, open("/dev/null", "r+", encoding="utf-8"))  # noqa: SIM115  # open to the end
    codecs.register_error("errands", _replacement)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="errands")  # type: ignore[union-attr]


def _replacement(error: UnicodeError) -> tuple[str, int]:
    """Replace a character that the encoding of the output lacks: one of ours by its like, others by `?`."""
    assert isinstance(error, UnicodeEncodeError)
    return {"·": "-", "…": "~"}.get(error.object[error.start], "?"), error.start + 1


def _bootstrap() -> Bootstrap:
    from errands import bootstrap

    return bootstrap


def _complain(message: str, code: int) -> int:
    import os

    try:
        sys.stdout.flush()
    except OSError:
        _silence_output()
    if not message.isprintable():
        from errands.model.text.sanitise import line

        # It may repeat a path or a command, which must not control the terminal.
        message = "\n".join(map(line, message.split("\n")))
    from errands.frontends.cli.context import columns_of
    from errands.text import fitting

    lines = fitting(f"errands: {message}".split("\n"), columns_of(sys.stderr, os.environ))
    sys.stderr.write("\n".join([*lines, ""]))
    return code


def _silence_output() -> int:
    """Stop writing to standard output, whose reader has gone; that is not an error."""
    import os

    # The interpreter flushes once more at exit, which would fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


if __name__ == "__main__":
    main()
