"""Secrets: the configuration says where they are (a file, a variable, a keyring); they are never stored."""

from __future__ import annotations

import os

from errands.model.errors import BadValue, installing

# How a secret is written, wherever the configuration has one.
PLACES = "file:PATH, env:NAME or keyring:SERVICE/NAME"

_STANDARD = "whsec_"


def is_secret(text: object) -> bool:
    """Return whether a value says where a secret is, instead of being one."""
    return isinstance(text, str) and text.startswith(("file:", "env:", "keyring:"))


def read_secret(place: str) -> str:
    """Read the secret at one of `PLACES`."""
    kind, _, where = place.partition(":")
    if kind == "env":
        found = os.environ.get(where, "")
        if not found:
            raise BadValue(
                f"the variable {where} of the secret is empty here; set it, or use file:PATH instead"
            )
        return found
    if kind == "keyring":
        return _from_keyring(where)
    path = os.path.expanduser(where)
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue(f"the secret {path} cannot be read: {error}") from error
    if not found:
        raise BadValue(f"the secret {path} is empty")
    return found


def _from_keyring(where: str) -> str:
    service, _, name = where.rpartition("/")
    if not service or not name:
        raise BadValue(f"keyring:{where} does not say which secret; write keyring:SERVICE/NAME")
    try:
        import keyring
        import keyring.errors
    except ImportError:
        raise BadValue(
            f"keyring:{where} needs the package keyring: {installing('keyring')}, or use file:PATH instead"
        ) from None
    try:
        found = keyring.get_password(service, name)
    except keyring.errors.KeyringError as error:
        raise BadValue(f"the keyring cannot be read: {error}; unlock it, or use file:PATH instead") from error
    if not found:
        raise BadValue(f"the keyring has no {where}; add it with: keyring set {service} {name}")
    return found


def with_secret(text: str) -> str:
    """Read the secret that a text ends with, such as `Bearer env:TOKEN`; leave any other text as it is."""
    before, space, last = text.rpartition(" ")
    return before + space + read_secret(last) if is_secret(last) else text


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
