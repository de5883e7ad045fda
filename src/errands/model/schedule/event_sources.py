"""The event sources that come with Errands, with their options.

The `--on` help, the checks of a draft, shell completion and the sources themselves read this table.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.states import ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Shape = Literal["duration", "choice", "choices", "pattern", "text"]


@record
class SourceOption:
    """An option of a source: the values it takes, and its default."""

    name: str
    help: str
    shape: Shape = "text"
    choices: tuple[str, ...] = ()
    default: str = ""


@record
class SourceKind:
    """A built-in source; `subject` and `metavar` say what follows the colon."""

    subject: str
    metavar: str
    example: str
    options: tuple[SourceOption, ...] = ()


_EVERY = SourceOption(name="every", shape="duration", help="how often to check", default="30s")

KINDS: dict[str, SourceKind] = {
    "file": SourceKind(
        subject="a pattern of paths",
        metavar="PATTERN",
        example="file:src/**/*.py",
        options=(
            SourceOption(
                name="events",
                shape="choices",
                choices=("created", "modified", "deleted"),
                help="which changes count",
                default="created,modified,deleted",
            ),
            SourceOption(
                name="during",
                shape="choice",
                choices=("own", "heard"),
                help="whether to ignore changes made while the task runs (own), or run again (heard)",
                default="own",
            ),
        ),
    ),
    "command": SourceKind(
        subject="a shell line",
        metavar="LINE",
        example="command:git rev-parse HEAD",
        options=(
            _EVERY,
            SourceOption(
                name="when",
                shape="choice",
                choices=("changed", "output", "exit"),
                help="what must change: the output, the exit code, or either",
                default="changed",
            ),
            SourceOption(name="match", shape="pattern", help="run when the output starts to match this"),
            SourceOption(name="timeout", shape="duration", help="how long one check may take", default="30s"),
        ),
    ),
    "github": SourceKind(
        subject="a repository",
        metavar="OWNER/REPOSITORY",
        example="github:owner/repository",
        options=(
            SourceOption(
                name="events",
                shape="choices",
                choices=("pull", "build"),
                help="new pull requests, failed builds",
                default="pull,build",
            ),
            SourceOption(name="branch", help="only builds of this branch"),
            SourceOption(name="every", shape="duration", help="how often to poll", default="1m"),
            SourceOption(name="hook", help="take deliveries at this configured webhook, do not poll"),
        ),
    ),
    "webhook": SourceKind(subject="a webhook of the configuration", metavar="NAME", example="webhook:deploy"),
    "task": SourceKind(
        subject="a task, or *",
        metavar="ID",
        example="task:build-4k2m7x",
        options=(
            SourceOption(
                name="state",
                shape="choices",
                choices=ENDED,
                help="which results count",
                default=",".join(ENDED),
            ),
            SourceOption(name="batch", help="only tasks of this batch"),
        ),
    ),
}
