"""web: the tasks in a browser, and the JSON API."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON, Arguments, Usage, Verb, operand, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.frontends.cli.doctor import Finding


def web(context: Context, arguments: Arguments) -> int:
    chosen = [arguments.sessions, arguments.sign_out is not None, arguments.token]
    if sum(chosen) > 1 or (any(chosen) and arguments.address is not None):
        raise Usage("give an address, --sessions, --sign-out or --token, one of them")
    from errands.frontends.cli.verbs.doctor import VERDICTS

    return context.bootstrap.run_web(
        context.home,
        context.config,
        examine=lambda: _examine(context),
        verdicts=VERDICTS,
        address=arguments.address,
        is_opened=not arguments.no_open and not arguments.service,
        signs_in=not arguments.service,
        environ=context.environ,
        look=context.look,
        lists=arguments.sessions,
        sign_out=arguments.sign_out,
        token=arguments.token,
        print_json=context.print_json if arguments.json else None,
    )


def _examine(context: Context) -> Iterator[tuple[str, Finding]]:
    """Run the doctor as another command would, with a store of its own."""
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.doctor.checks import examine

    own = Context(lambda: context.bootstrap, context.environ)
    own.ignore_problems()
    yield from examine(own)


VERBS = (
    Verb(
        name="web",
        summary="see all tasks and answer questions in a browser, on this machine or on your phone",
        run=web,
        details="Serves the page and its JSON API on this machine, and signs a browser in with a link that "
        "works once. If the server runs already, only the link is made. Approving needs a signed-in browser "
        "that is not part of a run. To reach it from a phone, put a proxy with TLS in front and set "
        "web.origin, or set web.cert and web.cert_key. See docs/how-to/web.md.",
        options=(
            option("--no-open", "print the link, and do not open it in a browser"),
            option("--sessions", "list the signed-in browsers"),
            option("--sign-out ID", "sign a browser out; all: every one"),
            option("--token", "print the token for programs that use the API; they cannot approve with it"),
            option("--service", "serve without signing a browser in, as a system service does"),
            JSON,
        ),
        refused={
            **dict.fromkeys(("--port", "--host", "-p"), "give HOST:PORT, as in errands web 127.0.0.1:8000"),
            "--open": "it opens the page, unless --no-open is given",
        },
        operands=(operand("[ADDRESS]", "HOST:PORT (default web.address)"),),
        examples=(
            ("errands web", "open the page"),
            ("errands web --no-open", "on a machine without a browser: only print the link"),
            ("errands web --sign-out all", "no browser is signed in any more"),
        ),
    ),
)
