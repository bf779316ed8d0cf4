"""A hostile client cannot make a kernel reach outside its buffers: what the formulas let pass is really called,
and no access lies beside the bytes that they name.
"""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from host_agent import HERE, host_library, includes, sources

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.traps import Trap, TrapKind
from emu.image import load_image
from emu.kernels.spec import REGISTRY, Dim, Kernel, Scalar, Tensor
from emu.link.extents import LIMIT, NotExpressible, evaluate, formulas
from emu.verify.reference import agent_elf
from emu.verify.selection import known_kernels

FLAGS = ["-std=c11", "-O1", "-g", "-fno-builtin", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ASSEMBLY = (
    *("dot_rows_s8", "gemm_s8", "dot_rows_ternary", "dot_groups_int4", "linear_q8", "accumulate_q8"),
    *("attention_q8", "softmax_s8", "conv3x3_s8", "linear_ternary", "linear_int4_q8", "attention_kv8"),
)
"""Kernels with code that exists for the chip alone."""
SIZES = (0, 1, 1, 2, 3, 4, 7, 15, 16, 16, 16, 17, 32, 32, 33, 48, 64)
ODD = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x40000000, 0x10000, 0xFFFF0001, 133144, 133145, 0x20000000, 46341)
NOWHERE = 0xA0000000
DOMAIN, NO_VALUE = 1, 2


def kernels() -> dict[str, Kernel]:
    """Those of the firmware's table, in its order."""
    known_kernels(None)
    table = Path(__file__).parents[2] / "firmware" / "kernels" / "table.c"
    return {name: REGISTRY[name] for name in re.findall(r"KERNEL\((\w+)\),", table.read_text())}


# --- on this machine, under AddressSanitizer --------------------------------------------------------------
@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = Path(tmp_path_factory.mktemp("calls")) / "fuzz"
    files = [*sources(), str(HERE / "fuzz_calls.c")]
    subprocess.run([host_library.host_compiler(), *FLAGS, *includes(), *files, "-o", str(out)], check=True)
    return out


def run(fuzzer: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(fuzzer), *map(str, arguments)]
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def fuzz(fuzzer: Path, seed: int, count: int) -> dict[str, tuple[int, ...]]:
    """(called, refused, good) of each kernel."""
    done = run(fuzzer, seed, count)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-3000:]
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    return {name: tuple(int(n) for n in re.findall(r"\d+", rest)) for name, rest in lines}


def test_calls_that_pass_touch_their_bytes_only(fuzzer: Path) -> None:
    found = fuzz(fuzzer, 1, 600)
    assert list(found) == list(kernels())
    assert all(called >= 60 for called, _, _ in found.values()), found
    assert sum(good > 0 for _, _, good in found.values()) >= 75, found
    print(sum(called for called, _, _ in found.values()), "calls made")


@pytest.mark.parametrize("name", ["add_array", "crc32_bytes", "gemm_s8_c", "layernorm", "attention_s8"])
def test_one_byte_less_is_noticed(fuzzer: Path, name: str) -> None:
    """Otherwise this fuzzer proves nothing."""
    done = run(fuzzer, 1, 5000, name, 1)
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 18))
def test_many_calls(fuzzer: Path, seed: int) -> None:
    found = fuzz(fuzzer, seed, 20_000)
    print(sum(called for called, _, _ in found.values()), "calls made")
    assert all(good for _, _, good in found.values()), found


