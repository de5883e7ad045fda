"""Starting new tasks, what a draft would do, and templates."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from errands.frontends.web.api.bodies import FORM
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.handlers.questions import reason_json
from errands.frontends.web.handlers.rows import changed
from errands.model.action import written
from errands.model.approval import way_in
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.model.options.template import parameters
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line
from errands.model.verdict import MEANINGS, TRUSTED, Judgement
from errands.model.view import plain_value


def _draft(call: Call, body: Any) -> Draft:
    """Return the draft of a request. We decide who consents to what, never the caller."""
    given = {name: value for name, value in body.items() if value is not None}
    command = given.pop("command", ())
    if not command and "prompt" not in given:
        raise BadValue("there is nothing to run; send a command or a prompt")
    for name in ("then", "before", "lastly", "channels", "after", "tools", "allow", "allow_tools"):
        if name in given:
            given[name] = tuple(given[name])
    return Draft(
        command=command if isinstance(command, str) else tuple(command),
        **given,
        owner=call.session_owner,
        consent=call.consent,
        door=call.caller.door,
    )


def submit(call: Call) -> Answer:
    draft = _draft(call, call.body)
    is_prompt = draft.prompt is not None
    view = call.engine.sessions.ask(draft) if is_prompt else call.engine.submit(draft)
    return changed(call.engine, view)


def judge(call: Call) -> Answer:
    draft = _draft(call, call.body)
    found = call.engine.judge(draft)
    times: list[datetime] = []
    if any((draft.every, draft.cron, draft.at)):
        _, times = call.engine.schedules.preview(draft)
    starts, meaning = _meaning(call, draft, found)
    return {
        "verdict": found.verdict,
        "starts": starts,
        "reasons": [reason_json(each) for each in found.reasons],
        "next_runs": [plain_value(each) for each in times],
        "said": {"text": meaning},
    }


def _meaning(call: Call, draft: Draft, found: Judgement) -> tuple[bool, str]:
    """Return whether a draft of this caller would start at once, and what would happen in words."""
    rules = call.engine.config.approval
    way = way_in(
        found,
        draft.consent,
        yes=rules.yes,
        is_trusting=rules.mode == "trusting",
        is_placed=draft.host is not None,
    )
    if found.verdict == "deny":
        return False, MEANINGS["deny"]
    if way is None:
        return False, MEANINGS["ask"]
    if way == "judge":
        return True, MEANINGS[found.verdict]
    if way == "mode":
        return True, TRUSTED
    rights = "with all your rights" if draft.sandbox == "none" else "in its sandbox"
    return True, f"it would start without asking again, {rights}, because you typed it; it"


def options(call: Call) -> Answer:
    config = call.engine.config
    return {
        "options": [
            shaped("TaskOption", each, default=each.default or each.setting, placeholder=each.values)
            for each in FORM
        ],
        "agents": [line(each) for each in config.backends],
        "default_agent": line(config.agents.default),
        "lanes": [line(each) for each in call.engine.lane_widths()],
        "cwd": line(os.getcwd()),
    }


def templates(call: Call) -> Answer:
    mask = Mask({})
    return {
        "templates": [
            {
                "name": name,
                "parameters": [line(each) for each in parameters(draft)],
                "said": {"what": mask.text(line(draft.prompt or written(draft.command)))},
            }
            for name, draft in call.engine.templates().items()
        ]
    }


def submit_template(call: Call) -> Answer:
    view = call.engine.submit_template(
        call.values["name"],
        call.body.get("values", {}),
        owner=call.session_owner,
        consent=call.consent,
        door=call.caller.door,
    )
    return changed(call.engine, view)


HANDLERS: dict[str, Handler] = {
    "submit": submit,
    "judge": judge,
    "options": options,
    "templates": templates,
    "submit-template": submit_template,
}
