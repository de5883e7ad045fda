"""What an agent is started with: rules for commands and names of tools that it may use without asking.

A name may end in `*`. Tools that run commands are left out: what they may run is a rule for commands.
"""

from __future__ import annotations

import os

from errands.judge.rules import read_rules
from errands.judge.workspace import PROTECTED, is_within
from errands.model.errors import BadValue
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.model.action import Prompt
    from errands.ports.agent import ToolCall

# Tools of agents that run a command, in lower case; ACP calls every such tool `execute`.
_SHELLS = frozenset(
    """command bash shell execute local_shell run_shell_command terminal exec run_command run_shell
    shell_command bash_command exec_command run_in_terminal run_terminal_cmd powershell pwsh""".split()
)
_PROTECTED = frozenset(PROTECTED)
_LONGEST = 4096  # letters of a path


def reasons_for_grants(prompt: Prompt) -> tuple[Reason, ...]:
    """Return what an agent may do without asking, as reasons to ask about it first."""
    read_rules(allow=prompt.allow)  # refuse a rule that would allow anything
    for name in prompt.allow_tools:
        _check(name)
    commands = [f"lets the agent run `{rule}` without asking" for rule in prompt.allow]
    tools = [f"lets the agent use the tool `{name}` without asking" for name in prompt.allow_tools]
    return tuple(Reason(text=text, kind="grant") for text in (*commands, *tools))


def is_granted(prompt: Prompt, call: ToolCall) -> bool:
    """Return whether an agent was started with the tool of a call.

    One that runs commands never counts, nor does a call that names what decides about programs outside of a
    sandbox, such as git's hooks: a person who lets an agent edit files does not mean those.
    """
    if call.tool.lower() in _SHELLS:
        return False
    if any(_is_protected(each, prompt.cwd) for each in _texts(dict(call.arguments))):
        return False
    return any(_matches(name, call.tool) for name in prompt.allow_tools)


def _texts(value: object) -> Iterator[str]:
    """Yield what may be a path in the arguments of a call."""
    if isinstance(value, str):
        yield from (value,) if len(value) <= _LONGEST and "\n" not in value and "\0" not in value else ()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _is_protected(text: str, cwd: str) -> bool:
    """Return whether a path, or where it leads in the project, has a name that is protected in a sandbox."""
    if not _PROTECTED.isdisjoint(text.strip().lower().split("/")):
        return True
    real, project = os.path.realpath(os.path.join(cwd, text)), os.path.realpath(cwd)
    return is_within(real, project) and not _PROTECTED.isdisjoint(real[len(project) :].lower().split("/"))


def _matches(name: str, tool: str) -> bool:
    return tool.startswith(name[:-1]) if name.endswith("*") else tool == name


def _check(name: str) -> None:
    if name.lower() in _SHELLS:
        raise BadValue(
            f"the tool {name!r} runs commands; say which with --allow, such as --allow 'gh run list *'"
        )
    letters = name.removesuffix("*")
    if not letters or not all(each.isalnum() or each in "_-./:" for each in letters):
        raise BadValue(
            f"{name!r} does not name a tool; --allow-tool takes a name, such as write_file, or the beginning "
            "of some, such as 'mcp_github_*'"
        )
