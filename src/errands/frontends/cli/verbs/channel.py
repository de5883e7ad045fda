"""channel: list the channels that carry notices, test one, or run the Discord bot."""

from __future__ import annotations

from errands.config.channels import READY, kind_of
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand
from errands.model.options.draft import Draft
from errands.text import Cell, Column, did_you_mean, table

COLUMNS = (
    Column(title="CHANNEL"),
    Column(title="KIND"),
    Column(title="TARGET"),
    Column(title="", flex=1, least=16, wraps=True),
)


def ls(context: Context, arguments: Arguments) -> int:
    channels = context.config.channels
    rows: list[tuple[str | Cell, ...]] = []
    for name in dict.fromkeys([*channels, *READY]):
        settings = channels.get(name, {})
        targets = settings.get("targets")
        target = ", ".join(targets) if isinstance(targets, dict) else str(settings.get("target", ""))
        trouble = context.bootstrap.channel_trouble(name, context.config)
        kind = kind_of(name, channels)
        if arguments.json:
            context.print_json(
                {"name": name, "kind": kind, "target": target or None, "trouble": trouble or None}
            )
        rows.append((Cell(text=name, colour="bold"), kind, target, Cell(text=trouble or "ready")))
    if not arguments.json:
        context.say(*table(COLUMNS, rows, context.look))
    return 0


def trial(context: Context, arguments: Arguments) -> int:
    from errands.engine.notices.addresses import addresses

    draft = Draft(command="true", channels=(arguments.address,))
    owner = context.environ.get("ERRANDS_SESSION") or "user"
    found = addresses(draft, context.environ, context.config, owner)
    address = next((each for each in found if each.channel != "inbox"), None)
    if address is None:
        raise Usage(f"{arguments.address} is an inbox; read it with errands notices")
    context.bootstrap.send_trial(address, context.config)
    context.say(f"sent a message to {address}")
    return 0


def discord(context: Context, arguments: Arguments) -> int:
    import gc

    channels = context.config.channels
    bots = [name for name in channels if kind_of(name, channels) == "discord"]
    name = arguments.name or (bots[0] if len(bots) == 1 else "discord")
    if name not in bots:
        raise Usage(
            f"unknown Discord channel {name!r}{did_you_mean(name, bots)}; "
            f"add [channels.{name}] to your configuration"
        )
    gc.enable()  # a bot runs for long
    return context.bootstrap.run_discord(context.home, context.config, name)


VERBS = (
    Verb(
        name="channel ls",
        summary="list the channels that tasks can report to, and whether each is ready",
        run=ls,
        options=(JSON_FIELDS,),
    ),
    Verb(
        name="channel test",
        summary="send a test message to a channel",
        run=trial,
        operands=(operand("ADDRESS", "NAME or NAME:TARGET", completes="channels"),),
        examples=(("errands channel test terminal", "a frame in this terminal"),),
    ),
    Verb(
        name="channel discord",
        summary="run the Discord bot in the foreground",
        run=discord,
        operands=(operand("[NAME]", "the channel, if there are several", completes="channels"),),
    ),
)
