"""``emu disasm``, ``emu trace``, ``emu run`` and ``emu lockstep``: options, and nothing slow to import."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import rich_click as click

from emu.cli_errors import guarded
from emu.cli_options import FUSED, TIER

if TYPE_CHECKING:
    from emu.cpu.engine import Engine
    from emu.cpu.options import EngineOptions
    from emu.debug.calls import Call
    from emu.image import Image

_FILE = click.Path(path_type=Path)
_ARGS = """ARGS: numbers (12, -1, 0xff), f:1.5 (float), d:1.5 (double), l:1 (64 bits), &symbol;
buffers, passed by pointer: zeros:64, s8:1,2,3 (also u8 s16 u16 s32 u32 f32 s64 u64 f64), @file.npy,
@file (its bytes). name=ARG names a buffer, ARG:+3 misaligns it. ELF: a file, or - for the bundled
reference image."""
_AS_IS: dict[str, Any] = {"ignore_unknown_options": True}
"""So that -1 is an argument of the call and not an option."""
EXIT_TRAP = 4


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that runs code."""
    for option in reversed(
        (
            click.option(
                "--dirty", type=int, help="Seed of random contents of registers; default: all zero."
            ),
            click.option(
                "--budget",
                type=click.IntRange(1),
                default=100_000_000,
                show_default=True,
                help="Instructions.",
            ),
            FUSED,
            click.option(
                "--bounds", is_flag=True, help="Trap on accesses outside of image, stack and buffers."
            ),
            click.option(
                "--unmodelled",
                type=click.Choice(["stop", "log-once"]),
                default="stop",
                show_default=True,
                help="Use of hardware that nobody models.",
            ),
            click.option(
                "--reading",
                "readings",
                multiple=True,
                metavar="FACT=READING",
                help="Another reading of a contested fact (docs/contested.md); may be repeated.",
            ),
        )
    ):
        command = option(command)
    return command


_checked = click.option(
    "--check", is_flag=True, help="Tell what the chip does silently; everything runs on the stepper."
)


