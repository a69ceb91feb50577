"""Realistic JAX programs, lowered to StableHLO with Shardy attributes.

They are lowered against an abstract mesh, without devices, where JAX allows it. Together they hold the
operations that carry shardings in odd places: several results or none, regions, calls, callbacks, constants,
constraints.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from examples import transformer_step
from jax import lax
from jax.experimental import io_callback
from jax.sharding import AbstractMesh, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from tests.differential.oracle.isolation import run_isolated

if TYPE_CHECKING:
    from collections.abc import Callable

Lowered = tuple[Any, tuple[Any, ...]]
"""A jitted function and its abstract arguments."""


@dataclasses.dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        text: The module for a number of devices.
        is_manual: Whether it holds manual computations (`shard_map`).
        axes: The axes of its mesh; none for a program that only the text makes.
    """

    text: Callable[[int], str]
    is_manual: bool = False
    axes: tuple[str, ...] = ()


PROGRAMS: dict[str, Program] = {
    "transformer_step": Program(lambda devices: transformer_step.build(layers=2, devices=devices))
}


@dataclasses.dataclass(frozen=True)
class Layout:
    """A mesh, and shorthands for what lies on it."""

    mesh: AbstractMesh | Mesh

    def named(self, *spec: Any) -> NamedSharding:
        return NamedSharding(self.mesh, P(*spec))

    def array(self, shape: tuple[int, ...], *spec: Any, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self.named(*spec))

    def pin(self, x: Any, *spec: Any) -> Any:
        return lax.with_sharding_constraint(x, self.named(*spec))


def program(
    *axes: str, is_manual: bool = False, needs_devices: bool = False
) -> Callable[[Callable[[Layout], Lowered]], Callable[[Layout], Lowered]]:
    """Registers a function that makes a program for a mesh with these axes."""

    def register(make: Callable[[Layout], Lowered]) -> Callable[[Layout], Lowered]:
        in_process = lower_on_devices if needs_devices else lower
        PROGRAMS[make.__name__] = Program(functools.partial(in_process, make, axes), is_manual, axes)
        return make

    return register


def lower(make: Callable[[Layout], Lowered], axes: tuple[str, ...], devices: int) -> str:
    """The module's text, for a mesh with `devices` devices."""
    return lower_on(make, AbstractMesh(split(devices, len(axes)), axes))


def lower_on_devices(make: Callable[[Layout], Lowered], axes: tuple[str, ...], devices: int) -> str:
    """The same for a program that JAX lowers only where the devices exist: in a process that has them."""
    text: str = run_isolated(lower_on_host_devices, [(make.__name__, axes, devices)])[0]
    return text


def lower_on_host_devices(item: tuple[str, tuple[str, ...], int]) -> str:
    """Makes the process's CPU into `devices` devices (runs isolated)."""
    name, axes, devices = item
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    return lower_on(globals()[name], host_mesh(axes, devices))


def compile_on_host_devices(name: str, devices: int) -> None:
    """Compiles a program where the process's CPU is that many devices."""
    function, arguments = globals()[name](Layout(host_mesh(PROGRAMS[name].axes, devices)))
    function.trace(*arguments).lower().compile()


def host_mesh(axes: tuple[str, ...], devices: int) -> Mesh:
    return Mesh(np.array(jax.devices()[:devices]).reshape(split(devices, len(axes))), axes)


def lower_on(make: Callable[[Layout], Lowered], mesh: AbstractMesh | Mesh) -> str:
    """The module's text, for a mesh."""
    function, arguments = make(Layout(mesh))
    text: str = function.trace(*arguments).lower(lowering_platforms=("cpu",)).as_text()
    return text


def split(devices: int, count: int) -> tuple[int, ...]:
    """`count` sizes with the product `devices`, its prime factors dealt round-robin."""
    sizes = [1] * count
    factors = [p for p in (2, 3, 5, 7) for _ in range(devices) if devices % p == 0]
    k = 0
    for factor in factors:
        if devices // math.prod(sizes) % factor == 0 and devices > math.prod(sizes):
            sizes[k % count] *= factor
            k += 1
    return tuple(sizes)


