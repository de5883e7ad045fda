"""What an agent is started with: rules for commands and names of tools that it may use without asking.

A name may end in `*`. Tools that run commands are left out: what they may run is a rule for commands.
"""

from __future__ import annotations

from errands.judge.rules import read_rules
from errands.model.errors import BadValue
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.action import Prompt

# Tools of agents that run a command, in lower case; ACP calls every such tool `execute`.
_SHELLS = frozenset("command bash shell execute local_shell run_shell_command terminal exec".split())


def reasons_for_grants(prompt: Prompt) -> tuple[Reason, ...]:
    """Return what an agent may do without asking, as reasons to ask about it first."""
    read_rules(allow=prompt.allow)  # refuse a rule that would allow anything
    for name in prompt.allow_tools:
        _check(name)
    commands = [f"lets the agent run `{rule}` without asking" for rule in prompt.allow]
    tools = [f"lets the agent use the tool `{name}` without asking" for name in prompt.allow_tools]
    return tuple(Reason(text=text, kind="grant") for text in (*commands, *tools))


def is_granted(prompt: Prompt, tool: str) -> bool:
    """Return whether an agent was started with a tool; one that runs commands never counts."""
    return tool.lower() not in _SHELLS and any(_matches(name, tool) for name in prompt.allow_tools)


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
