#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions a forwarded packet, counted by callgrind: the same on every machine and in any noise.

  instructions.py MERLON_PERF MOST    ends with 1 when a packet takes more than MOST instructions

Counted is Worker::turn() with all it calls, on known UDP conversations: the engine and the synthetic source, which
takes 53 of them."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def count(program):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
             "--toggle-collect=merlon::engine::Worker::turn()", program, "instructions", "--packets", "300000",
             "--sessions", "4096"], capture_output=True, text=True, check=False)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not found:
            sys.exit("callgrind failed:\n" + done.stderr[-2000:])
        return int(found[1]) / json.loads(done.stdout.splitlines()[-1])["packets"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    each, most = count(sys.argv[1]), float(sys.argv[2])
    print(f"{each:.1f} instructions a packet, at most {most:g} are allowed")
    return 0 if 0 < each <= most else 1


if __name__ == "__main__":
    sys.exit(main())