# --- the agent's evaluation is ours -----------------------------------------------------------------------
class Argument(ctypes.Structure):
    """struct call_argument."""

    _fields_ = (
        ("word", ctypes.c_size_t),
        ("room", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("pointer", ctypes.c_int),
        ("written", ctypes.c_int),
    )


def drawn(rng: random.Random, kernel: Kernel) -> list[int]:
    """A word for each argument; of pointers 0."""
    good = rng.random() < 0.7
    return [
        0
        if isinstance(p, Tensor)
        else 0x3F000000 + rng.randrange(1 << 23)
        if p.dtype == "float32"
        else rng.choice(SIZES)
        if good or rng.random() < 0.8
        else rng.choice(ODD)
        for p in kernel.params
    ]


def test_the_agent_works_out_the_same_values(agent_library: Path) -> None:
    check = ctypes.CDLL(str(agent_library)).extents_check
    rng, kinds = random.Random(3), set()
    for kernel in kernels().values():
        text = formulas(kernel)
        for _ in range(100):
            words = drawn(rng, kernel)
            values = evaluate(text, words)
            problem, arguments = _checked(check, kernel, text, words)
            kinds.add(problem)
            numbers = [v for v, p in zip(values, kernel.params, strict=True) if isinstance(p, Scalar)]
            sizes = [v for v, p in zip(values, kernel.params, strict=True) if isinstance(p, Tensor)]
            if any(v is None or v <= 0 for v in numbers):
                assert problem == DOMAIN, (kernel.symbol, words)
            elif None in sizes:
                assert problem == NO_VALUE, (kernel.symbol, words)
            else:
                assert problem == 0, (kernel.symbol, words)
                assert [a.bytes for a in arguments if a.pointer] == [max(0, v or 0) for v in sizes]
    assert kinds == {0, DOMAIN, NO_VALUE}


def _checked(check: object, kernel: Kernel, text: str, words: list[int]) -> tuple[int, list[Argument]]:
    made = [
        Argument((i + 1) << 40 if isinstance(p, Tensor) else w, LIMIT, 0, isinstance(p, Tensor), 1)
        for i, (p, w) in enumerate(zip(kernel.params, words, strict=True))
    ]
    array, which = (Argument * len(made))(*made), ctypes.c_uint32()
    problem = check(text.encode(), array, len(made), ctypes.byref(which))  # type: ignore[operator]
    return problem, list(array)


def test_a_shape_that_is_no_formula_is_told() -> None:
    x = Tensor("x", "int8", (lambda d: len(bin(d["n"])),))
    kernel = Kernel("odd", (x, Scalar("n", "int32", "n")), lambda x, n: None, dims=(Dim("n", 0, 9),))
    with pytest.raises(NotExpressible, match="odd: the size of x"):
        formulas(kernel)
    unknown = Kernel("odd", (Tensor("x", "int8", ("m",)),), lambda x: None, dims=(Dim("m", 0, 9),))
    with pytest.raises(NotExpressible, match="odd: the size of x"):
        formulas(unknown)


# --- the chip's own code, on the engine -------------------------------------------------------------------
class Calls:
    """Calls of the agent's image under the permission map, on blocks of the formulas' bytes."""

    def __init__(self) -> None:
        self.engine = Engine(load_image(agent_elf()), EngineOptions(bounds=True))
        self._fresh = self.engine.arena.start + 4096

    def made(self, kernel: Kernel, words: list[int], sizes: list[int]) -> bool:
        """Whether the call was made: the arena has room. Raises Trap."""
        places = []
        for size in sizes:
            places.append(self._fresh)
            self._fresh = -(-(self._fresh + size + 64) // 64) * 64
        if self._fresh > self.engine.arena.end:
            return False
        for place, size in zip(places, sizes, strict=True):
            self.engine.memory.shadow.allow(place, size, READ | WRITE | INIT)
        pointers = iter(places)
        full = [
            next(pointers) if isinstance(p, Tensor) else w for p, w in zip(kernel.params, words, strict=True)
        ]
        self.engine.call(kernel.symbol, full, budget=3_000_000, dirty=7)
        return True


@pytest.fixture(scope="module")
def calls() -> Calls:
    return Calls()


@pytest.mark.parametrize("name", ASSEMBLY)
def test_vector_code_touches_its_bytes_only(calls: Calls, name: str) -> None:
    kernel, rng, made = kernels()[name], random.Random(5), 0
    text = formulas(kernel)
    for _ in range(4000):
        words = drawn(rng, kernel)
        values = evaluate(text, words)
        sizes = [v for v, p in zip(values, kernel.params, strict=True) if isinstance(p, Tensor)]
        if any(v is None for v in values) or any(
            v is not None and v <= 0
            for v, p in zip(values, kernel.params, strict=True)
            if isinstance(p, Scalar)
        ):
            continue
        known = [max(0, v or 0) for v in sizes]
        if max(known) < 20_000:
            made += calls.made(kernel, words, known)
        if made == 12:
            break
    assert made == 12


def _nowhere(kernel: Kernel, words: list[int]) -> list[int]:
    return [
        NOWHERE + 16 * i % 64 if isinstance(p, Tensor) else w
        for i, (p, w) in enumerate(zip(kernel.params, words, strict=True))
    ]


def _end(engine: Engine, symbol: str, words: list[int]) -> Trap | None:
    """How a call of so many instructions ends: returned (None), or stopped."""
    try:
        engine.call(symbol, words, budget=300_000, dirty=1)
    except Trap as trap:
        engine.reset()
        return trap
    return None


def test_calls_without_memory_touch_none() -> None:
    """With pointers to nowhere the function refuses, or its first access is an exception."""
    engine = Engine(load_image(agent_elf()), EngineOptions())
    rng, returned, stopped = random.Random(9), 0, 0
    for kernel in kernels().values():
        text = formulas(kernel)
        for _ in range(25):
            words = drawn(rng, kernel)
            pairs = list(zip(evaluate(text, words), kernel.params, strict=True))
            refused = any(isinstance(p, Scalar) and (v is None or v <= 0) for v, p in pairs)
            if not refused and any(v is None for v, _ in pairs):
                continue  # the agent does not call it at all
            trap = _end(engine, kernel.symbol, _nowhere(kernel, words))
            if trap is None:
                returned += 1
            elif trap.kind not in (TrapKind.BUDGET, TrapKind.DIVIDE_BY_ZERO):  # loops that touch nothing
                assert trap.kind in (TrapKind.UNMAPPED_LOAD, TrapKind.UNMAPPED_STORE), (kernel.symbol, words)
                assert trap.address is not None
                assert NOWHERE <= trap.address < NOWHERE + (1 << 31), (kernel.symbol, words, trap)
                stopped += 1
    print(returned, "returned,", stopped, "stopped")
    assert min(returned, stopped) > 300
