"""What Discord's objects look like on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOT, GUILD = 1000, 2000
PLACES = (777, 555)  # the channels of the server; every other one is a direct message
CONTENT = 1 << 15  # the intent that Discord grants only on request
_STAMP = "2026-01-01T00:00:00.000000+00:00"
MEMBER = {"roles": [], "joined_at": _STAMP, "deaf": False, "mute": False, "flags": 0}


def written(number: int, place: int, text: str) -> dict[str, Any]:
    return {
        "id": str(number), "channel_id": str(place), "author": user_of(BOT), "content": text,
        "timestamp": _STAMP, "edited_timestamp": None, "tts": False, "mention_everyone": False,
        "mentions": [], "mention_roles": [], "attachments": [], "embeds": [], "pinned": False, "type": 0,
        "components": [], "flags": 0,
    }  # fmt: skip


def button_of(button: Mapping[str, Any]) -> dict[str, Any]:
    return {"custom_id": button["custom_id"], "component_type": 2}


def user_of(number: int) -> dict[str, Any]:
    names = {"username": "errands-bot" if number == BOT else f"user{number}", "global_name": None}
    return {"id": str(number), **names, "discriminator": "0", "avatar": None, "bot": number == BOT}


def guild(newest: Mapping[int, int]) -> dict[str, Any]:
    """Return the server; `newest` has the last message of each channel that has one."""
    channels = [
        {"id": str(each), "type": 0, "name": f"c{each}", "position": 0, "last_message_id": newest.get(each)}
        for each in PLACES
    ]
    return {
        "id": str(GUILD), "name": "server", "owner_id": "1", "channels": channels, "members": [],
        "roles": [{"id": str(GUILD), "name": "@everyone", "permissions": "0", "position": 0, "color": 0,
                   "hoist": False, "managed": False, "mentionable": False, "flags": 0}],
        "emojis": [], "stickers": [], "features": [], "voice_states": [], "presences": [], "threads": [],
        "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [], "member_count": 2,
        "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
        "mfa_level": 0, "nsfw_level": 0, "premium_tier": 0, "preferred_locale": "en-US",
        "system_channel_flags": 0, "afk_timeout": 0, "unavailable": False,
    }  # fmt: skip


def public(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as the bot sees it, with reactions as counts."""
    seen = {key: value for key, value in message.items() if key not in ("who", "allowed_mentions")}
    seen["reactions"] = [
        {
            "emoji": {"id": None, "name": sign},
            "count": len(users),
            "me": BOT in users,
            "me_burst": False,
            "count_details": {"burst": 0, "normal": len(users)},
            "burst_colors": [],
        }
        for sign, users in message["who"].items()
    ]
    return seen
