"""The C++ storage of Shardy's attributes: read it from memory, write it, and show it.

    >>> from sdybridge.sdy import TensorShardingAttr
    >>> sharding = TensorShardingAttr.from_string('#sdy.sharding<@mesh, [{"x", ?}p1, {}]>')
    >>> image = write_attribute(sharding, base=0x7F0000)
    >>> print(read_attribute(image, 0x7F0000))
    #sdy.sharding<@mesh, [{"x", ?}p1, {}]>

`ProcessMemory` and `CoreMemory` read a process and a core dump. Scripts for gdb and lldb:
`python -m sdybridge.storage.gdb` and `python -m sdybridge.storage.lldb` print their paths.
"""

from __future__ import annotations

from sdybridge.storage.core_dump import CoreMemory as CoreMemory
from sdybridge.storage.detection import find_build as find_build
from sdybridge.storage.hlo_layouts import HLO_LAYOUTS as HLO_LAYOUTS
from sdybridge.storage.layouts import BUILDS as BUILDS
from sdybridge.storage.layouts import CURRENT as CURRENT
from sdybridge.storage.layouts import NEWER as NEWER
from sdybridge.storage.layouts import Build as Build
from sdybridge.storage.layouts import Confidence as Confidence
from sdybridge.storage.layouts import Field as Field
from sdybridge.storage.layouts import Kind as Kind
from sdybridge.storage.layouts import Layout as Layout
from sdybridge.storage.memory import BytesMemory as BytesMemory
from sdybridge.storage.memory import Memory as Memory
from sdybridge.storage.memory import ProcessMemory as ProcessMemory
from sdybridge.storage.reader import Symbol as Symbol
from sdybridge.storage.reader import read_attribute as read_attribute
from sdybridge.storage.reader import read_value as read_value
from sdybridge.storage.writer import Block as Block
from sdybridge.storage.writer import Image as Image
from sdybridge.storage.writer import Part as Part
from sdybridge.storage.writer import write_attribute as write_attribute
