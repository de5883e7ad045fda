"""`opencode`: a running OpenCode server, which keeps the sessions and does the work."""

from errands.agents.opencode.agent import OpenCode

__all__ = ["OpenCode"]
