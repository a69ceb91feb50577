"""`python -m sdybridge.storage.lldb` prints the path of the script for lldb: `command script import` it."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("lldb_script.py")

if __name__ == "__main__":
    print(SCRIPT)
