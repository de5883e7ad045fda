"""The installation: settings, the doctor, keys, the daemon, metrics; and signing in and out."""

from __future__ import annotations

from typing import Any

from errands import __version__, config
from errands.config.agent_entries import agent_entries
from errands.engine.live.metrics import families, negotiated
from errands.frontends.tools.keys import KEYS, PLACES
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler, Text
from errands.frontends.web.callers import browser_of
from errands.frontends.web.guard import RefusalError
from errands.frontends.web.handlers.rows import daemon_facts, done
from errands.frontends.web.sign_in import WebSession
from errands.model.text.sanitise import line


def settings(call: Call) -> Answer:
    current = call.engine.config
    entries = [
        (key.path, config.written(key, value), origin) for key, value, origin in config.entries(current)
    ]
    return {
        "version": __version__,
        "home": line(call.engine.home.path),
        "file": line(config.user_file(call.services.environ)),
        "settings": [
            {"key": line(key), "value": line(value), "origin": line(origin)}
            for key, value, origin in (*entries, *agent_entries(current))
        ],
    }


def doctor(call: Call) -> Answer:
    found = [
        shaped("Finding", finding, section=line(section)) for section, finding in call.services.examine()
    ]
    levels = ("ok", "warn", "fail")
    worst = max((each["level"] for each in found), key=levels.index, default="ok")
    return {"findings": found, "said": {"verdict": call.services.verdicts[worst]}}


def keys(call: Call) -> Answer:
    return {
        "keys": [shaped("Key", each) for each in KEYS],
        "places": [{"place": place, "said": said} for place, said in PLACES.items()],
    }


def start_daemon(call: Call) -> Answer:
    call.engine.ensure_daemon()
    return daemon_facts(call.engine, is_live=call.engine.bell.is_answered())


def metrics(call: Call) -> Answer:
    return Text(*negotiated(families(call.engine), call.accept))


# Signing in.


def sign_in(call: Call) -> Answer:
    call.require_person()
    if not call.signing.use(call.body["code"]):
        detail = "this code was used, is too old or never existed; type `errands web` for a new one"
        raise RefusalError(403, detail, "WrongCode")
    host, _ = call.caller.peer
    address = call.caller.through or host
    key, session = call.signing.begin(browser=browser_of(call.agent), address=address)
    return {"key": key, "session": _session(session, session.id)}


def sign_out(call: Call) -> Answer:
    session = _own(call)
    call.signing.end(session.id)
    return done(f"{line(session.browser)} is signed out")


def me(call: Call) -> Answer:
    why_not = call.caller.why_not_a_person()
    return {
        "kind": call.caller.kind,
        "can_approve": not why_not,
        "said": {"who": line(call.caller.name), "why_not": why_not},
    }


def sessions(call: Call) -> Answer:
    own = _own(call)
    return {"sessions": [_session(each, own.id) for each in call.signing.sessions()]}


def end_session(call: Call) -> Answer:
    _own(call)
    gone = call.signing.end(call.values["session"])
    return done(f"{line(gone.browser)} is signed out")


def _own(call: Call) -> WebSession:
    """Return the session of the caller; a program with the token has none, and no say about others'."""
    if call.caller.session is None:
        detail = "only a signed-in browser can do this, not a program with the token"
        raise RefusalError(403, detail, "NotAPerson")
    return call.caller.session


def _session(session: WebSession, own: str) -> dict[str, Any]:
    return shaped("Session", session, current=session.id == own)


HANDLERS: dict[str, Handler] = {
    "settings": settings,
    "doctor": doctor,
    "keys": keys,
    "start-daemon": start_daemon,
    "metrics": metrics,
    "sign-in": sign_in,
    "sign-out": sign_out,
    "me": me,
    "sessions": sessions,
    "end-session": end_session,
}
