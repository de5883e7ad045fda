"""BLAKE2 without `hashlib`, which would load OpenSSL: 3 ms for every command, and 2 MB for the daemon."""

from __future__ import annotations

try:
    from _blake2 import blake2b as blake2b
except ImportError:  # pragma: no cover
    from hashlib import blake2b as blake2b
