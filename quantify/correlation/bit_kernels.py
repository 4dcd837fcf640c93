"""Bit tricks and hints that numba lacks: LLVM intrinsics with plain-Python twins for NUMBA_DISABLE_JIT=1."""

from __future__ import annotations

import functools
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 64  # pairs handled by one machine word
STRIDE = 16  # words that `intersect_and_count` takes at a time

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def lowest_bit(word: Any) -> Any:
        """Position of the lowest set bit; the word must not be 0."""
        w = int(word)
        return (w & -w).bit_length() - 1

    def lanes_above(rows: Any, row: Any, k: Any) -> Any:
        """Word whose bit s tells whether rows[row, s] > k, for the 64 bytes of a row."""
        return sum(1 << s for s in range(LANES) if rows[row, s] > k)

    def intersect_and_count(joint: Any, words: Any, one: Any, two: Any) -> Any:
        """joint &= words from `one` on, then from `two` on; returns how many bits are left each time."""
        counts = []
        for start in (one, two):
            joint &= words[start : start + len(joint)]
            counts.append(sum(int(word).bit_count() for word in joint))
        return counts

    def prefetch(array: Any, index: Any) -> None:
        """Ask for an entry of a flat array that will be read soon."""

else:

    @intrinsic
    def lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]
        """Position of the lowest set bit; the word must not be 0."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), codegen

    def _vector_at(context, builder, array_type, array, index, kind):  # type: ignore[no-untyped-def]
        """Pointer to a vector of the given kind that begins at an index of a flat array."""
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())

    def _load(builder, pointer):  # type: ignore[no-untyped-def]
        value = builder.load(pointer)
        value.align = 1
        return value

    @intrinsic
    def lanes_above(typingctx, rows, row, k):  # type: ignore[no-untyped-def]
        """Word whose bit s tells whether rows[row, s] > k, for the 64 bytes of a row.

        One vector comparison; `rows` is a C-contiguous int8 array with rows of 64.
        """

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            byte = ir.IntType(8)
            lanes = ir.VectorType(byte, LANES)
            index = builder.mul(args[1], ir.Constant(ir.IntType(64), LANES))
            values = _load(builder, _vector_at(context, builder, signature.args[0], args[0], index, lanes))
            undefined = ir.Constant(lanes, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            splat = builder.insert_element(
                undefined, builder.trunc(args[2], byte), ir.Constant(ir.IntType(32), 0)
            )
            splat = builder.shuffle_vector(splat, undefined, zeros)
            return builder.bitcast(builder.icmp_signed(">", values, splat), ir.IntType(64))

        return types.uint64(rows, types.int64, types.int64), codegen

    def _add_bits(builder, a, b, c):  # type: ignore[no-untyped-def]
        """Full adder: at each position a + b + c = sum + 2 carry."""
        either = builder.xor(a, b)
        carry = builder.or_(builder.and_(a, b), builder.and_(either, c))
        return builder.xor(either, c), carry

    class _Counter:
        """Counts the bits of vectors, four vectors at a time.

        Counting bits is dear and adding them is cheap: the vectors go through full adders, and only the
        carries, every fourth bit, are counted in the loop.
        """

        def __init__(self, builder, kind, popcount):  # type: ignore[no-untyped-def]
            zero = ir.Constant(kind, [0] * kind.count)
            self.builder, self.popcount = builder, popcount
            self.ones, self.twos, self.fours = (cgutils.alloca_once_value(builder, zero) for _ in range(3))

        def add(self, a, b, c, d):  # type: ignore[no-untyped-def]
            builder = self.builder
            ones, carry_a = _add_bits(builder, builder.load(self.ones), a, b)
            ones, carry_b = _add_bits(builder, ones, c, d)
            twos, carry = _add_bits(builder, builder.load(self.twos), carry_a, carry_b)
            fours = builder.add(builder.load(self.fours), builder.call(self.popcount, [carry]))
            for value, place in ((ones, self.ones), (twos, self.twos), (fours, self.fours)):
                builder.store(value, place)

        def total(self):  # type: ignore[no-untyped-def]
            builder = self.builder
            total = builder.load(self.fours)
            for rest in (self.twos, self.ones):
                total = builder.add(total, total)
                total = builder.add(total, builder.call(self.popcount, [builder.load(rest)]))
            parts = [
                builder.extract_element(total, ir.Constant(ir.IntType(32), i))
                for i in range(total.type.count)
            ]
            return functools.reduce(builder.add, parts)

    @intrinsic
    def intersect_and_count(typingctx, joint, words, one, two):  # type: ignore[no-untyped-def]
        """joint &= words from `one` on, then from `two` on; returns how many bits are left each time.

        Both arrays are contiguous, the length of `joint` is a multiple of `STRIDE`.
        """

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            width = ir.IntType(64)
            kind = ir.VectorType(width, 4)
            name = f"llvm.ctpop.v{kind.count}i64"
            popcount = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
            counters = [_Counter(builder, kind, popcount) for _ in range(2)]
            length = context.make_array(signature.args[0])(context, builder, args[0]).nitems

            def vector(array, index):  # type: ignore[no-untyped-def]
                return _vector_at(context, builder, signature.args[array], args[array], index, kind)

            with cgutils.for_range(builder, builder.udiv(length, ir.Constant(width, STRIDE))) as loop:
                begin = builder.mul(loop.index, ir.Constant(width, STRIDE))
                left: tuple[list[Any], list[Any]] = ([], [])
                for offset in range(0, STRIDE, kind.count):
                    here = builder.add(begin, ir.Constant(width, offset))
                    value = _load(builder, vector(0, here))
                    for start, values in zip(args[2:], left, strict=True):
                        value = builder.and_(value, _load(builder, vector(1, builder.add(here, start))))
                        values.append(value)
                    builder.store(value, vector(0, here)).align = 1
                for counter, values in zip(counters, left, strict=True):
                    counter.add(*values)
            totals = [counter.total() for counter in counters]
            return context.make_tuple(builder, signature.return_type, totals)

        pair = types.UniTuple(types.int64, 2)
        return pair(joint, words, types.int64, types.int64), codegen

    @intrinsic
    def prefetch(typingctx, array, index):  # type: ignore[no-untyped-def]
        """Ask for an entry of a flat array that will be read soon."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            place = _vector_at(context, builder, signature.args[0], args[0], args[1], ir.IntType(8))
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
            ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(ask, [place, number(0), number(3), number(1)])  # to read, to keep, data
            return context.get_dummy_value()

        return types.void(array, types.uint64), codegen
