"""Which mutants a campaign makes: spread over functions, macros and rules, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from emu.image import load_image
from emu.mutate import asm_rules, binary_rules, c_rules, code
from emu.mutate.builder import Base, defined
from emu.mutate.mutant import GENERATORS, Mutant

_FOLDERS = ("kernels/", "numerics/")
Group = list[Mutant]


def sample(
    base: Base, kernels: Iterable[str], generators: Sequence[str], count: int | None, seed: int
) -> list[Mutant]:
    """``count`` mutants (None: every one) of what the kernels can execute, in the order of the campaign.

    One generator after the other gives one mutant, and within a generator one function (or macro) after the
    other; which one of a function's, the seed says. The first n of a larger sample are the smaller one.
    """
    chosen = tuple(kernels)
    streams = [_stream(_groups(base, chosen, g), random.Random(f"{seed} {g}")) for g in generators]
    found: list[Mutant] = []
    while streams and (count is None or len(found) < count):
        for stream in tuple(streams):
            mutant = next(stream, None)
            if mutant is None:
                streams.remove(stream)
            elif count is None or len(found) < count:
                found.append(mutant)
    return found


def _stream(groups: Mapping[str, Group], rng: random.Random) -> Iterator[Mutant]:
    """The groups in turn; in a group its rules in turn."""
    names = sorted(groups)
    rng.shuffle(names)
    queues = [_by_rule(groups[name], rng) for name in names]
    while queues:
        for queue in tuple(queues):
            if queue:
                yield queue.pop()
            else:
                queues.remove(queue)


def _by_rule(group: Group, rng: random.Random) -> Group:
    """A queue (its end first) in which the rules take turns, in an order of their own in each group."""
    rules: dict[str, Group] = {}
    for mutant in rng.sample(group, len(group)):
        rules.setdefault(mutant.rule, []).append(mutant)
    order = rng.sample(sorted(rules), len(rules))
    turns = [[rules[r][i] for r in order if i < len(rules[r])] for i in range(max(map(len, rules.values())))]
    return list(reversed(list(chain.from_iterable(turns))))


def _groups(base: Base, kernels: Sequence[str], generator: str) -> dict[str, Group]:
    image = load_image(base.elf)
    functions = code.functions(image)
    reached = sorted({name for kernel in kernels for name in code.reached(functions, kernel)})
    if generator == "binary":
        by_name = {s.name: s for s in image.symbols.functions() if s.size}
        return {
            n: g for n in reached if n in by_name and (g := list(binary_rules.mutants(image, by_name[n])))
        }
    groups: dict[str, Group] = {}
    for file in _files(base, set(reached)):
        source = (base.sources / file).read_bytes()
        for mutant in _of_file(file, source, generator):
            place = mutant.function or f"macros, line {mutant.line // 16}"
            groups.setdefault(f"{file}: {place}", []).append(mutant)
    return groups


def _of_file(file: str, source: bytes, generator: str) -> Iterator[Mutant]:
    if generator == "c" and file.endswith((".c", ".h")):
        return c_rules.mutants(file, source)
    if generator == "assembly" and file.endswith((".S", ".inc")):
        return asm_rules.mutants(file, source)
    return iter(())


def _files(base: Base, reached: set[str]) -> list[str]:
    """Sources and headers of the units that define any of the functions."""
    units = {unit for unit in base.units if defined(base.object_of(unit)) & reached}
    return sorted(f for f, users in base.users.items() if f.startswith(_FOLDERS) and units & set(users))


__all__ = ["GENERATORS", "sample"]
