"""The program `zvf`, as `zvf` and as `python -m zvf`."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the program with the command line of this process."""
    from . import _zvf

    # The exit code is the class of the failure.
    sys.exit(_zvf.run_program(["zvf", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
