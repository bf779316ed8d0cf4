"""A board over all its sessions: found again after it was unplugged, started again after it was reset.

What a caller does is a function of a connected client; when the board starts anew meanwhile, the function is
done again from its beginning. A start that the code under test caused is no trouble of the line and is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from emu.image import Image
from emu.link.client import Client
from emu.link.errors import BoardFault, BoardReset, LineLost, LinkFault, PowerFault
from emu.link.find import Finder
from emu.link.panic import Panic, decode_panic
from emu.link.ports import Line
from emu.link.session import Session, Timing
from emu.link.tally import Tally
from emu.link.wire import Hello, Reason

T = TypeVar("T")
STARTS_ALLOWED = 6
"""So often may the board start anew while one and the same thing is done."""
BROWNOUTS_ALLOWED = 3
_CAUSED = {Reason.EXCEPTION: "exception", Reason.ENDLESS: "endless", Reason.DAMAGED: "damaged"}


def _mac(identity: int) -> str:
    return identity.to_bytes(8, "little")[:6][::-1].hex(":")


class Board:
    """The board at a pyserial URL. ``image``: its ELF file, for the places of faults."""

    def __init__(
        self, url: str, image: Image | None = None, timing: Timing | None = None, baud: int | None = None
    ) -> None:
        self.tally = Tally()
        self.image, self.url = image, url
        self._finder = Finder(url)
        self._session = Session(self._open, timing, self.tally)
        self._client: Client | None = None
        self._wanted_baud = baud
        self._brownouts = 0
        self._hello: Hello | None = None

    def _open(self, baud: int) -> Line:
        line: Line | None = None
        for url in self._finder.candidates():
            try:
                line = Line(url, baud)
                break
            except LineLost as error:
                reason = error
        if line is None:
            raise reason
        self._finder.opened(line.url)
        return line

    @property
    def identity(self) -> str:
        """MAC address of the board, once it has answered."""
        return "" if self._hello is None else _mac(self._hello.identity)

    @property
    def build(self) -> str:
        """What the agent has last said of its firmware: a board that keeps starting anew is asked no more."""
        return "" if self._hello is None else f"build {self._hello.build:#010x}"

    @property
    def session(self) -> Session:
        """For measurements."""
        return self._session

    def client(self) -> Client:
        """The connected client; connects when there is none. Raises LinkFault."""
        if self._client is None:
            first = self._session.start is None
            self._client = Client(self._session, test_line=first)
            self._know(self._client.hello)
            if self._wanted_baud and self._session.baud != self._wanted_baud:
                self._session.change_baud(self._wanted_baud)
        return self._client

    def _know(self, hello: Hello) -> None:
        """Another board behind the same name is no continuation of this one."""
        if self._hello is not None and self._hello.identity != hello.identity:
            raise LinkFault(
                f"another board answers: MAC {_mac(hello.identity)} instead of {_mac(self._hello.identity)}"
            )
        self._hello = hello

    def attempt(self, work: Callable[[Client], T]) -> T:
        """Do ``work``, again from its beginning after each unexpected start of the board.

        Raises BoardFault when the start is the fault of the code that ran, PowerFault, LinkFault, Refused.
        """
        for _ in range(STARTS_ALLOWED):
            try:
                return work(self.client())
            except LinkFault as fault:
                raise self._silent(fault) from None
            except BoardReset as reset:
                self._client = None
                self._judge(reset)
                self.tally.add("redone")
        raise BoardFault(
            "reset", f"the board started anew {STARTS_ALLOWED} times in this place without saying why"
        )

    def _silent(self, fault: LinkFault) -> Exception:
        """A board that has answered and does no more: it hangs if a reset by its lines brings it back."""
        if self._client is None or isinstance(fault, PowerFault):
            return fault
        doing = f" during {self._session.doing}" if self._session.doing else ""
        self._client = None
        try:
            if not self._session.reset_by_lines():
                return LinkFault(f"{fault}; it may hang, and this transport has no line to reset it")
            self.client()
        except (LinkFault, BoardReset):
            return LinkFault(f"{fault}; a reset by RTS did not bring it back (rack fault)")
        return BoardFault("hang", f"the board stopped answering{doing}; a reset by RTS brought it back")

    def _judge(self, reset: BoardReset) -> None:
        """A start with a reason, while a request was executed, is a fault of the code."""
        start = self._session.start
        panic = decode_panic(self.tally.log, self.image)
        self.tally.log.clear()  # what is told now must not be told of the next start
        if (
            start is not None
            and start.reason in _CAUSED
            and (start.sequence or start.reason == Reason.DAMAGED)
        ):
            raise self._fault(start, panic)
        if panic is not None and panic.kind == "power":
            self._brownouts += 1
            if self._brownouts >= BROWNOUTS_ALLOWED:
                raise PowerFault(
                    f"power: the brown-out detector has reset the board {self._brownouts} times; "
                    "use a better supply or cable, or turn the radio off"
                )
        elif panic is not None and panic.kind in ("panic", "watchdog"):
            stage = self._session.stage
            during = f" during {stage}" if stage else ""
            raise BoardFault(panic.kind, f"{panic.text}{during}", panic.where or stage, panic.pc)

    def _fault(self, start: Hello, panic: Panic | None) -> BoardFault:
        kind = _CAUSED[Reason(start.reason)]
        during = f" in {start.where}" if start.where else ""
        if kind == "damaged":
            return BoardFault(kind, f"the agent's own memory was overwritten{during}", start.where)
        place = f"{start.pc:#010x}" if self.image is None else str(self.image.locate(start.pc))
        if kind == "endless":
            text = f"endless call{during}: stopped at {place}"
        else:
            text = f"exception {start.cause}{during} at {place}, address {start.vaddr:#010x}"
        if panic is not None and panic.trace:
            text += "".join(f"\n  called from {line}" for line in panic.trace[1:])
        return BoardFault(kind, text, start.where, start.pc)

    def close(self) -> None:
        """Close the port."""
        self._session.close()