@program("data", "model")
def mlp_step(on: Layout) -> Lowered:
    """A gelu MLP under data and tensor parallelism: forward, backward, gradient descent."""

    def loss(layers: Any, x: Any, y: Any) -> Any:
        for up, bias, down in layers:
            x = x + on.pin(jax.nn.gelu(x @ up + bias), "data", "model") @ down
        return jnp.mean((x - y) ** 2)

    def step(layers: Any, x: Any, y: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(layers, x, y)
        return jax.tree.map(lambda w, g: w - 0.01 * g, layers, gradient), value

    layer = (
        on.array((128, 512), None, "model"),
        on.array((512,), "model"),
        on.array((512, 128), "model", None),
    )
    out = (jax.tree.map(lambda w: w.sharding, [layer] * 2), on.named())
    x = on.array((64, 128), "data", None)
    return jax.jit(step, out_shardings=out, donate_argnums=0), ([layer] * 2, x, x)


@program("data", "expert", "tensor")
def mixture_of_experts(on: Layout) -> Lowered:
    """Top-2 routing with one-hot dispatch, experts spread over an axis of their own, and Adam."""
    width, hidden, experts = 32, 64, 16

    def forward(w: Any, x: Any) -> Any:
        gates, chosen = lax.top_k(jax.nn.softmax(x @ w["gate"]), 2)
        dispatch = jnp.sum(jax.nn.one_hot(chosen, experts) * gates[..., None], axis=-2)
        h = on.pin(jax.nn.silu(jnp.einsum("bsd,edf->ebsf", x, w["up"])), "expert", "data", None, "tensor")
        y = on.pin(jnp.einsum("ebsf,efd->ebsd", h, w["down"]), "expert", "data", None, None)
        return on.pin(jnp.einsum("ebsd,bse->bsd", y, dispatch), "data", None, P.UNCONSTRAINED)

    def step(w: Any, m: Any, x: Any) -> Any:
        value, gradient = jax.value_and_grad(lambda w: jnp.mean(forward(w, x) ** 2))(w)
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, gradient)
        return jax.tree.map(lambda a, b: a - b / (jnp.abs(b) + 1e-6), w, m), m, value

    weights = {
        "gate": on.array((width, experts)),
        "up": on.array((experts, width, hidden), "expert", None, "tensor"),
        "down": on.array((experts, hidden, width), "expert", "tensor", None),
    }
    layout = jax.tree.map(lambda w: w.sharding, weights)
    step = jax.jit(step, out_shardings=(layout, layout, None), donate_argnums=(0, 1))
    return step, (weights, weights, on.array((16, 32, width), "data", None, None))


@program("data", "model")
def scanned_layers(on: Layout) -> Lowered:
    """A loop over stacked layers with rematerialisation, differentiated: while loops with many results."""

    def loss(weights: Any, x: Any) -> Any:
        def layer(h: Any, w: Any) -> Any:
            h = on.pin(jnp.tanh(h @ w), "data", "model")
            return h, jnp.sum(h)

        h, sums = lax.scan(jax.checkpoint(layer), x, weights)
        return jnp.mean(h) + jnp.sum(sums)

    weights = on.array((4, 64, 64), None, None, "model")
    return jax.jit(jax.value_and_grad(loss)), (weights, on.array((128, 64), "data", None))


@program("a", "b")
def several_results(on: Layout) -> Lowered:
    """Sorts, top-k, variadic reductions, argmax, cumulative sums, random bits."""

    def both(p: Any, q: Any) -> Any:
        return p[0] + q[0], jnp.maximum(p[1], q[1])

    def f(x: Any, key: Any) -> Any:
        index = lax.broadcasted_iota(jnp.int32, x.shape, 1)
        x, index = lax.sort((x, index), dimension=1, num_keys=1)
        index = on.pin(index, "a", None)
        top, where = lax.top_k(x, 4)
        sums, largest = lax.reduce((x, index), (np.float32(0), np.int32(0)), both, (1,))
        bits, key = lax.rng_bit_generator(key, x.shape, dtype=jnp.uint32)
        noise = jax.random.normal(jax.random.wrap_key_data(bits[:2]), x.shape)
        x = jnp.cumsum(x + noise + top[:, :1] + jnp.argmax(x, axis=1)[:, None], axis=1)
        return jax.scipy.special.erf(x), (sums, largest), where, key

    outs = (on.named("a", "b"), None, on.named(("b", "a"), None), None)
    x = on.array((512, 64), "a", "b")
    return jax.jit(f, out_shardings=outs), (x, on.array((4,), None, dtype=jnp.uint32))


