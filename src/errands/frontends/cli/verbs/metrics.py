"""metrics: numbers about all tasks, for monitoring."""

from __future__ import annotations

import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option


def metrics(context: Context, arguments: Arguments) -> int:
    from errands.engine.live.metrics import families, text

    if arguments.address is not None and not arguments.listen:
        raise Usage("an address needs --listen; add it, or leave out the address")
    if arguments.listen:
        if arguments.json:
            raise Usage("--json prints the numbers once; leave out --listen")
        return _serve(context, arguments.address or "")
    found = families(context.engine)
    if not arguments.json:
        context.print_as_is(text(found).rstrip("\n"))
        return 0
    for family in found:
        for sample in family.samples:
            name = family.name + sample.suffix
            context.print_json({"name": name, "labels": dict(sample.labels), "value": sample.value})
    return 0


def _serve(context: Context, where: str) -> int:
    """Serve until this process is stopped."""
    import asyncio
    import gc

    from errands.engine.live.metrics import families
    from errands.engine.live.metrics_server import DEFAULT, PATH, MetricsServer
    from errands.ports.server_socket import address, listening, secret

    gc.enable()  # a long-lived process needs it; the command line turns it off
    host, port = address(where, DEFAULT)
    token = context.environ.get("ERRANDS_METRICS_TOKEN")
    if not token:
        directory = context.engine.home.metrics
        token = secret(directory, "token")
        context.note(f"errands metrics: scrapers need the token in {directory}/token")
    listener = listening(host, port)
    port = listener.getsockname()[1]
    server = MetricsServer(lambda: families(context.engine), host=host, port=port, token=token)
    context.print_as_is(f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")
    sys.stdout.flush()
    asyncio.run(server.serve(listener))
    return 0


VERBS = (
    Verb(
        name="metrics",
        summary="print or serve metrics of all tasks, in the OpenMetrics format",
        run=metrics,
        fields=("name", "labels", "value"),
        details="Counters never fall, whatever is cleared. With --listen, a server on this machine prints "
        "its address and answers GET /metrics, for scrapers that send the bearer token in metrics/token of "
        "the home, or ERRANDS_METRICS_TOKEN. See docs/how-to/monitor.md.",
        options=(
            option("--listen", "serve them over HTTP"),
            JSON_FIELDS,
        ),
        operands=(operand("[ADDRESS]", "HOST:PORT for --listen (default 127.0.0.1:7879)"),),
        examples=(
            ("errands metrics", "print them once"),
            ("errands metrics --listen 127.0.0.1:0", "on any free port"),
        ),
    ),
)
