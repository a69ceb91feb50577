"""`python -m sdybridge.storage.gdb` prints the path of the script for gdb: `source` it, or use `gdb -ix`."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("gdb_script.py")

if __name__ == "__main__":
    print(SCRIPT)
