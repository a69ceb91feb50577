"""SB4: the rules about layouts that waste devices, or say what they do not mean."""

from __future__ import annotations

from sdybridge.checks.finding import Rule, Severity
from sdybridge.checks.rules.examples import body, gspmd, shardy

_UNREDUCED = '{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>}'
_MAX = r"metadata={op_type=\22sdy::reduction_op\22 op_name=\22MAX\22}"

RULES = (
    Rule(
        "SB401", "uneven-parts", Severity.INFO,
        "The parts of a tensor have the same size.",
        finds="A dimension that its number of parts does not divide.",
        matters="XLA pads all parts to the largest: devices compute and send padding, and reductions mask "
        "it. It never fails, so nothing tells.",
        fix="Pad the dimension in the model, to a multiple of the number of parts; or split it into fewer "
        "parts.",
        bad=gspmd("{devices=[4,1]<=[4]}", "tensor<126x8xf32>"),
        good=gspmd("{devices=[2,1]<=[2]}", "tensor<126x8xf32>"),
    ),
    Rule(
        "SB402", "empty-parts", Severity.WARNING,
        "Every device holds a part of a sharded tensor.",
        finds="A dimension that is split so finely that the last devices get nothing.",
        matters="Parts are as long as the largest, so 17 rows on 8 devices are 3, 3, 3, 3, 3, 2, 0, 0. "
        "The devices without any wait for the others, and still allocate a buffer of the full "
        "size, of padding.",
        fix="Split into a number of parts that divides the size, or pad the tensor.",
        bad=gspmd("{devices=[8,1]<=[8]}", "tensor<17x16xf32>"),
        good=gspmd("{devices=[8,1]<=[8]}", "tensor<24x16xf32>"),
    ),
    Rule(
        "SB403", "large-replicated", Severity.WARNING,
        "Large tensors are not replicated.",
        finds="A tensor of 256 MiB or more that is whole on every device. Open dimensions are not "
        "reported, because propagation may still shard them.",
        matters="It takes its full size on each device, and with optimizer state and gradients several "
        "times that: the first thing to look for when a program runs out of memory. XLA does what "
        "it is told, and its report of memory use names buffers, not shardings.",
        fix="Shard a dimension, or leave it open with `{?}` so that propagation can. `sdybridge inspect` "
        "and `sdybridge report` list what each value takes.",
        bad=shardy("[{}, {}]", "tensor<32768x4096xf32>"),
        good=shardy('[{"y"}, {}]', "tensor<32768x4096xf32>"),
        silence="`--replicated-bytes 1GiB` says from which size on a tensor is reported.",
    ),
    Rule(
        "SB404", "needless-unreduced", Severity.WARNING,
        "A value is unreduced where devices hold partial sums.",
        finds="Unreduced axes of one device, along which there is nothing to reduce; and constants that "
        "are unreduced.",
        matters="An unreduced value is the sum of what devices hold. A constant is no sum: a reduction of "
        "it multiplies it by the number of devices. XLA does not compare the two.",
        fix="Leave `unreduced` out.",
        bad=body("%0 = stablehlo.constant", f"    {_UNREDUCED} dense<1.0> : tensor<8x8xf32>"),
        good=body("%0 = stablehlo.dot %a, %a", f"    {_UNREDUCED} : tensor<8x8xf32>"),
    ),
    Rule(
        "SB405", "reduction-of-nothing", Severity.WARNING,
        "A sharding with a reduction has something to reduce.",
        finds="A reduction, such as `max`, on a sharding without unreduced axes.",
        matters="`max` and `min` say how unreduced values are combined. Without these the sharding places "
        "a tensor as it does without the reduction, but does not compare as equal: passes that "
        "compare shardings see a difference where there is none.",
        fix="Remove the reduction, or the metadata that holds it.",
        bad=gspmd("{devices=[4,2]<=[2,4]T(1,0) " + _MAX + "}"),
        good=gspmd("{devices=[4,2]<=[2,4]T(1,0)}"),
    ),
    Rule(
        "SB406", "unsharded-result", Severity.INFO,
        "A result of a GSPMD program has a sharding if its value has one.",
        finds="A result without a sharding of a value with one, in a program of HLO shardings. In HLO the "
        "root, often a tuple, has the shardings of the results.",
        matters="GSPMD replicates results without a sharding: an all-gather at the end, and a whole copy "
        "on each device. The caller may let propagation shard them instead, as `jax.jit` does; "
        "then there is no loss.",
        fix="Give the result the sharding of its value.",
        bad=gspmd("{devices=[2,1]<=[2]}").replace(") {", ") -> tensor<8x8xf32> {").replace(
            "return", "return %a : tensor<8x8xf32>"),
        good=gspmd("{devices=[2,1]<=[2]}").replace(
            ") {", ') -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) {').replace(
            "return", "return %a : tensor<8x8xf32>"),
    ),
    Rule(
        "SB407", "part-of-an-axis", Severity.INFO,
        "A sharding uses whole axes.",
        finds='A part of an axis, such as `"y":(1)2`.',
        matters="Propagation takes a part of an axis where the whole does not divide the size: 126 rows "
        "on 4 devices become 2 parts of 63, each on 2 devices. It says so nowhere, and half of "
        "the devices do the work of the others again.",
        fix="If it is not meant, make the size a multiple of the axis.",
        bad=shardy('[{"y":(1)2}, {}]'),
        good=shardy('[{"y"}, {}]'),
        is_default=False,
    ),
)  # fmt: skip
