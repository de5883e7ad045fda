"""The link that signs a browser in: printed, as a QR code, and opened through a file for this user alone.

The code is in the fragment of the address, which no server, proxy or log ever sees.
"""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from errands.frontends.web.sign_in import CODE_LIVES, Signing
from errands.http import is_here

_MINUTES = int(CODE_LIVES // 60)
_FOR_PHONES = "for a QR code that a phone can use, set web.origin (docs/how-to/web.md)"


def print_link(signing: Signing, url: str, code: str, *, is_opened: bool) -> None:
    """Print the link of a code, then the plain address; open the link in a browser if that is wanted."""
    link = f"{url}/#code={code}"
    # On a line of its own it fits a terminal, and can be selected with one click.
    gap = "\n" if sys.stdout.isatty() else " "
    sys.stdout.write(f"sign in (once, within {_MINUTES} minutes):{gap}{link}\n")
    sys.stdout.write(f"from then on: {url}\n")
    if sys.stdout.isatty():
        # Behind an address that only this machine can reach, a camera would lead a phone nowhere.
        is_local = is_here(urlsplit(url).hostname or "")
        sys.stdout.write(f"{_FOR_PHONES}\n" if is_local else qr(link))
    sys.stdout.flush()
    if is_opened:
        _open(signing.page_for(code, link))


def qr(link: str) -> str:
    """Return a QR code in characters, dark on light, for the camera of a phone."""
    import io

    import segno

    written = io.StringIO()
    segno.make(link, error="l", micro=False).terminal(written, compact=True, border=2)
    return written.getvalue()


def _open(path: str) -> None:
    """Open a file in the browser, if there is one; only its path is an argument of the browser."""
    import webbrowser

    try:
        webbrowser.open(f"file://{path}")
    except (webbrowser.Error, OSError):
        pass  # the link is printed
