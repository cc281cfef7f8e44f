"""What the validator of the package finds of damages to stores of 0.9, beside what ours found. Argument: the folder of `detect`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from zarr_vectors.validate import validate

SECONDS = 30


class Late(Exception):
    pass


def late(*_):
    raise Late


def findings(store: Path) -> Counter:
    """Errors and warnings, as text, of the deepest level."""
    result = validate(str(store), level=5)
    return Counter(map(str, list(result.errors) + list(result.warnings)))


def judged(store: Path) -> tuple[str, Counter]:
    signal.alarm(SECONDS)
    try:
        return "report", findings(store)
    except Late:
        return "hung", Counter()
    except Exception:  # whatever it raises is what a user would see
        return "crashed", Counter()
    finally:
        signal.alarm(0)


def broken(folder: Path, trial: dict, into: Path) -> Path:
    """The damaged store: links to the files of the good one, and what is changed."""
    good = folder / "good" / trial["case"]
    store = into / "store.zarrvectors"
    shutil.copytree(good, store, copy_function=os.link)
    for key in trial["gone"]:
        (store / key).unlink()
    for number, key in enumerate(trial["put"]):
        path = store / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a link to the good file must not be written through
        shutil.copyfile(folder / "changed" / str(trial["number"]) / str(number), path)
    return store


def main() -> None:
    folder = Path(sys.argv[1])
    trials = json.loads((folder / "trials.json").read_text())
    signal.signal(signal.SIGALRM, late)
    good: dict[str, Counter] = {}
    rows: dict[tuple[str, str], Counter] = {}
    for trial in trials:
        case = trial["case"]
        if case not in good:
            good[case] = judged(folder / "good" / case)[1]
        with tempfile.TemporaryDirectory(dir=folder) as into:
            end, found = judged(broken(folder, trial, Path(into)))
        if end == "report":
            end = "found" if found - good[case] else "missed"
        target = "documents" if trial["metadata"] else "data"
        row = rows.setdefault((target, trial["verdict"]), Counter())
        row["all"] += 1
        row[end] += 1
        row["ours"] += trial["found"]
    words = {"broken": "a rule is broken", "free": "no rule is about it", "nothing": "nothing readable changed"}
    print("\n| stores of 0.9 | | damages | found by us | found by the package | missed | crashed | hung |")
    print("|---|---|---|---|---|---|---|---|")
    for (target, verdict), row in sorted(rows.items()):
        cells = [row[name] for name in ("all", "ours", "found", "missed", "crashed", "hung")]
        print(f"| {target} | {words[verdict]} | " + " | ".join(map(str, cells)) + " |")


main()