@program("p", "q")
def control_flow(on: Layout) -> Lowered:
    """Conditionals, switches and loops with captured values; functions called more than once."""

    pinned_sine = jax.jit(lambda x: on.pin(jnp.sin(x), "p", "q"))

    def f(x: Any, w: Any, n: Any, flag: Any) -> Any:
        y = lax.cond(flag, lambda a: a @ w, lambda a: on.pin(a - 1.0, None, "p"), x)
        y = lax.switch(n % 3, [pinned_sine, lambda a: a * 2, lambda a: pinned_sine(a) + 1], y)
        _, y, total = lax.while_loop(
            lambda s: s[0] < n,
            lambda s: (s[0] + 1, s[1] * 0.5 + w[0], s[2] + jnp.sum(s[1])),
            (0, y, jnp.float32(0)),
        )
        y = lax.fori_loop(0, 3, lambda i, a: lax.cond(i > 1, pinned_sine, jnp.cos, a), y)
        with jax.named_scope('a "quoted" scope'):
            return pinned_sine(y) + pinned_sine(x), total

    x, w = on.array((512, 64), "p", None), on.array((64, 64), None, "q")
    scalars = on.array((), dtype=jnp.int32), on.array((), dtype=jnp.bool_)
    return jax.jit(f, out_shardings=(on.named(("q", "p"), None), None)), (x, w, *scalars)


@program("d", "m", needs_devices=True)
def callbacks(on: Layout) -> Lowered:
    """Host callbacks with one result, several and none, ordered and not."""

    def one(x: Any) -> Any:
        return np.tanh(x)

    def two(x: Any) -> Any:
        return np.sin(x), np.sum(x)

    def f(x: Any) -> Any:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        y = jax.pure_callback(one, shape, x)
        s, total = jax.pure_callback(two, (shape, jax.ShapeDtypeStruct((), x.dtype)), y)
        jax.debug.callback(print, total)
        z = io_callback(one, shape, on.pin(s, "d", "m"), ordered=False)
        return z + on.pin(y, "m", "d"), total

    return jax.jit(f), (on.array((256, 256), "d", None),)


@program("d", "m")
def constants(on: Layout) -> Lowered:
    """Long dense constants, splats and small tables, some used at several places."""
    table = np.arange(1024, dtype=np.float32).reshape(32, 32) * 1.37
    flags = np.arange(64) % 3 == 0
    numbers = np.arange(20, dtype=np.int32).reshape(4, 5)

    def f(x: Any) -> Any:
        y = on.pin(x @ table + numbers.sum(), "d", P.UNCONSTRAINED)
        y = jnp.where(jnp.asarray(flags)[:32], y, np.float32("inf"))
        picked = jnp.take(jnp.asarray(numbers), jnp.argmax(y, axis=1) % 4, axis=0)
        z = on.pin(jnp.full((32, 32), 2.5), "m", None) @ on.pin(jnp.asarray(table), "m", None).T
        return y @ z, picked

    return jax.jit(f), (on.array((512, 32), ("d", "m"), None),)


@program("r0", "r1", "r2", "r3")
def constraints(on: Layout) -> Lowered:
    """One value led through many layouts, with open dimensions among them."""
    layouts = [
        (("r0", "r1"), "r2"),
        ("r2", ("r1", "r3")),
        (None, ("r3", "r0")),
        ("r1",),
        (),
        (P.UNCONSTRAINED, "r3"),
        (("r3", "r2", "r1", "r0"), None),
    ]

    def f(x: Any) -> Any:
        for layout in layouts:
            x = on.pin(on.pin(x * 2.0, *layout).T + 1.0, *layout)
        return x

    return jax.jit(f, out_shardings=on.named(None, ("r0", "r2"))), (on.array((512, 512), "r0", None),)


