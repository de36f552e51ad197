"""Explicit vectors: the LLVM building blocks for the few inner loops that LLVM does not vectorise well by itself.

Everything else in this package is plain Numba. ``panels.py`` uses these blocks where they were measured to be worth it.
``USE_VECTORS`` says whether passes are worth running this way on this CPU; where they are not, plain loops run and the
log says so.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from ksums.compute.compat import numba_code_generation

cgutils: Any = numba_code_generation()

VECTORS = 3
"""A panel of samples is this many hardware vectors wide, so that one broadcast coordinate serves them all."""
_CACHE_LINE = 64
"""Bytes in a cache line."""
INT64 = ir.IntType(64)
INT32 = ir.IntType(32)


def _cpu_features() -> dict[str, bool]:
    """Features of the CPU that Numba compiles for: the host, unless Numba's environment names another."""
    forced = os.environ.get("NUMBA_CPU_FEATURES")
    if forced is None:
        return dict(binding.get_host_cpu_features())
    return {word[1:]: word[0] == "+" for word in forced.split(",") if word}


def _shape_for(features: dict[str, bool]) -> tuple[int, int, bool]:
    """Bits of a vector, composites handled at a time, and whether explicit vectors are used at all."""
    if features.get("avx512f"):
        return 512, 8, True  # 24 accumulators of 32 registers
    if features.get("avx2") and features.get("fma"):
        return 256, 4, True  # 12 accumulators of 16 registers
    if features.get("neon") or features.get("asimd"):
        return 128, 8, True  # 24 accumulators of 32 registers
    return 128, 8, False


VECTOR_BITS, CLUSTERS, USE_VECTORS = _shape_for(_cpu_features())


def lanes_of(itemsize: int) -> int:
    """Floats of ``itemsize`` bytes in one vector; a panel holds ``VECTORS`` times as many samples."""
    return VECTOR_BITS // (8 * itemsize)


def panel_width(dtype) -> int:
    """Samples in a panel."""
    return VECTORS * lanes_of(dtype.itemsize)


# ----------------------------------------------------------------------------------- small LLVM helpers
def vector_of(dtype: types.Float) -> ir.VectorType:
    element = ir.FloatType() if dtype == types.float32 else ir.DoubleType()
    return ir.VectorType(element, lanes_of(dtype.bitwidth // 8))


def data_of(context, builder, array_type, value):
    """Data pointer and length of the last axis of a C-contiguous array."""
    array = context.make_array(array_type)(context, builder, value)
    return array.data, cgutils.unpack_tuple(builder, array.shape)[-1]


def load_vector(builder, pointer, vector):
    loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
    loaded.align = 4  # NumPy promises no more than the alignment of one float
    return loaded


def store_vector(builder, value, pointer):
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer())).align = 4


def broadcast(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    zeros = ir.Constant(ir.VectorType(INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def fused(builder, vector):
    """The LLVM function fma(x, y, z) = x·y + z with one rounding, on vectors."""
    bits = 32 if isinstance(vector.element, ir.FloatType) else 64
    signature = ir.FunctionType(vector, [vector, vector, vector])
    return cgutils.get_or_insert_function(builder.module, signature, f"llvm.fma.v{vector.count}f{bits}")


def constant(value: int):
    return ir.Constant(INT64, value)


@intrinsic
def fma(typingctx, x, y, z):
    """x·y + z with one rounding, for scalars of one float type."""
    if not (isinstance(x, types.Float) and x == y == z):
        return None

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return x(x, x, x), codegen


@intrinsic
def prefetch_row(typingctx, rows, r):
    """Ask the CPU to bring row r into the cache."""
    signature = types.void(rows, types.int64)

    def codegen(context, builder, signature, args):
        data, dimensions = data_of(context, builder, signature.args[0], args[0])
        byte = ir.IntType(8).as_pointer()
        ask = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, INT32, INT32, INT32]), "llvm.prefetch.p0"
        )
        step = _CACHE_LINE // (signature.args[0].dtype.bitwidth // 8)
        start = builder.mul(args[1], dimensions)
        with cgutils.for_range_slice(builder, constant(0), dimensions, constant(step), INT64) as (t, _):
            pointer = builder.bitcast(builder.gep(data, [builder.add(start, t)]), byte)
            builder.call(ask, [pointer, *(ir.Constant(INT32, option) for option in (0, 3, 1))])
        return context.get_dummy_value()

    return signature, codegen
