"""`command`: any agent with a headless command line.

Claude Code is ready-made: its sessions are resumed and forked, its tool calls are asked about at the desk.
Every other program is given the conversation so far and the prompt as text, and what it prints is the answer.
"""

from errands.agents.command.agent import Command

__all__ = ["Command"]