@program("batch", "space")
def convolutions(on: Layout) -> Lowered:
    """Convolutions, pooling, and their gradients: windows, select-and-scatter, padding, reverse."""

    def loss(w: Any, x: Any) -> Any:
        y = lax.conv_general_dilated(x, w[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = on.pin(jax.nn.relu(y), "batch", "space", None, None)
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        y = lax.conv_general_dilated(y, w[1], (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.mean(jnp.flip(jnp.pad(y, ((0, 0), (1, 1), (0, 2), (0, 0))), axis=1) ** 2)

    weights = [on.array((3, 3, 3, 8)), on.array((3, 3, 8, 16), None, None, None, "space")]
    x = on.array((32, 16, 16, 3), "batch", "space", None, None)
    return jax.jit(jax.value_and_grad(loss)), (weights, x)


@program("u", "v")
def indexing(on: Layout) -> Lowered:
    """Gathers, scatters with and without uniqueness, dynamic slices and updates, segment sums."""

    def f(table: Any, index: Any, x: Any) -> Any:
        rows = on.pin(table[index], "u", None)
        table = table.at[index].add(rows * 0.1).at[3, 4].set(1.0)
        table = lax.dynamic_update_slice(table, x[:8, :8], (index[0], 0))
        window = lax.dynamic_slice(on.pin(table, "v", "u"), (index[1], index[2]), (64, 64))
        sums = jax.ops.segment_sum(rows, index % 32, num_segments=32)
        return table, window, sums, jnp.sum(lax.cummax(x, axis=0), axis=1)

    arguments = (
        on.array((256, 128), "u", "v"),
        on.array((128,), "u", dtype=jnp.int32),
        on.array((128, 128), None, "v"),
    )
    return jax.jit(f, out_shardings=(on.named("u", "v"), None, None, None)), arguments


@program("i", "j")
def linear_algebra(on: Layout) -> Lowered:
    """Cholesky factors, triangular solves, transforms, complex numbers, small integers."""

    def f(a: Any, b: Any) -> Any:
        factor = jnp.linalg.cholesky(on.pin(a @ a.transpose(0, 2, 1), "i", None, None))
        solved = jax.scipy.linalg.solve_triangular(factor, b, lower=True)
        spectrum = jnp.fft.rfft(on.pin(solved, "i", "j", None))
        bits = lax.population_count(lax.bitcast_convert_type(solved, jnp.uint32)).astype(jnp.int8)
        return jnp.abs(spectrum), bits, lax.clamp(0.0, factor, 1.0).astype(jnp.bfloat16)

    return jax.jit(f), (on.array((64, 32, 32), "i", None, None), on.array((64, 32, 16), "i", None, "j"))


@program("x", "y", is_manual=True)
def manual_collectives(on: Layout) -> Lowered:
    """A fully manual computation with every collective."""
    nx, ny = on.mesh.shape["x"], on.mesh.shape["y"]

    def body(a: Any, b: Any) -> Any:
        gathered = lax.all_gather(b, "y", tiled=True)
        shifted = lax.ppermute(a, "x", [(i, (i + 1) % nx) for i in range(nx)])
        turned = lax.all_to_all(a, "y", split_axis=0, concat_axis=1, tiled=True)
        back = lax.all_to_all(turned, "y", split_axis=1, concat_axis=0, tiled=True)
        return a + lax.psum(a * 2, "x") + shifted + back, b + lax.psum_scatter(gathered, "y", tiled=True)

    specs = (P("x", "y"), P("y"))
    f = jax.shard_map(body, mesh=on.mesh, in_specs=specs, out_specs=specs, check_vma=False)
    size = 4 * nx * ny * ny
    return jax.jit(f), (on.array((size, size), "x", "y"), on.array((size * ny,), "y"))


@program("x", "y", "z", is_manual=True)
def manual_axes(on: Layout) -> Lowered:
    """Computations that are manual over one axis only, one inside the other, with constraints inside."""

    def inner(a: Any) -> Any:
        return lax.psum(a, "y") * 0.5

    def body(a: Any) -> Any:
        a = jnp.sin(a) + lax.pmean(a, "x")
        b = jax.shard_map(
            inner, in_specs=P(None, "y"), out_specs=P(None, None), axis_names={"y"}, check_vma=False
        )(a)
        return a * jnp.sum(b)

    f = jax.shard_map(
        body, mesh=on.mesh, in_specs=P("x", None), out_specs=P("x", None), axis_names={"x"}, check_vma=False
    )
    return jax.jit(f), (on.array((1024, 64 * on.mesh.shape["y"]), "x", "z"),)


@program("x", "y", is_manual=True)
def manual_layers(on: Layout) -> Lowered:
    """A loop over layers, each of them manual over one axis, with functions called in and out of them."""

    def layer(a: Any, w: Any) -> Any:
        return jax.nn.relu(lax.psum(jax.nn.silu(a @ w), "x")), jnp.argmax(a, axis=1)

    def body(a: Any, w: Any) -> Any:
        specs = (P(None, "x"), P("x", None)), (P(None, None), P(None))
        step = jax.shard_map(
            layer, mesh=on.mesh, in_specs=specs[0], out_specs=specs[1], axis_names={"x"}, check_vma=False
        )
        new, best = step(a, w)
        return on.pin(jax.nn.relu(new - 0.1), None, "y"), best

    weights = on.array((3, 64, 64), None, "x", None)
    return jax.jit(lambda a, w: lax.scan(body, a, w)), (on.array((32, 64), "y", None), weights)


@program("data", "tensor")
def attention(on: Layout) -> Lowered:
    """Causal attention with heads spread over an axis, forward and backward."""
    heads, size = 16, 8

    def loss(w: Any, x: Any) -> Any:
        def split(name: str) -> Any:
            return on.pin((x @ w[name]).reshape(*x.shape[:2], heads, size), "data", None, "tensor", None)

        query, key, value = split("query"), split("key"), split("value")
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / size**0.5
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), value)
        return jnp.mean((mixed.reshape(*x.shape[:2], heads * size) @ w["out"] - x) ** 2)

    width = heads * size
    weights = {name: on.array((width, width), None, "tensor") for name in ("query", "key", "value")}
    weights["out"] = on.array((width, width), "tensor", None)
    return jax.jit(jax.value_and_grad(loss)), (weights, on.array((32, 32, width), "data", None, None))


@program("data", "tensor")
def adam_step(on: Layout) -> Lowered:
    """Embeddings looked up and used again for the logits, a cross entropy, and Adam with its two moments."""

    def loss(w: Any, tokens: Any) -> Any:
        x = on.pin(w["table"][tokens], "data", None, None)
        scale = w["scale"] * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
        x = x + on.pin(jax.nn.silu((x * scale) @ w["up"]), "data", None, "tensor") @ w["down"]
        chances = jax.nn.log_softmax(on.pin(x @ w["table"].T, "data", None, "tensor"))
        return -jnp.mean(jnp.take_along_axis(chances, tokens[..., None], axis=-1))

    def step(w: Any, first: Any, second: Any, tokens: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(w, tokens)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
        new = jax.tree.map(lambda a, m, v: a - 0.01 * m / (jnp.sqrt(jnp.abs(v)) + 1e-3), w, first, second)
        return new, first, second, value

    weights = {
        "table": on.array((64, 32), "tensor", None),
        "scale": on.array((32,)),
        "up": on.array((32, 64), None, "tensor"),
        "down": on.array((64, 32), "tensor", None),
    }
    layout = jax.tree.map(lambda w: w.sharding, weights)
    step = jax.jit(step, out_shardings=(layout, layout, layout, on.named()), donate_argnums=(0, 1, 2))
    return step, (weights, weights, weights, on.array((32, 16), "data", None, dtype=jnp.int32))


@program("x", "y", "z", is_manual=True)
def manual_blocks(on: Layout) -> Lowered:
    """Blocks that are manual over one axis, each with one inside over another, and where a device is."""
    parts = on.mesh.shape["y"]

    def inner(a: Any) -> Any:
        return lax.psum(a, "y") * 0.5

    def body(a: Any) -> Any:
        inside = jax.shard_map(
            inner, in_specs=P(None, "y"), out_specs=P(None, None), axis_names={"y"}, check_vma=False
        )
        for _ in range(2):
            a = jnp.sin(a) + lax.pmean(a, "x") + lax.axis_index("x").astype(a.dtype)
            a = jnp.concatenate([inside(a)] * parts, axis=1)
        return a

    f = jax.shard_map(
        body, mesh=on.mesh, in_specs=P("x", None), out_specs=P("x", None), axis_names={"x"}, check_vma=False
    )
    return jax.jit(f), (on.array((1024, 64 * parts), "x", "z"),)
