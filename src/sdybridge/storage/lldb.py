"""`python -m sdybridge.storage.lldb` prints the path of the script for lldb, for `command script import`."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("lldb_script.py")

if __name__ == "__main__":
    print(SCRIPT)
