"""A process that compiles kernels: lines of the table on stdin, one answer per line on stdout.

    python -m dancematch.search.kernels.compile_kernels

The answer is `yes` if the kernel lies in the kernel folder, else `no`. It ends with its stdin.
"""

import os
import sys
from contextlib import suppress

from dancematch.search.kernels.table import read_signature

LOW_PRIORITY = "--low-priority"


def compile_line(line: str) -> bool:
    """Compile one line of the table unless that was done before; whether it lies on disk."""
    signature = read_signature(line)
    path = signature.kernel._cache.path(signature.types)
    if not path.exists():
        signature.kernel.compile(signature.types)
    return bool(path.exists())


def main() -> None:
    """Answer each line."""
    if LOW_PRIORITY in sys.argv:
        with suppress(AttributeError, OSError):  # not on every system
            os.nice(10)
    for line in sys.stdin:
        print("yes" if compile_line(line.rstrip("\n")) else "no", flush=True)


if __name__ == "__main__":
    main()
