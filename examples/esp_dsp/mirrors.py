"""The truth about kernels of esp-dsp in numpy, in the order and with the fused operations of its assembly.

Integers follow the `_ansi` C functions. Floats follow the instructions: madd.s rounds once, C rounds twice.
"""

import numpy as np

from emu.spec import Dim, In, Inline, InOut, Out, Size, Struct, Value, kernel

SHORT, FLOAT = "int16", "float32"


def fma(a, b, c):
    """a * b + c in one rounding: the sum is rounded to odd in 53 bits, and then to 24 (Boldo, Melquiond)."""
    with np.errstate(all="ignore"):
        product, c = np.float64(a) * np.float64(b), np.float64(c)
        total = product + c
        part = total - product
        lost = (product - (total - part)) + (c - part)
        bits = np.asarray(total).view(np.int64)
        nudge = np.where((lost > 0) == (total > 0), 1, -1)
        odd = np.where((lost != 0) & np.isfinite(lost) & (bits & 1 == 0), bits + nudge, bits)
        return odd.view(np.float64).astype(np.float32)


def stages(n):
    """Of a radix-2 FFT: indices of the two inputs of every butterfly, and of its factor."""
    for half in (n >> s for s in range(1, n.bit_length())):
        first = np.arange(n).reshape(-1, 2, half)[:, 0].ravel()
        yield first, first + half, first // (2 * half)


# --- dot products ---------------------------------------------------------------------------------------


@kernel(n=Dim("n", 4, 200, 1, special=(4, 5, 6, 7)))
def dsps_dotprod_s16_ae32(
    a: In(SHORT, "n", align=4, margin=2), b: In(SHORT, "n", align=4, margin=2), y: Out(SHORT, 1),
    n: Size("n"), shift: Value("int8", "[0,15]"),
) -> np.int32:  # fmt: skip
    y[0] = np.int64((0x7FFF >> int(shift)) + (a.astype(np.int64) @ b) >> 15 - int(shift)).astype(np.int16)
    return 0


@kernel(n=(1, 128))
def dsps_dotprod_f32_ae32(
    a: In(FLOAT, "n", values="moderate"), b: In(FLOAT, "n", values="moderate", margin=4), y: Out(FLOAT, 1),
    n: Size("n"),
) -> np.int32:  # fmt: skip
    total = np.float32(0)
    for x, w in zip(a, b, strict=True):
        total = fma(x, w, total)
    y[0] = total
    return 0


# --- element by element ---------------------------------------------------------------------------------


def elementwise(symbol, dtype, shift, step, rule):
    """y[i] = rule(a[i], b[i]) >> shift: vectors of 16 bytes where everything is aligned."""
    number = 16 // np.dtype(dtype).itemsize
    sizes = {"n": Dim("n", number, 512, number, special=(number,))} if step == 1 else {"n": (1, 300)}
    spot = {"align": 16} if step == 1 else {}
    ahead = {"margin": 16} if step == 1 else {"margin": 2}

    @kernel(symbol, **sizes)
    def mirror(
        a: In(dtype, f"n * {step}", **spot, **ahead), b: In(dtype, f"n * {step}", **spot, **ahead),
        y: InOut(dtype, f"n * {step}", **spot),
        n: Size("n"), step_a: Size(step), step_b: Size(step), step_y: Size(step),
        shift: Value("int32", shift),
    ) -> np.int32:  # fmt: skip
        y[::step] = (rule(a[::step].astype(np.int32), b[::step]) >> shift).astype(dtype)
        return 0


elementwise("dsps_add_s16_ae32", SHORT, "[0,15]", 3, lambda a, b: a + b)
elementwise("dsps_mul_s16_aes3", SHORT, "[0,31]", 1, lambda a, b: a * b)
elementwise("dsps_mul_s8_aes3", "int8", "[0,15]", 1, lambda a, b: a * b)
# the vector loops of sub saturate and do not shift; C wraps and shifts
elementwise("dsps_sub_s16_aes3", SHORT, "[0,0]", 1, lambda a, b: np.clip(a - b, -(2**15), 2**15 - 1))
elementwise("dsps_sub_s8_aes3", "int8", "[0,0]", 1, lambda a, b: np.clip(a - b, -128, 127))


@kernel(n=(2, 200, 2))
def dsps_mulc_s16_ae32(
    x: In(SHORT, "n", align=4, margin=4), y: Out(SHORT, "n"), n: Size("n"), c: Value(SHORT),
    step_x: Size(1), step_y: Size(1),
) -> np.int32:  # fmt: skip
    y[:] = (x.astype(np.int32) * c >> 15).astype(np.int16)
    return 0


# --- filters --------------------------------------------------------------------------------------------

