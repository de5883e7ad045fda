"""Secrets: the configuration names them, a file or a variable holds them, the store never does."""

from __future__ import annotations

import os

from errands.model.errors import BadValue

_STANDARD = "whsec_"


def read_secret(place: str) -> str:
    """Read `file:PATH` or `env:NAME`."""
    kind, _, where = place.partition(":")
    if kind == "env":
        found = os.environ.get(where, "")
        if not found:
            raise BadValue(
                f"the variable {where} of the secret is empty here; set it, or use file:PATH instead"
            )
        return found
    path = os.path.expanduser(where)
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue(f"the secret {path} cannot be read: {error}") from error
    if not found:
        raise BadValue(f"the secret {path} is empty")
    return found


def signing_key(secret: str) -> bytes:
    """Return the key that signs: decoded if it is `whsec_` and base64 (Standard Webhooks), else as it is."""
    import base64
    import binascii

    if secret.startswith(_STANDARD):
        try:
            key = base64.b64decode(secret[len(_STANDARD) :], validate=True)
        except binascii.Error:
            key = b""
        if key:  # anyone could guess an empty one
            return key
    return secret.encode()
