"""Types of tensors as text."""

from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.hlo.element_types import element_bits, size_text
from sdybridge.view.tensor_type import TensorType


@pytest.mark.parametrize(
    ("text", "shape", "element", "size"),
    [
        ("f32[64,128]", (64, 128), "f32", 32768),
        ("f32[64,128]{1,0:T(8,128)}", (64, 128), "f32", 32768),
        (" bf16[8] ", (8,), "bf16", 16),
        ("f32[]", (), "f32", 4),
        ("f32[<=8,2]", (8, 2), "f32", 64),
        ("pred[3]", (3,), "pred", 3),
        ("tensor<64x128xf32>", (64, 128), "f32", 32768),
        ("tensor<f32>", (), "f32", 4),
        ("tensor<4x?xf32>", (4, None), "f32", None),
        ("tensor<2xcomplex<f64>>", (2,), "complex<f64>", 32),
        ("tensor<8xi1>", (8,), "i1", 8),
        ("tensor<8x!quant.uniform<i8:f32, 1.0>>", (8,), "!quant.uniform<i8:f32, 1.0>", 8),
        ("64,128", (64, 128), "", None),
        ("[64, 128]", (64, 128), "", None),
        ("(7,)", (7,), "", None),
        ("64x128", (64, 128), "", None),
        ("126", (126,), "", None),
        ("[]", (), "", None),
    ],
)
def test_types(text: str, shape: tuple[int | None, ...], element: str, size: int | None) -> None:
    tensor = TensorType.from_string(text)
    assert (tensor.shape, tensor.element, tensor.bytes) == (shape, element, size)
    assert tensor.is_static is (None not in shape)
    if element and "<" not in element:
        assert TensorType.from_string(str(tensor).replace("?", "?")) == tensor


@pytest.mark.parametrize(
    "text", ["f32[4", "f32[4,x]", "hello", "f32[-1]", "tensor<4xf32", "1" * 30, "f32[1.5]"]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ParseError, match="no type of a tensor") as caught:
        TensorType.from_string(text)
    assert "tensor<64x128xf32>" in str(caught.value)


@pytest.mark.parametrize(
    ("element", "bits"),
    [
        ("f32", 32),
        ("s4", 4),
        ("i4", 4),
        ("ui8", 8),
        ("f8E4M3FN", 8),
        ("c128", 128),
        ("token", 0),
        ("foo", None),
    ],
)
def test_elements(element: str, bits: int | None) -> None:
    assert element_bits(element) == bits


def test_bytes_in_units() -> None:
    assert [size_text(n) for n in (0, 1, 1023, 1024, 1536, 1 << 20, 1 << 60)] == [
        "0 B",
        "1 B",
        "1023 B",
        "1.0 KiB",
        "1.5 KiB",
        "1.0 MiB",
        "1024.0 PiB",
    ]
