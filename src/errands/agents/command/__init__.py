"""`command`: any agent with a headless command line.

Claude Code and Codex are also backends of their own, `claude` and `codex`: their sessions
are resumed and forked. Claude Code's tool calls need approval; Codex has a sandbox. Any other program gets
the conversation so far and the prompt as text, and what it prints is the answer.
"""

from errands.agents.command.agent import ClaudeCode, CodexCli, Command

__all__ = ["ClaudeCode", "CodexCli", "Command"]
