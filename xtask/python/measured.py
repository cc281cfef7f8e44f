"""Runs a command, and prints as JSON its exit code, seconds, CPU seconds, the most KiB that it had resident, and what it said on stderr.

    measured.py [--report FILE] COMMAND [ARGUMENT …]

With a FILE that gets it, the command says what it says, and its exit code is this one's, too.
A process of its own between the caller and the command: the peak of a child begins with what its parent holds.
"""

import json
import resource
import subprocess
import sys
import time

if __name__ == "__main__":
    report, command = (sys.argv[2], sys.argv[3:]) if sys.argv[1] == "--report" else (None, sys.argv[1:])
    quiet = {} if report else {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    start = time.perf_counter()
    done = subprocess.run(command, **quiet)
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = (done.stderr or b"").decode(errors="replace")
    text = json.dumps([done.returncode, wall, used.ru_utime + used.ru_stime, used.ru_maxrss, said])
    if report:
        with open(report, "w") as file:
            file.write(text)
        # A command that a signal ended has no exit code of its own.
        sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
    print(text)
