"""How soon a browser shows large stores: the viewer of `zvf serve` in a headless Chromium, one store after another.

Usage: first_picture.py ZVF FOLDER STORE...

ZVF is a release build with the viewer in it. For each store it prints the time from the page's address to the first picture with
data in it and to the last one, the requests and the largest answer, and the most memory that the server used; then the answers that
took longest. FOLDER gets both pictures and the log of requests.
"""

import json
import pathlib
import shutil
import sys
import time
import urllib.parse

import camera
from browser import READY, Embedded, Server

# Coloured pixels of a picture that shows data; axes and default annotations are switched off.
SHOWN = 1000

# What a picture may take, an answer and the server's memory.
SECONDS, ANSWER, MEMORY = 5.0, 4_000_000, 256_000_000


def memory(process):
    """The most memory of a process, in bytes."""
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def first_picture(server, folder):
    """Opens the page; the seconds to the first picture with data, and to the one that has everything."""
    state = server.json("/state.json")
    plain = {**state, "showAxisLines": False, "showDefaultAnnotations": False, "showScaleBar": False}
    browser = Embedded(server)
    try:
        browser.driver.get("about:blank")
        start = time.time()
        browser.driver.get(f"{server.url}/#!" + urllib.parse.quote(json.dumps(plain)))
        browser.ask(
            "const hide = () => window.viewer ? (viewer.uiConfiguration.showUIControls.value = false,"
            " viewer.uiConfiguration.showPanelBorders.value = false) : setTimeout(hide, 20); hide()"
        )
        first = None
        quiet, before = 0, None
        while quiet < 4:
            if time.time() > start + 300:
                raise SystemExit("the page is not ready after five minutes")
            image = browser.driver.get_screenshot_as_png()
            if first is None and int(camera.coloured(image).sum()) > SHOWN:
                first = time.time() - start
                (folder / "first.png").write_bytes(image)
            asked = len(server.requests())
            quiet = quiet + 1 if first and browser.ask(READY, len(state["layers"])) and asked == before else 0
            if asked != before:
                last = time.time() - start
            before = asked
            time.sleep(0.1)
        (folder / "last.png").write_bytes(browser.driver.get_screenshot_as_png())
        browser.settled()
        return first, last
    finally:
        browser.stop()


def main():
    zvf, folder, *stores = sys.argv[1:]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    late = 0
    for path in map(pathlib.Path, stores):
        own = folder / path.name
        own.mkdir(parents=True)
        with Server(zvf, {path.stem: path.resolve()}, own) as server:
            first, last = first_picture(server, own)
            most = memory(server.process)
        answers = [one for one in server.requests() if one[1].startswith("/precomputed/")]
        largest = max(int(one[4]) for one in answers)
        print(
            f"{path.name}: first picture after {first:.1f} s, all requests sent after {last:.1f} s; {len(answers)} answers with data, "
            f"the largest {largest / 1e6:.1f} MB; server at most {most / 1e6:.0f} MB"
        )
        for _, path, _, _, size, milliseconds in sorted(answers, key=lambda one: -float(one[5]))[:5]:
            print(f"  {milliseconds:>8} ms {size:>9} bytes {path}")
        late += first > SECONDS or largest > ANSWER or most > MEMORY
    if late:
        raise SystemExit(f"{late} of {len(stores)} stores miss {SECONDS:.0f} s, {ANSWER} bytes an answer or {MEMORY} bytes of memory")


main()
