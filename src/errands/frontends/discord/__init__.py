"""The bot on Discord: hears who answers a proposal, and takes commands, from allowed users alone."""

from __future__ import annotations
