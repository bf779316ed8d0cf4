"""What boards print when they stop, and the verdicts: panic, watchdog, power, download mode."""

from __future__ import annotations

import pytest

from emu.image import load_image
from emu.link.board import Board
from emu.link.errors import BoardFault, PowerFault
from emu.link.panic import decode_panic
from emu.link.requests import Place, Word
from emu.link.session import Timing
from emu.verify.reference import agent_elf

QUICK = Timing(first=0.03, longest=0.3, silent=20.0, patience=120.0, hello=0.2, reopen=0.02)
PANIC = """Guru Meditation Error: Core  1 panic'ed (LoadProhibited). Exception was unhandled.
Core  1 register dump:
PC      : 0x{pc:08x}  PS      : 0x00060b30  A0      : 0x{a0:08x}  A1      : 0x3fcebf50
Backtrace: 0x{pc:08x}:0x3fcebf50 0x{caller:08x}:0x3fcebf70 |<-CORRUPTED
Rebooting...""".splitlines()
WATCHDOG = """E (10303) task_wdt: Task watchdog got triggered. These tasks did not reset the watchdog in time:
E (10303) task_wdt:  - IDLE0 (CPU 0)
E (10303) task_wdt: Print CPU 0 (current core) backtrace
Backtrace: 0x{pc:08x}:0x3fc93f90 0x{pc:08x}:0x3fc93fb0""".splitlines()
BROWNOUT = ["Brownout detector was triggered", "ESP-ROM:esp32s3-20210327", "rst:0x15 (USB_UART_CHIP_RESET)"]
DOWNLOAD = ["ESP-ROM:esp32s3-20210327", "boot:0x0 (DOWNLOAD(USB/UART0))", "waiting for download"]


def filled(lines: list[str], symbol: str = "rne_array") -> list[str]:
    image = load_image(agent_elf())
    pc = image.symbols.function(symbol).address + 3
    caller = image.symbols.function("agent_call").address + 30
    return [line.format(pc=pc, a0=pc, caller=caller) for line in lines]


def test_a_backtrace_becomes_symbols_and_lines() -> None:
    panic = decode_panic(filled(PANIC), load_image(agent_elf()))
    assert panic is not None
    assert (panic.kind, panic.where) == ("panic", "rne_array")
    assert "LoadProhibited" in panic.text
    assert "rne_array+0x3 (firmware/numerics/rne.c:" in panic.trace[0]
    assert "agent_call+0x1b (firmware/agent/" in panic.trace[1], "the call, not what follows it"


def test_without_the_image_addresses_stay() -> None:
    panic = decode_panic(filled(PANIC))
    assert panic is not None
    assert panic.trace[0] == f"{panic.pc:#010x}"


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (DOWNLOAD, "download"),
        (BROWNOUT, "power"),
        (WATCHDOG, None),
        ([*WATCHDOG, "Rebooting..."], "watchdog"),
        (["rst:0x8 (TG1WDT_SYS_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)"], "watchdog"),
        (["abort() was called at PC 0x40378123 on core 0"], "panic"),
        (["I (300) main: hello"], None),
    ],
)
def test_texts_are_told_apart(lines: list[str], kind: str | None) -> None:
    panic = decode_panic(filled(lines))
    assert (panic.kind if panic else None) == kind


def say(server, lines: list[str], restart: bool) -> None:
    """The next bytes that the board sends come after this text, and after a start when ``restart``."""
    taken = server.agent.put
    told: list[bool] = []

    def put(data: bytes) -> bytes:
        if told:
            return taken(data)
        told.append(True)
        text = "\r\n".join(filled(lines)).encode() + b"\r\n"
        if not restart:
            return text + taken(data)
        server.agent.start()
        return text + server.agent.take()

    server.agent.put = put


def work(client) -> None:
    client.buffer(0, 0, 0, 4096)
    client.call(client.kernels["relu_in_place"], [Place(0, 0), Word(4)])


@pytest.fixture
def board(serve):
    server = serve()
    made = Board(server.url, load_image(agent_elf()), QUICK)
    made.attempt(work)
    made.server = server
    yield made
    made.close()


def test_b073_a_watchdogs_warning_is_recorded_and_the_run_goes_on(board) -> None:
    say(board.server, WATCHDOG, restart=False)
    board.attempt(work)
    assert any("task_wdt" in line for line in board.tally.log)
    assert board.tally.counts["resets"] == 0


def test_b073_a_watchdogs_reset_is_a_board_fault_that_names_the_stage(board) -> None:
    board.session.stage = "s3.c.b2.attn"
    say(board.server, [*WATCHDOG, "Rebooting..."], restart=True)
    with pytest.raises(BoardFault, match=r"watchdog .* during s3\.c\.b2\.attn") as caught:
        board.attempt(work)
    assert caught.value.kind == "watchdog"
    board.attempt(work)


def test_a_panic_is_a_board_fault_with_its_place(board) -> None:
    say(board.server, PANIC, restart=True)
    with pytest.raises(BoardFault, match=r"LoadProhibited.*rne_array") as caught:
        board.attempt(work)
    assert caught.value.kind == "panic"


def test_a_panic_is_told_once(board) -> None:
    """A start without a reason that comes later is no panic again."""
    say(board.server, PANIC, restart=True)
    with pytest.raises(BoardFault):
        board.attempt(work)
    starts: list[bool] = [True]

    def with_one_start(client) -> None:
        if starts:
            say(board.server, [], restart=starts.pop())
        work(client)

    board.attempt(with_one_start)
    assert board.tally.counts["redone"] == 1


def test_b074_repeated_brownouts_are_a_power_fault_and_no_verdict(board) -> None:
    """The first two are done again; the third gives the board up, without a word about its code."""

    def unlucky(client) -> None:
        say(board.server, BROWNOUT, restart=True)
        work(client)

    with pytest.raises(PowerFault, match="brown-out detector has reset the board 3 times"):
        board.attempt(unlucky)
    assert board.tally.counts["redone"] == 2
    assert board.build, "the history compares runs of the same build"


def test_b074_other_boards_go_on(serve) -> None:
    sick, well = serve(), serve()
    first, second = (Board(server.url, timing=QUICK) for server in (sick, well))

    def unlucky(client) -> None:
        say(sick, BROWNOUT, restart=True)
        work(client)

    with pytest.raises(PowerFault):
        first.attempt(unlucky)
    second.attempt(work)
    first.close()
    second.close()


def test_b070_a_board_in_download_mode_says_so(serve) -> None:
    server = serve()
    server.agent.put = lambda data: b"ESP-ROM:esp32s3-20210327\r\nboot:0x0 (DOWNLOAD(USB/UART0))\r\n\0"
    board = Board(server.url, timing=Timing(patience=0.6, hello=0.1))
    with pytest.raises(Exception, match="DOWNLOAD"):
        board.client()
    board.close()
