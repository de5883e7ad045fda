"""Everything Apprise reaches, from Slack and Telegram to e-mail, as one channel.

Its targets are names in the configuration, each with an Apprise URL.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import apprise

from errands.channels import read_secret
from errands.channels.blocking import TIMEOUT, BlockingChannel
from errands.config.secret import is_secret
from errands.model.errors import ChannelError, Refused, Unacknowledged
from errands.model.notices.delivery import NO_CONSENT, Delivery, text, title

# Apprise only returns False; why a connection failed is in its log, at the level for debugging.
_BROKEN = "DEBUG Socket Exception"
_WARNING = "WARNING "
# Errors of connections that failed before anything was sent; after any other the message may have arrived.
_UNSENT = (
    "connect timeout", "failed to establish", "failed to resolve", "refused", "unreachable", "no route",
    "name or service", "getaddrinfo", "certificate", "proxy",
)  # fmt: skip


class AppriseChannel(BlockingChannel):
    budget = 4000
    is_deduplicating = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._name = str(settings["name"])
        self._targets: Mapping[str, str] = settings["targets"]
        super().__init__()

    def _deliver(self, delivery: Delivery) -> None:
        target = delivery.address.target
        if target not in self._targets:
            raise Refused(f"[channels.{self._name}.targets] no longer has {target!r}")
        service = apprise.Apprise()
        url = self._targets[target]
        if not service.add(read_secret(url) if is_secret(url) else url):
            raise Refused(
                f"the URL of target {delivery.address.target!r} is not one that Apprise understands"
            )
        for plugin in service:
            plugin.socket_read_timeout = max(plugin.socket_read_timeout, TIMEOUT)
        with apprise.LogCapture(level=logging.DEBUG, fmt="%(levelname)s %(message)s") as log:  # type: ignore[no-untyped-call]
            is_taken = service.notify(
                title=title(delivery),
                body=f"{text(delivery, self.budget)}\n{NO_CONSENT}",
                body_format=apprise.NotifyFormat.TEXT,
            )
            lines = log.getvalue().splitlines()
        if is_taken:
            return
        broken = " ".join(line for line in lines if line.startswith(_BROKEN)).lower()
        if broken and not any(words in broken for words in _UNSENT):
            raise Unacknowledged("the connection broke after the message was sent")
        said = " ".join(line.removeprefix(_WARNING) for line in lines if line.startswith(_WARNING))
        raise ChannelError(f"the service did not accept it: {said[-300:] or 'it does not say why'}")
