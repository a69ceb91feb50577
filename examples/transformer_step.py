"""A transformer training step as JAX lowers it: the StableHLO module that examples and benchmarks convert.

    python examples/transformer_step.py > examples/transformer_step.mlir

The model is a small decoder (attention with rotary embeddings, gated MLP, tied embeddings) with Adam, laid
out the way large models are: batches over `data` and `fsdp`, each weight cut over `fsdp` along one dimension
and over `tensor` along the other, activations pinned by sharding constraints. It is lowered against an
abstract mesh, so any number of devices works on any machine. The text has Shardy shardings where JAX puts
them: on the arguments and results of functions and in constraints, with closed and open dimensions.

`--layers` makes it as long as a benchmark needs: 190 layers pass 10 MB.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

VOCABULARY, WIDTH, HIDDEN, HEADS, HEAD_SIZE = 32768, 1024, 4096, 16, 64
BATCH, SEQUENCE = 64, 512
BATCH_AXES = ("data", "fsdp")

Weights = dict[str, jax.Array]


class Parameters(NamedTuple):
    """All weights of the model."""

    embedding: jax.Array
    layers: list[Weights]


@dataclasses.dataclass(frozen=True)
class Model:
    """Where the parts of the model live on one mesh."""

    mesh: AbstractMesh
    has_manual_mlp: bool = False

    def constrain(self, x: jax.Array, *spec: object) -> jax.Array:
        """`x`, pinned to a layout with one entry per dimension."""
        return lax.with_sharding_constraint(x, NamedSharding(self.mesh, P(*spec)))

    def weight(self, *shape: int, spec: P) -> jax.ShapeDtypeStruct:
        """A float32 parameter, without its values."""
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(self.mesh, spec))

    def parameters(self, layers: int) -> Parameters:
        """The weights, without their values; each matrix is cut along both dimensions."""
        layer = {
            "norm_attention": self.weight(WIDTH, spec=P()),
            "query": self.weight(WIDTH, HEADS * HEAD_SIZE, spec=P("fsdp", "tensor")),
            "key": self.weight(WIDTH, HEADS * HEAD_SIZE, spec=P("fsdp", "tensor")),
            "value": self.weight(WIDTH, HEADS * HEAD_SIZE, spec=P("fsdp", "tensor")),
            "out": self.weight(HEADS * HEAD_SIZE, WIDTH, spec=P("tensor", "fsdp")),
            "norm_mlp": self.weight(WIDTH, spec=P()),
            "gate": self.weight(WIDTH, HIDDEN, spec=P("fsdp", "tensor")),
            "up": self.weight(WIDTH, HIDDEN, spec=P("fsdp", "tensor")),
            "down": self.weight(HIDDEN, WIDTH, spec=P("tensor", "fsdp")),
        }
        embedding = self.weight(VOCABULARY, WIDTH, spec=P("tensor", "fsdp"))
        return Parameters(embedding, [dict(layer) for _ in range(layers)])

    def attention(self, weights: Weights, x: jax.Array) -> jax.Array:
        """Causal self-attention; the heads are spread over `tensor`."""

        def heads(name: str) -> jax.Array:
            y = (x @ weights[name]).reshape(*x.shape[:2], HEADS, HEAD_SIZE)
            return self.constrain(y, BATCH_AXES, None, "tensor", None)

        query, key = rotate(heads("query")), rotate(heads("key"))
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / HEAD_SIZE**0.5
        causal = jnp.tril(jnp.ones((SEQUENCE, SEQUENCE), bool))
        probabilities = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", probabilities, heads("value"))
        return mixed.reshape(*x.shape[:2], HEADS * HEAD_SIZE) @ weights["out"]

    def mlp(self, weights: Weights, x: jax.Array) -> jax.Array:
        """Gated MLP; the hidden dimension is spread over `tensor`."""
        if self.has_manual_mlp:
            return self.manual_mlp(weights, x)
        hidden = jax.nn.silu(x @ weights["gate"]) * (x @ weights["up"])
        return self.constrain(hidden, BATCH_AXES, P.UNCONSTRAINED, "tensor") @ weights["down"]

    def manual_mlp(self, weights: Weights, x: jax.Array) -> jax.Array:
        """The same, where each device along `tensor` computes its part, and the parts are summed."""

        def part(x: jax.Array, gate: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
            return lax.psum((jax.nn.silu(x @ gate) * (x @ up)) @ down, "tensor")

        return jax.shard_map(
            part,
            mesh=self.mesh,
            in_specs=(P(), P(None, "tensor"), P(None, "tensor"), P("tensor", None)),
            out_specs=P(),
            axis_names={"tensor"},
            check_vma=False,
        )(x, weights["gate"], weights["up"], weights["down"])

    def loss(self, parameters: Parameters, tokens: jax.Array) -> jax.Array:
        """Mean cross entropy of the next token."""
        x = self.constrain(parameters.embedding[tokens], BATCH_AXES, None, None)
        for weights in parameters.layers:
            x = x + self.attention(weights, normalize(x, weights["norm_attention"]))
            x = x + self.mlp(weights, normalize(x, weights["norm_mlp"]))
            x = self.constrain(x, BATCH_AXES, None, None)
        logits = self.constrain(x @ parameters.embedding.T, BATCH_AXES, None, "tensor")
        log_probabilities = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.mean(jnp.take_along_axis(log_probabilities, tokens[:, 1:, None], axis=-1))


def normalize(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Root-mean-square norm over the last dimension."""
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def rotate(x: jax.Array) -> jax.Array:
    """Rotary position embedding of `[batch, position, head, channel]`."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None, None] / 10000 ** (jnp.arange(half) / half)
    left, right = jnp.split(x, 2, axis=-1)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def split_devices(devices: int) -> tuple[int, int, int]:
    """Sizes of `data`, `fsdp` and `tensor` for a power of two of devices; the last gets the rest."""
    bits = devices.bit_length() - 1
    return 1 << bits // 3, 1 << (bits + 1) // 3, devices >> bits // 3 >> (bits + 1) // 3


def build(layers: int = 2, devices: int = 128, *, has_manual_mlp: bool = False) -> str:
    """The module's text.

    Args:
        layers: Number of transformer layers; the text grows by about 54 KB for each.
        devices: Size of the mesh, a power of two from 1 to 512.
        has_manual_mlp: Whether the MLP of each layer is a manual computation over `tensor` (`shard_map`).
    """
    mesh = AbstractMesh(split_devices(devices), ("data", "fsdp", "tensor"))
    model = Model(mesh, has_manual_mlp)

    def training_step(
        parameters: Parameters, mean: Parameters, spread: Parameters, tokens: jax.Array
    ) -> tuple[Parameters, Parameters, Parameters, jax.Array]:
        loss, gradient = jax.value_and_grad(model.loss)(parameters, tokens)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        spread = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, spread, gradient)
        parameters = jax.tree.map(
            lambda p, m, s: p - 3e-4 * m / (jnp.sqrt(s) + 1e-8), parameters, mean, spread
        )
        return parameters, mean, spread, loss

    parameters = model.parameters(layers)
    layout = jax.tree.map(lambda weight: weight.sharding, parameters)
    tokens = jax.ShapeDtypeStruct(
        (BATCH, SEQUENCE), jnp.int32, sharding=NamedSharding(mesh, P(BATCH_AXES, None))
    )
    step = jax.jit(
        training_step,
        out_shardings=(layout, layout, layout, NamedSharding(mesh, P())),
        donate_argnums=(0, 1, 2),
    )
    traced = step.trace(parameters, parameters, parameters, tokens)
    text: str = traced.lower(lowering_platforms=("cpu",)).as_text()
    return text


def main() -> None:
    """Print the module."""
    parser = argparse.ArgumentParser(
        description="Print a transformer training step as StableHLO with Shardy."
    )
    parser.add_argument("--layers", type=int, default=2, help="transformer layers (default: %(default)s)")
    parser.add_argument("--devices", type=int, default=128, help="devices of the mesh (default: %(default)s)")
    parser.add_argument("--manual-mlp", action="store_true", help="the MLP is a manual computation")
    arguments = parser.parse_args()
    print(build(arguments.layers, arguments.devices, has_manual_mlp=arguments.manual_mlp), end="")


if __name__ == "__main__":
    main()
