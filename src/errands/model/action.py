"""An action: what a task does when it runs: commands, or a prompt for an agent.

A command is either words, which are executed as they are, or a line, which a shell reads; JSON keeps the
difference as list and string.
"""

from __future__ import annotations

from errands.model.codec import JsonCodec
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    Command = tuple[str, ...] | str
    Input = Literal["none", "pipe", "pty"]
    Walls = Literal["none", "files", "network"]

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^")
INPUTS: tuple[Input, ...] = ("none", "pipe", "pty")
WALLS: tuple[Walls, ...] = ("none", "files", "network")


@record
class Sandbox:
    """Walls around a run: what it may write besides its own directory, and whether it has a network.

    The judge is a convenience, this is a boundary: bubblewrap makes the rest of the file system read-only.
    """

    writable: tuple[str, ...]
    network: bool = True


@record
class Shell:
    """Commands run in order, stopping at the first that fails; hooks around them do not change the outcome.

    `environment` is the digest of the caller's whole environment, `env` what was added to it. `watch` is a
    line that runs periodically to decide whether the commands run. `read_only` says that the judge found them
    to only read, so the kernel can hold them to it. `host` is the name or label of the host to run on, if
    that is another one; `cwd_is_named` says then that the caller chose the directory, which must exist there.
    """

    commands: tuple[Command, ...]
    cwd: str
    environment: str
    env: Mapping[str, str] = {}
    before: tuple[Command, ...] = ()
    lastly: tuple[Command, ...] = ()
    input: Input = "none"
    sandbox: Sandbox | None = None
    watch: str = ""
    read_only: bool = False
    host: str = ""
    cwd_is_named: bool = False

    @property
    def line(self) -> str:
        """The commands as one line that a person would type."""
        first, *others = self.commands
        return " && ".join([written(first), *map(written, others)]) if others else written(first)


@record
class Prompt:
    """A prompt for an agent, with everything its runs need: the frozen launch specification.

    `fork` is the session whose history the first run starts with, `fork_at` where the copy ends: after a
    number of stored messages, or before the call that asked for it. `allow` are rules for commands that the
    agent may run without asking, `allow_tools` the names of tools; `watch` is as for commands, and
    `read_only` is about it alone. `host` and `cwd_is_named` are as for commands; the agent is that host's.
    """

    text: str
    agent: str
    cwd: str
    environment: str
    env: Mapping[str, str] = {}
    model: str | None = None
    tools: tuple[str, ...] | None = None
    depth: int = 0
    budget: Mapping[str, int] = {}
    fork: str | None = None
    allow: tuple[str, ...] = ()
    fork_at: str | None = None
    watch: str = ""
    allow_tools: tuple[str, ...] = ()
    read_only: bool = False
    host: str = ""
    cwd_is_named: bool = False

    @property
    def has_grants(self) -> bool:
        """Whether the agent may do something without asking that others are asked about."""
        return bool(self.allow or self.allow_tools)

    @property
    def line(self) -> str:
        """The prompt, where a command would be."""
        return self.text


if TYPE_CHECKING:
    Action = Shell | Prompt

SANDBOX = JsonCodec(Sandbox, has_defaults=True)
# The environment is stored separately, because many tasks share one.
SHELL = JsonCodec(Shell, leave_out=("environment",), sandbox=SANDBOX.shape)
PROMPT = JsonCodec(Prompt, leave_out=("environment",))


# The commands that were written last: between its submission and its end a command is written eight times.
_MOST_WRITTEN = 256
_written: dict[tuple[str, ...], str] = {}


def written(command: Command) -> str:
    """Return a command the way a person would type it."""
    if isinstance(command, str):
        return command
    found = _written.get(command)
    if found is None:
        if len(_written) >= _MOST_WRITTEN:
            _written.clear()
        found = _written[command] = " ".join([quoted(word) for word in command])
    return found


def quoted(word: str) -> str:
    """Quote a word for a shell if it needs it (`shlex.quote` without importing `re`)."""
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
