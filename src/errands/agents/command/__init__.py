"""`command`: any agent with a headless command line.

Claude Code has a preset: its sessions are resumed and forked, and its tool calls need approval. Any other
program gets the conversation so far and the prompt as text, and what it prints is the answer.
"""

from errands.agents.command.agent import Command

__all__ = ["Command"]
