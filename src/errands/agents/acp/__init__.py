"""Any agent that speaks the Agent Client Protocol, as a child process of the run."""

from errands.agents.acp.backend import Acp

__all__ = ["Acp"]
