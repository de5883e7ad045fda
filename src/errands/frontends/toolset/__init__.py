"""Background tasks for any pydantic-ai agent: as a toolset, or as a capability that also tells their ends."""

from errands.model.errors import BadValue

try:
    import pydantic_ai  # noqa: F401  # to say it in one sentence if it is missing
except ImportError as error:
    raise BadValue("this needs pydantic-ai: pip install 'errands[agents]'") from error

from errands.frontends.toolset.capability import BackgroundTasks
from errands.frontends.toolset.toolset import BackgroundToolset

__all__ = ["BackgroundTasks", "BackgroundToolset"]