TAPS = Dim("taps", 4, 64, 4, special=(4, 8))
STATE = {"coeffs": 0, "delay": 4, "coeffs_len": 8, "pos": 10, "decim": 12, "d_pos": 14, "shift": 16}


def decimated(fir, x, y):
    """One output for each ``decim`` inputs, which are written into a ring of ``taps`` values."""
    pos, taps, shift = int(fir.pos[0]), len(fir.delay), int(fir.shift)
    for i, block in enumerate(x.reshape(len(y), -1)):
        for value in block:
            pos = 0 if pos >= taps else pos
            fir.delay[pos] = value
            pos += 1
        total = (0x7FFF >> shift) + int(fir.coeffs[::-1].astype(np.int64) @ np.roll(fir.delay, -pos))
        y[i] = np.int64(total >> 15 - shift).astype(np.int16)
    return pos


def short_filter(symbol, keeps):
    @kernel(symbol, taps=TAPS, n=(1, 12), decim=Dim("decim", 2, 16, 2))
    def mirror(
        fir: Struct(
            coeffs=In(SHORT, "taps", align=16, margin=4),
            delay=InOut(SHORT, "taps", align=16, margin=4), coeffs_len=Size("taps", SHORT),
            pos=Inline(SHORT, 1, role="inout", values="[0,0]"),
            decim=Size("decim", SHORT), d_pos=Size(0, SHORT), shift=Value(SHORT, "[0,15]"),
            rounding_val=Size(0x7FFF), offsets={**STATE, "rounding_val": 24}, size=32,
        ),
        x: In(SHORT, "n * decim"), y: Out(SHORT, "n"), n: Size("n"),
    ) -> np.int32:  # fmt: skip
        pos = decimated(fir, x, y)
        if keeps:
            fir.pos[0] = pos
        return len(y)


short_filter("dsps_fird_s16_ae32", False)  # the assembly does not store the position
short_filter("dsps_fird_s16_ansi", True)


@kernel(taps=(1, 48), n=(1, 24), pos0=(0, 47), requires="pos0 < taps")
def dsps_fir_f32_ae32(
    fir: Struct(
        coeffs=In(FLOAT, "taps", values="moderate"), delay=InOut(FLOAT, "taps", values="moderate"),
        taps=Size("taps"), pos=Inline("int32", 1, role="inout", fill=lambda d, rng, a: a.fill(d["pos0"])),
        offsets={"coeffs": 0, "delay": 4, "taps": 8, "pos": 12}, size=24,
    ),
    x: In(FLOAT, "n", values="moderate"), y: Out(FLOAT, "n"), n: Size("n"),
) -> np.int32:  # fmt: skip
    for i, value in enumerate(x):
        fir.delay[fir.pos[0]] = value
        fir.pos[0] = (fir.pos[0] + 1) % len(fir.delay)
        total = np.float32(0)
        for old, weight in zip(np.roll(fir.delay, -fir.pos[0]), fir.coeffs[::-1], strict=True):
            total = fma(old, weight, total)
        y[i] = total
    return 0


# where the position is no multiple of 4 the assembly multiplies f8 by 0 before it sets it: NaN stays NaN
@kernel(taps=TAPS, n=(1, 12), decim=(4, 16, 4), pos0=(0, 60, 4), requires="pos0 < taps")
def dsps_fird_f32_aes3(
    fir: Struct(
        coeffs=In(FLOAT, "taps", values="moderate", align=16),
        delay=InOut(FLOAT, "taps", values="moderate", align=16, margin=16), taps=Size("taps"),
        pos=Inline("int32", 1, role="inout", fill=lambda d, rng, a: a.fill(d["pos0"])), decim=Size("decim"),
        offsets={"coeffs": 0, "delay": 4, "taps": 8, "pos": 12, "decim": 16}, size=24,
    ),
    x: In(FLOAT, "n * decim", values="moderate"), y: Out(FLOAT, "n"), n: Size("n"),
) -> np.int32:  # fmt: skip
    taps = len(fir.coeffs)
    for i, block in enumerate(x.reshape(len(y), -1)):
        for value in block:
            fir.delay[fir.pos[0]] = value
            fir.pos[0] = (fir.pos[0] + 1) % taps
        lanes = np.zeros(4, np.float32)
        for old, weight in zip(
            np.roll(fir.delay, -fir.pos[0]).reshape(-1, 4), fir.coeffs.reshape(-1, 4), strict=True
        ):
            lanes = fma(weight, old, lanes)
        lanes = np.roll(lanes, fir.pos[0])  # f4..f7 follow the vectors of the delay line
        y[i] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    return len(y)