@click.command()
@click.argument("elf", type=_FILE)
@click.argument("what", nargs=-1, metavar="[SYMBOL|ADDR[..ADDR]]...")
@click.option("--source", is_flag=True, help="Interleave the source lines.")
@click.option("--root", type=_FILE, help="Folder that source files are relative to; default: this one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@guarded
def disasm(elf: Path, what: tuple[str, ...], source: bool, root: Path | None, as_json: bool) -> int:
    """Disassemble an image: symbols, branch targets, literals and their values, source lines.

    ELF: a file, or - for the bundled reference image. Without SYMBOL or ADDR all executable segments.
    """
    from emu.debug.listing import select
    from emu.debug.listing_text import json_objects, text_lines

    with _input_errors():
        image = _load(elf)
        spans = select(image, what)
        if as_json:
            lines: Iterator[str] = (json.dumps(entry) for entry in json_objects(image, spans))
        else:
            lines = text_lines(image, spans, source, root)
        for line in lines:
            click.echo(line)
    return 0


@click.command(context_settings=_AS_IS, epilog=_ARGS)
@click.argument("elf", type=_FILE)
@click.argument("symbol", metavar="SYMBOL|ADDR")
@click.argument("args", nargs=-1)
@click.option("--from", "first", metavar="SYMBOL|ADDR", help="Show nothing before the arrival there.")
@click.option("--to", "last", metavar="SYMBOL|ADDR", help="Show nothing from the arrival there on.")
@click.option("--skip", type=click.IntRange(0), default=0, help="Instructions not to show at first.")
@click.option("--count", type=click.IntRange(0), help="Instructions to show at most.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("-o", "--out", type=_FILE, help="Write the trace to a file; the outcome goes to the terminal.")
@_checked
@engine_options
@guarded
def trace(elf: Path, symbol: str, args: tuple[str, ...], **options: Any) -> int:
    """Call a function and print each instruction with the values it reads and changes."""
    from emu.debug.arguments import parse_address
    from emu.debug.trace import Selection, Trace

    with _input_errors():
        image = _load(elf)
        engine, call = _prepare(image, symbol, args, options)
        first, last = (parse_address(t, image) if t else None for t in (options["first"], options["last"]))
        run = Trace(engine, call, Selection(first, last, options["skip"], options["count"]))
    with _output(options["out"]) as out:
        return _print_trace(run, options["as_json"], out)


def _print_trace(run: Any, as_json: bool, out: TextIO) -> int:
    from emu.debug import outcome, step_text

    engine = run.engine
    namer = outcome.place_namer(engine, run.started)
    if not as_json:
        click.echo(step_text.header(), file=out)
    for step in run:
        if as_json:
            click.echo(json.dumps(step_text.json_object(step, engine.image, namer)), file=out)
        else:
            click.echo(step_text.text_line(step, engine.image, namer), file=out)
    if as_json:
        found = outcome.json_object(engine, run.started, run.result, run.trap)
        click.echo(json.dumps(found | {"shown": run.shown}), file=out)
    else:
        click.echo(f"{run.shown:,} instructions shown")
        for line in outcome.text_lines(engine, run.started, run.result, run.trap):
            click.echo(line)
    return EXIT_TRAP if run.trap is not None else 0


def _load(elf: Path) -> Image:
    from emu.image import load_image

    if str(elf) == "-":
        from emu.verify.reference import reference_elf

        elf = reference_elf()
    return load_image(elf)


def _options(options: dict[str, Any], tier: str = "stepper", exceptions: str = "built-in") -> EngineOptions:
    from emu.cpu.options import EngineOptions
    from emu.cpu.readings import ReadingError, parse
    from emu.verify.errors import UsageProblem

    try:
        readings = parse(options["readings"])
    except ReadingError as error:
        raise UsageProblem(str(error)) from None
    return EngineOptions(
        tier=cast(Any, tier),
        readings=readings,
        unmodelled=options["unmodelled"],
        fused=options["fused"],
        bounds=options["bounds"],
        check=options.get("check", False),
        exceptions=cast(Any, exceptions),
    )


def _prepare(
    image: Image, symbol: str, args: tuple[str, ...], options: dict[str, Any], tier: str = "stepper"
) -> tuple[Engine, Call]:
    """An engine for the image, and the call that the command line describes."""
    from emu.cpu.engine import Engine

    return Engine(image, _options(options, tier)), _call(image, symbol, args, options)


def _call(image: Image, symbol: str, args: tuple[str, ...], options: dict[str, Any]) -> Call:
    from emu.debug.arguments import parse_address, parse_arguments
    from emu.debug.calls import Call

    function = (
        image.symbols.function(symbol).address if symbol in image.symbols else parse_address(symbol, image)
    )
    return Call(function, parse_arguments(args, image), options["dirty"], options["budget"])


@contextmanager
def _input_errors() -> Iterator[None]:
    """What is wrong with the user's input, told as such."""
    from emu.cpu.calls import ArgumentError
    from emu.cpu.traps import Trap, TrapKind
    from emu.debug.errors import DebugInputError
    from emu.verify.errors import UsageProblem

    try:
        yield
    except (DebugInputError, ArgumentError) as error:
        raise UsageProblem(str(error)) from None
    except Trap as trap:
        if trap.kind is not TrapKind.RETURN_MISMATCH:
            raise
        raise UsageProblem(str(trap)) from None


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with path.open("w", encoding="utf-8") as file:
        yield file


@click.command(context_settings=_AS_IS, epilog=_ARGS)
@click.argument("elf", type=_FILE)
@click.argument("args", nargs=-1)
@click.option(
    "--gdb", "port", type=click.IntRange(0, 65535), help="Wait for GDB on this port (0: a free one)."
)
@click.option(
    "--call", "symbol", metavar="SYMBOL|ADDR", help="Call a function with ARGS instead of starting up."
)
@TIER
@click.option("--once", is_flag=True, help="End when the first debugger leaves.")
@_checked
@engine_options
@guarded
def run(
    elf: Path, args: tuple[str, ...], port: int | None, symbol: str | None, once: bool, **options: Any
) -> int:
    """Run an image from its entry point, or one of its functions, by itself or under a debugger.

    The GDB server listens on the loopback interface only: use 'target remote 127.0.0.1:PORT' in a GDB for the
    ESP32-S3, and 'monitor' for what the emulator knows.
    """
    from emu.verify.errors import UsageProblem

    if args and symbol is None:
        raise UsageProblem("ARGS are those of a function: name it with --call")
    with _input_errors():
        engine, started = _start(elf, symbol, args, options)
    if port is None:
        return _run_alone(engine, started, options["budget"])
    return _serve(engine, started, port, once)


def _start(elf: Path, symbol: str | None, args: tuple[str, ...], options: dict[str, Any]) -> Any:
    """An engine at the entry point of its image (exceptions go to the image's handlers) or of a call."""
    from emu.cpu.engine import Engine
    from emu.debug.calls import start

    image = _load(elf)
    if symbol is not None:
        engine, call = _prepare(image, symbol, args, options, options["tier"])
        return engine, start(engine, call)
    engine = Engine(image, _options(options, options["tier"], "vectors"))
    engine.state.PC = image.entry
    return engine, None


def _run_alone(engine: Engine, started: Any, budget: int) -> int:
    from emu.cpu.traps import Trap
    from emu.debug import outcome

    result = trap = None
    engine.allow(budget)
    try:
        engine.run()
        result = engine.finish(started.entered) if started is not None else None
    except Trap as caught:
        trap = caught
    if started is None:
        click.echo(str(trap) if trap is not None else "the program returned")
        for line in outcome.notice_lines(engine.diagnostics, engine):
            click.echo(line)
    else:
        for line in outcome.text_lines(engine, started, result, trap):
            click.echo(line)
    return EXIT_TRAP if trap is not None else 0


def _serve(engine: Engine, started: Any, port: int, once: bool) -> int:
    from emu.debug.gdb.inferior import Inferior
    from emu.debug.gdb.server import Server
    from emu.verify.errors import UsageProblem

    try:
        server = Server(Inferior(engine, started), port, click.echo)
    except OSError as error:
        raise UsageProblem(f"port {port}: {error.strerror}; choose another, or 0 for a free one") from None
    with server:
        click.echo(
            f"GDB server on 127.0.0.1:{server.port} (this machine only), at {engine.locate(engine.state.PC)}"
        )
        click.echo(f"  target remote 127.0.0.1:{server.port}")
        sys.stdout.flush()
        server.serve(once)
    return 0


@click.command(context_settings=_AS_IS, epilog=_ARGS)
@click.argument("elf", type=_FILE)
@click.argument("symbol", metavar="SYMBOL|ADDR")
@click.argument("args", nargs=-1)
@click.option("--with", "other", type=_FILE, help="Image of engine b; default: the same.")
@click.option("--symbol-b", metavar="SYMBOL|ADDR", help="The function in engine b's image; default: SYMBOL.")
@click.option(
    "--tiers",
    metavar="A,B",
    help="stepper or translator for each; default: translator,stepper for one image, steppers for two.",
)
@click.option("--fused-b", type=click.Choice(["fused", "two-roundings"]), help="--fused for engine b.")
@click.option(
    "--returns",
    type=click.IntRange(0, 4),
    default=1,
    show_default=True,
    help="Words of the result to compare between two images; 0 for a void function.",
)
@click.option("--json", "as_json", is_flag=True, help="The difference as a JSON object.")
@engine_options
@guarded
def lockstep(elf: Path, symbol: str, args: tuple[str, ...], **options: Any) -> int:
    """Run two engines side by side on one call and stop at the first instruction whose effect differs.

    One image: the whole processor and every store are compared, instruction by instruction. Two images:
    likewise as long as they execute the same instructions, then the bytes that they leave in the buffers and
    in named data, and the result. Exit code: 0 no difference, 1 a difference.
    """
    from rich.console import Console

    from emu.debug.difference import json_object
    from emu.debug.lockstep import first_difference
    from emu.terminal import progress

    with _input_errors():
        engines, calls = _two(elf, symbol, args, options)
        with progress(Console(stderr=True)) as step:
            step(f"{symbol} on both engines", 0)
            found = first_difference(*engines, *calls)
    if found is None:
        click.echo("null" if options["as_json"] else "no difference")
        return 0
    click.echo(json.dumps(json_object(found)) if options["as_json"] else str(found))
    return 1


def _two(
    elf: Path, symbol: str, args: tuple[str, ...], options: dict[str, Any]
) -> tuple[tuple[Engine, Engine], tuple[Call, Call]]:
    """Two engines and the call that each of them makes."""
    from dataclasses import replace

    other = options["other"] or elf
    tiers = _tiers(options["tiers"], options["other"] is not None)
    a = _prepare(_load(elf), symbol, args, options, tiers[0])
    changed = options | {"fused": options["fused_b"] or options["fused"]}
    b = _prepare(_load(other), options["symbol_b"] or symbol, args, changed, tiers[1])
    calls = tuple(replace(call, returns=options["returns"]) for _, call in (a, b))
    return (a[0], b[0]), (calls[0], calls[1])


def _tiers(text: str | None, is_two: bool) -> list[str]:
    from emu.verify.errors import UsageProblem

    if text is None:
        return ["stepper" if is_two else "translator", "stepper"]
    tiers = text.split(",")
    if len(tiers) != 2 or not set(tiers) <= {"stepper", "translator"}:
        raise UsageProblem(f"--tiers {text}: two of stepper, translator, with a comma between them")
    return tiers
