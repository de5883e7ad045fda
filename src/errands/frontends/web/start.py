"""`errands web`: what the command can do, without loading the server where it is not needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from errands.config import Config
from errands.engine.engine import Engine
from errands.frontends.web.sign_in import Signing
from errands.model.errors import missing_extra
from errands.model.text.sanitise import line
from errands.model.view import plain_value
from errands.ports.home import Home
from errands.text import Cell, Column, Look, plural, table
from errands.text.describe import age, now

_COLUMNS = (
    Column(title="BROWSER"),
    Column(title="", flex=1),
    Column(title="FROM", drop=1),
    Column(title="SIGNED IN"),
    Column(title="LAST USED"),
)


def run(
    home: Home,
    config: Config,
    *,
    open_client: Callable[[Home, Config], Engine],
    mcp: Callable[[list[str], Mapping[str, str]], Any],
    address: str | None,
    is_opened: bool,
    signs_in: bool,
    environ: Mapping[str, str],
    look: Look,
    lists: bool,
    sign_out: str | None,
    token: bool,
    print_json: Callable[[Mapping[str, Any]], None] | None,
    **services: Any,
) -> int:
    """Serve until this process is stopped, or sign a browser in at the server that runs already.

    `lists` the signed-in browsers instead, `sign_out` ends the session of one, or of all, and `token` prints
    the token of programs. `services` are the other fields of `Services`.
    """
    signing = Signing(home)
    if lists:
        _print_sessions(signing, look, print_json)
        return 0
    if token or sign_out is not None:
        sys.stdout.write(f"{signing.token() if sign_out is None else _signed_out(signing, sign_out)}\n")
        return 0
    try:
        from errands.frontends.web.call import Services
        from errands.frontends.web.link import print_link
        from errands.frontends.web.serve import place_of, running_url, serve
    except ModuleNotFoundError as error:
        raise missing_extra("`errands web`", "web", error) from error

    if signs_in and address is None and (url := running_url(home)) is not None:
        print_link(signing, url, signing.mint(), is_opened=is_opened)
        return 0
    return serve(
        home,
        place_of(address, config.web),
        Services(open_engine=lambda: open_client(home, config), environ=environ, **services),
        make_mcp=(lambda origins: _mcp(mcp, origins, environ)) if config.web.mcp else None,
        is_opened=is_opened,
        signs_in=signs_in,
    )


def _mcp(
    make: Callable[[list[str], Mapping[str, str]], Any], origins: list[str], environ: Mapping[str, str]
) -> Any:
    try:
        return make(origins, environ)
    except ModuleNotFoundError as error:
        raise missing_extra("web.mcp", "mcp", error) from error


def _print_sessions(
    signing: Signing, look: Look, print_json: Callable[[Mapping[str, Any]], None] | None
) -> None:
    found = signing.sessions()
    if print_json is not None:
        for each in found:
            facts = {"id": each.id, "browser": each.browser, "address": each.address}
            times = {"created_at": plain_value(each.created_at), "seen_at": plain_value(each.seen_at)}
            print_json({**facts, **times})
        return
    if not found:
        sys.stdout.write("no browser is signed in; `errands web` signs one in\n")
        return
    rows = [
        (
            Cell(text=each.id, colour="bold"),
            line(each.browser),
            line(each.address),
            age(each.created_at, at=now()),
            age(each.seen_at, at=now()),
        )
        for each in found
    ]
    sys.stdout.write("".join(f"{each}\n" for each in table(_COLUMNS, rows, look)))


def _signed_out(signing: Signing, session: str) -> str:
    """Sign a browser out, or `all` of them; return what was done."""
    if session == "all":
        return f"{plural(signing.end_all(), 'browser')} signed out"
    return f"{line(signing.end(session).browser)} is signed out"
