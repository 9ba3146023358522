"""Gathering: what the sweep's machine code needs to read values at addresses, of any type and stride."""

from __future__ import annotations

from typing import Any

TYPES = {kind: number for number, kind in enumerate(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])}


def gathering() -> Any:
    """A function that puts values of any type and stride side by side: integers as 64 bits, floats as doubles."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    ir = cgutils.ir
    wide, double = ir.IntType(64), ir.DoubleType()

    @intrinsic  # type: ignore[untyped-decorator]
    def gather(typing: Any, kind: Any, address: Any, stride: Any, size: Any, out: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            chosen, place, step, count, target = arguments
            for name, number in TYPES.items():
                own = {"f4": ir.FloatType(), "f8": double}.get(name, ir.IntType(8 * int(name[1])))
                to = double if name[0] == "f" else wide
                longer = {"f": builder.fpext, "i": builder.sext, "u": builder.zext}[name[0]]
                with builder.if_then(builder.icmp_signed("==", chosen, wide(number))):
                    start = builder.inttoptr(target, to.as_pointer())
                    with cgutils.for_range(builder, count) as loop:
                        spot = builder.inttoptr(builder.add(place, builder.mul(loop.index, step)), own.as_pointer())
                        value = builder.load(spot, align=1, typ=own)
                        value = value if own == to else longer(value, to)
                        builder.store(value, builder.gep(start, [loop.index], source_etype=to))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), code

    return gather


def viewing(kind: Any) -> Any:
    """A function that makes an array of so many values at an address."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    @intrinsic  # type: ignore[untyped-decorator]
    def view(typing: Any, address: Any, size: Any) -> Any:
        array = types.Array(kind, 1, "C")

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            found, item = make_array(array)(context, builder), context.get_constant(types.intp, 8)
            place = builder.inttoptr(arguments[0], context.get_data_type(kind).as_pointer())
            shape, strides = (cgutils.pack_array(builder, [one]) for one in (arguments[1], item))
            populate_array(found, data=place, shape=shape, strides=strides, itemsize=item, meminfo=None)
            return found._getvalue()

        return array(types.int64, types.int64), code

    return view
