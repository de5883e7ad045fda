"""The Discord bot: takes answers to proposals, and commands, from allowed users only."""
