"""Runs a command, and prints as JSON its exit code, seconds, CPU seconds, the most KiB that it had resident, and what it said on stderr.

    measured.py COMMAND [ARGUMENT …]

A process of its own between the caller and the command: the peak of a child begins with what its parent holds.
"""

import json
import resource
import subprocess
import sys
import time

if __name__ == "__main__":
    start = time.perf_counter()
    done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = done.stderr.decode(errors="replace")
    print(json.dumps([done.returncode, wall, used.ru_utime + used.ru_stime, used.ru_maxrss, said]))