@kernel(n=(1, 48))
def dsps_biquad_f32_ae32(
    x: In(FLOAT, "n", values="moderate", margin=4), y: Out(FLOAT, "n"), n: Size("n"),
    coef: In(FLOAT, 5, values="(-2,2)"), w: InOut(FLOAT, 2, values="moderate"),
) -> np.int32:  # fmt: skip
    b0, b1, b2, a1, a2 = coef
    for i, value in enumerate(x):
        d0 = fma(w[1], -a2, fma(w[0], -a1, value))
        y[i] = fma(b2, w[1], fma(d0, b0, b1 * w[0]))
        w[:] = d0, w[0]
    return 0


# --- Fourier transforms ---------------------------------------------------------------------------------


def fourier(symbol, align):
    @kernel(symbol, log=(1, 8), n="2 ** log")
    def mirror(
        z: InOut(FLOAT, "2 * n", values="moderate", align=align), n: Size("n"),
        w: In(FLOAT, "n", values="[-1,1]", align=align),
    ) -> np.int32:  # fmt: skip
        points, factors = z.reshape(-1, 2), w.reshape(-1, 2)
        for first, second, which in stages(int(n)):
            (c, s), (re, im) = factors[which].T, points[second].T
            turned = np.stack([fma(s, im, c * re), fma(-s, re, c * im)], axis=1)
            points[second], points[first] = points[first] - turned, points[first] + turned
        return 0


fourier("dsps_fft2r_fc32_ae32_", 4)
fourier("dsps_fft2r_fc32_aes3_", 8)


@kernel(log=(1, 4), n="4 ** log", wide=(1, 2), table="n * wide")
def dsps_fft4r_fc32_aes3_(
    z: InOut(FLOAT, "2 * n", values="moderate", align=8), n: Size("n"),
    w: In(FLOAT, "2 * table", values="[-1,1]", align=8), table: Size("table"),
) -> np.int32:  # fmt: skip
    step, quarter = int(table // n), int(n)
    while quarter > 1:
        quarter //= 4
        points = np.moveaxis(z.reshape(-1, 4, quarter, 2), -1, 0)
        (a, b, c, d), (e, f, g, h) = (np.moveaxis(part, 1, 0) for part in points)
        outer, inner = (a + c, a - c, e + g, e - g), (b + d, b - d, f + h, f - h)
        re = [outer[0] + inner[0], outer[1] + inner[3], outer[0] - inner[0], outer[1] - inner[3]]
        im = [outer[2] + inner[2], outer[3] - inner[1], outer[2] - inner[2], outer[3] + inner[1]]
        for k in (1, 2, 3):
            cos, sin = w.reshape(-1, 2)[np.arange(quarter) * step * k].T
            re[k], im[k] = fma(im[k], sin, re[k] * cos), fma(-re[k], sin, im[k] * cos)
        points[0], points[1] = np.stack(re, axis=1), np.stack(im, axis=1)
        step *= 4
    return 0


def one_is_first(dims, rng, table):
    table[:2] = 0x7FFF, 0


@kernel(log=(1, 8), n="2 ** log")
def dsps_fft2r_sc16_ae32_(
    z: InOut(SHORT, "2 * n", align=4), n: Size("n"), w: In(SHORT, "n", align=4, fill=one_is_first)
) -> np.int32:
    points, factors = z.reshape(-1, 2), w.reshape(-1, 2).astype(np.int64)
    for first, second, which in stages(int(n)):
        (c, s), (re, im) = factors[which].T, points[second].T.astype(np.int64)
        turned = np.stack([c * re + s * im, c * im - s * re], axis=1)
        old = points[first].astype(np.int64) * 0x7FFF + 0x7FFF
        for place, sums in ((second, old - turned), (first, old + turned)):
            points[place] = (sums.astype(np.int32) >> 16).astype(np.int16)
    return 0


# --- matrices -------------------------------------------------------------------------------------------


def product(symbol, step):
    @kernel(symbol, m=(step, 12, step), n=(step, 16, step), k=(step, 12, step))
    def mirror(
        a: In(FLOAT, "m", "n", values="moderate", align=4 * step),
        b: In(FLOAT, "n", "k", values="moderate", align=4 * step, margin=64),
        c: Out(FLOAT, "m", "k", align=4 * step), m: Size("m"), n: Size("n"), k: Size("k"),
    ) -> np.int32:  # fmt: skip
        a, b, total = a.reshape(m, n), b.reshape(n, k), np.zeros((m, k), np.float32)
        for s in range(n):
            total = fma(a[:, s : s + 1], b[s], total) if s or step == 1 else a[:, :1] * b[0]
        c[:] = total.ravel()
        return 0


product("dspm_mult_f32_ae32", 1)
product("dspm_mult_f32_aes3", 4)
