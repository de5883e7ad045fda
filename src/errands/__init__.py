"""Errands does the slow work of AI agents in the background, and loses none of it."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.bootstrap import connect as connect

__all__ = ["__version__", "connect"]


def __getattr__(name: str) -> object:
    # Imported on demand: the command line needs neither asyncio nor the loops to answer.
    if name == "connect":
        from errands.bootstrap import connect

        return connect
    raise AttributeError(f"module 'errands' has no attribute {name!r}")
