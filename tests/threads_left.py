"""Runs a command of xformer's, then says by name which threads of this process are left."""

import sys
from pathlib import Path

from xformer.__main__ import main

if __name__ == "__main__":
    status = main(sys.argv[1:])
    print("threads left:", *(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")), flush=True)
    sys.exit(status)
