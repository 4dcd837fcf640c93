"""Bit tricks that numba lacks, as LLVM intrinsics with plain-Python twins for NUMBA_DISABLE_JIT=1."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 64  # pairs handled by one machine word

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def popcount(word: Any) -> Any:
        """Number of set bits."""
        return int(word).bit_count()

    def lowest_bit(word: Any) -> Any:
        """Position of the lowest set bit; the word must not be 0."""
        w = int(word)
        return (w & -w).bit_length() - 1

    def lanes_above(rows: Any, row: Any, k: Any) -> Any:
        """Word whose bit s tells whether rows[row, s] > k, for the 64 bytes of a row."""
        return sum(1 << s for s in range(LANES) if rows[row, s] > k)

else:

    @intrinsic
    def popcount(typingctx, word):  # type: ignore[no-untyped-def]
        """Number of set bits."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), codegen

    @intrinsic
    def lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]
        """Position of the lowest set bit; the word must not be 0."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), codegen

    @intrinsic
    def lanes_above(typingctx, rows, row, k):  # type: ignore[no-untyped-def]
        """Word whose bit s tells whether rows[row, s] > k, for the 64 bytes of a row and k < 255.

        One vector comparison; `rows` is a C-contiguous uint8 array with rows of 64.
        """

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            array_type = signature.args[0]
            array = context.make_array(array_type)(context, builder, args[0])
            lanes = ir.VectorType(ir.IntType(8), LANES)
            offset = builder.mul(args[1], ir.Constant(ir.IntType(64), LANES))
            pointer = builder.bitcast(builder.gep(array.data, [offset]), lanes.as_pointer())
            values = builder.load(pointer)
            values.align = 1
            # "At least k + 1" takes one instruction less than "above k".
            byte = builder.add(builder.trunc(args[2], ir.IntType(8)), ir.Constant(ir.IntType(8), 1))
            undefined = ir.Constant(lanes, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            splat = builder.insert_element(undefined, byte, ir.Constant(ir.IntType(32), 0))
            splat = builder.shuffle_vector(splat, undefined, zeros)
            return builder.bitcast(builder.icmp_unsigned(">=", values, splat), ir.IntType(64))

        return types.uint64(rows, types.int64, types.int64), codegen
