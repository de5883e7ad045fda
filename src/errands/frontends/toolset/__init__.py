"""Background tasks for any pydantic-ai agent: a toolset, or a capability that also reports their ends."""

from errands.model.errors import BadValue, installing

try:
    import pydantic_ai  # noqa: F401  # a clear error if it is missing
except ImportError as error:
    raise BadValue(f"this needs pydantic-ai: {installing('agents')}") from error

from errands.frontends.toolset.capability import BackgroundTasks
from errands.frontends.toolset.toolset import BackgroundToolset

__all__ = ["BackgroundTasks", "BackgroundToolset"]
