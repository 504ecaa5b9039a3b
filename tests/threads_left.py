"""Runs a command of xformer's as one of several processes; says how many models still
hold its process group when that is destroyed, and at the end by name which threads of
this process are left."""

import gc
import sys
from pathlib import Path

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from xformer.__main__ import main

if __name__ == "__main__":
    destroy = dist.destroy_process_group

    def counted() -> None:
        holders = sum(
            isinstance(one, DistributedDataParallel) for one in gc.get_objects()
        )
        # at once, as the other process writes to the same place
        sys.stdout.write(f"holders left: {holders}\n")
        destroy()

    dist.destroy_process_group = counted
    status = main(sys.argv[1:])
    print(
        "threads left:",
        *(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")),
        flush=True,
    )
    sys.exit(status)
