"""`zvf serve` beside programs of others: the released Neuroglancer in a headless Chromium, cloud-volume, and the reader of
annotations of the neuroglancer package. Neuroglancer's pictures are compared with those of `zvf plot`.

Usage: browser.py ZVF TESTDATA FOLDER [--no-browser] [--viewer PROGRAM] [--picture FILE] [--page FILE]

PROGRAM is a `zvf` with the viewer in it, whose page draws the same layers again. FILE gets a picture of a neuron, or of that page.

What they read or draw is compared with `zvf query` and `zvf get` of the same store, and with the request log of the server.
"""

import collections
import http.server
import io
import json
import logging
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import urllib.parse
import urllib.request

import numpy as np
import pyarrow as pa

import camera
from arrow_rows import arrow, rows

STORES = {
    "synapses": "0.9/real_synapses",
    "points": "0.9/points_ids",
    "added": "0.9.4/additive_points",
    "tracts": "0.9/real_tractogram",
    "lines": "0.9/lines",
    "neuron": "0.9/real_skeleton",
    "graph": "0.9/graph",
    "mesh": "0.9/real_mesh",
    "levels": "0.9/real_mesh",
}
# Factors of the levels that a store gets.
PYRAMIDS = {"levels": "2,4"}
POINTS = ["synapses", "points", "added"]
SKELETONS = ["neuron", "graph", "tracts", "lines"]
MESHES = ["mesh", "levels"]


def check(condition, what):
    if not condition:
        raise SystemExit(f"browser: {what}")


def unpack(zvf, testdata, folder):
    """The bundled stores, each under a name of its own, some with levels."""
    stores = {}
    for name, case in STORES.items():
        with tarfile.open(testdata / "zvf" / f"{case}.tar.gz") as archive:
            archive.extractall(folder / name, filter="data")
        inside = folder / name / pathlib.Path(case).name / "store.zarrvectors"
        stores[name] = folder / f"{name}.zarrvectors"
        shutil.move(inside, stores[name])
        if name in PYRAMIDS:
            command = [zvf, "pyramid", str(stores[name]), "--factors", PYRAMIDS[name], "-q"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return stores


class Server:
    """A running `zvf serve` and the lines of its request log."""

    def __init__(self, zvf, stores, folder):
        self.path = folder / "requests.log"
        self.log = open(self.path, "wb")
        paths = [str(path) for path in stores.values()]
        self.process = subprocess.Popen(
            [zvf, "serve", "--log-requests", *paths], stdout=subprocess.PIPE, stderr=self.log
        )
        line = self.process.stdout.readline().decode().strip()
        check(line.startswith("listening on http://127.0.0.1:"), f"first line: {line!r}")
        self.url = line.removeprefix("listening on ")

    def mark(self):
        self.at = len(self.requests())

    def requests(self):
        lines = self.path.read_text().splitlines()
        return [line.removeprefix("zvf: ").split(" ") for line in lines]

    def since(self):
        return self.requests()[self.at :]

    def json(self, path):
        with urllib.request.urlopen(self.url + path) as reply:
            return json.load(reply)

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self.stop()
        else:
            self.process.kill()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=30)
        self.log.close()
        check(code == 0, f"the server ended with {code}")


class Files:
    """Exports of the stores of a server, in shards, behind a server of files that knows ranges and nothing of our formats."""

    def __init__(self, zvf, server, stores, folder):
        self.server, self.folder, self.log = server, folder, []
        folder.mkdir()
        for name, store in stores.items():
            command = [zvf, "export", str(store), str(folder / name), "--format", "precomputed", "--shards", "1", "--quiet"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            check(list(folder.glob(f"{name}/**/*.shard")) or name in MESHES, f"{name}: no shard")
        files = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = folder / urllib.parse.unquote(self.path).lstrip("/")
                wanted = self.headers.get("Range")
                body, status = (path.read_bytes(), 200) if path.is_file() else (b"", 404)
                if wanted and status == 200:
                    first, last = wanted.removeprefix("bytes=").split("-")
                    body = body[int(first) : int(last) + 1] if first else body[-int(last) :]
                    status = 206
                files.log.append((self.command, self.path, wanted or "-", str(status)))
                self.send_response(status)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_OPTIONS(self):
                self.send_response(204)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Access-Control-Allow-Headers", "Range")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def mark(self):
        self.at = len(self.log)

    def since(self):
        return self.log[self.at :]

    def json(self, path):
        """A document of the export, or one of the server with the addresses of the export."""
        if path.startswith("/precomputed/"):
            return json.loads((self.folder / path.removeprefix("/precomputed/")).read_text())
        with urllib.request.urlopen(self.server.url + path) as reply:
            return json.loads(reply.read().decode().replace(f"{self.server.url}/precomputed/", f"{self.url}/"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()


def whole(values, kind):
    """Values of a property: a missing whole number is 0."""
    if np.issubdtype(kind, np.integer):
        values = np.nan_to_num(values)
    return values.astype(kind)


def counted(parts):
    """Rows of columns as bytes, with how often each comes."""
    parts = [np.ascontiguousarray(part) for part in parts]
    return collections.Counter(tuple(part[i].tobytes() for part in parts) for i in range(len(parts[0])))


def points(zvf, server, stores, folder):
    """Every point with its properties, once, through the reader of the neuroglancer package."""
    from neuroglancer.read_precomputed_annotations import AnnotationReader

    for name in POINTS:
        out = folder / f"{name}.arrow"
        subprocess.run([zvf, "query", str(stores[name]), "-o", str(out), "-q"], check=True, stdout=subprocess.DEVNULL)
        table = arrow(out)
        reader = AnnotationReader(f"{server.url}/precomputed/{name}/points")
        found = list(reader.get_within_spatial_bounds())
        check(len(found) == table.num_rows, f"{name}: {len(found)} points, expected {table.num_rows}")
        check(len({one.id for one in found}) == len(found), f"{name}: an id comes twice")
        wanted = [rows(table["position"]).astype("<f4")]
        got = [np.array([one.point for one in found]).astype("<f4")]
        specs = server.json(f"/precomputed/{name}/points/info")["properties"]
        for number, spec in enumerate(specs):
            column = spec["id"] if spec["id"] in table.column_names else None
            if column is None or pa.types.is_dictionary(table[column].type):
                continue
            wanted.append(whole(rows(table[column]), spec["type"]))
            got.append(np.array([one.props[number] for one in found]).reshape(len(found), -1).astype(spec["type"]))
        check(counted(got) == counted(wanted), f"{name}: other points")
        one = reader.by_id[int(found[0].id)]
        check(np.array_equal(one.point, found[0].point), f"{name}: another point by id")
        for relation, lists in reader.relationships.items():
            segments = [int(s) for s in one.segments[list(reader.relationships).index(relation)]]
            for segment in segments:
                check(found[0].id in {other.id for other in lists[segment]}, f"{name}: not by {relation}")
        print(f"points     {name}: {len(found)} read once, {len(wanted) - 1} properties, {len(reader.spatial)} spatial levels")


def volume(server, name, mesh="meshes"):
    """A store as cloud-volume opens segmentations."""
    from cloud import segmentation

    return segmentation(f"precomputed://{server.url}/precomputed/{name}", mesh=mesh)


def one_object(zvf, store, segment, folder):
    out = folder / "object"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([zvf, "get", str(store), segment, "-o", str(out) + "/", "-q"], check=True, stdout=subprocess.DEVNULL)
    links = rows(arrow(out / "links.arrow")["vertices"]).astype(np.int64)
    return rows(arrow(out / "vertices.arrow")["position"]).astype(np.float64), links


def nanometres(server, name):
    """How many nanometres a unit of a store is, by its document."""
    root = server.json(f"/store/{name}/zarr.json")["attributes"]
    scales = {"nanometer": 1.0, "micrometer": 1e3, "millimeter": 1e6}
    return np.array([scales.get(axis.get("unit"), 1.0) for axis in root["multiscales"][0]["axes"]])


def segments(server, name, view):
    found = server.json(f"/precomputed/{name}/{view}/properties/info")
    return found["inline"]["ids"]


def skeletons(zvf, server, stores, folder):
    for name in SKELETONS:
        cv, scale = volume(server, name), nanometres(server, name)
        total = [0, 0]
        ids = segments(server, name, "skeletons")
        for segment in ids[:25]:
            positions, links = one_object(zvf, stores[name], segment, folder)
            found = cv.skeleton.get(int(segment))
            wanted = (positions.astype(np.float32).astype(np.float64) * scale).astype(np.float32)
            check(
                np.allclose(found.physical_space(copy=True).vertices, wanted, rtol=1e-6),
                f"{name} {segment}: other vertices",
            )
            check(
                {tuple(edge) for edge in found.edges.tolist()} == {tuple(edge) for edge in links.tolist()},
                f"{name} {segment}: other edges",
            )
            total[0] += len(wanted)
            total[1] += len(links)
        print(f"skeletons  {name}: {min(len(ids), 25)} of {len(ids)} equal, {total[0]} vertices, {total[1]} edges")


def triangles(positions, faces):
    """Triangles as sets of corners, with how often each comes."""
    corners = np.ascontiguousarray(positions.astype("<f4"))[faces]
    return collections.Counter(tuple(sorted(corner.tobytes() for corner in face)) for face in corners)


def meshes(zvf, server, stores, folder):
    for name in MESHES:
        cv, scale = volume(server, name), nanometres(server, name)
        ids = segments(server, name, "meshes")
        for segment in ids[:25]:
            positions, faces = one_object(zvf, stores[name], segment, folder)
            # With its duplicates: cloud-volume would drop faces that come twice.
            found = cv.mesh.get(int(segment), remove_duplicate_vertices=False)
            found = found[int(segment)] if isinstance(found, dict) else found
            wanted = triangles(positions * scale, faces)
            check(triangles(found.vertices, found.faces) == wanted, f"{name} {segment}: other triangles")
            print(f"meshes     {name} {segment}: {len(faces)} triangles equal")
        cv = volume(server, name, "multilod")
        for segment in ids[:25]:
            positions, faces = one_object(zvf, stores[name], segment, folder)
            found = cv.mesh.get(int(segment), concat=True)
            found = found[int(segment)] if isinstance(found, dict) else found
            wanted, got = area(positions * scale, faces), area(np.asarray(found.vertices, dtype=np.float64), found.faces)
            check(abs(wanted - got) < 1e-3 * wanted, f"{name} {segment}: area {got} in fragments, expected {wanted}")
            lods = cv.mesh.get_manifest(int(segment)).num_lods
            print(f"meshes     {name} {segment}: {len(found.faces)} triangles in fragments, {lods} levels of detail, area {got / wanted:.6f}")


def area(positions, faces):
    a, b, c = (positions[faces[:, corner]] for corner in range(3))
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


class Browser:
    """A headless Chromium."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = shutil.which("chromium")
        for argument in [
            "--headless=new",
            "--no-sandbox",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--window-size=900,600",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def ask(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settled(self):
        """Checks that the viewer has drawn everything and that the console has no error."""
        check(self.ask("return window.viewer && window.viewer.isReady()") is True, "the viewer is not ready")
        errors = [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and "favicon" not in entry["message"]
        ]
        check(not errors, f"the console says {errors[:3]}")

    def stop(self):
        self.driver.quit()


class Released(Browser):
    """The viewer of the neuroglancer package."""

    name = "browser"

    def __init__(self):
        import neuroglancer

        neuroglancer.set_server_bind_address("127.0.0.1")
        self.neuroglancer = neuroglancer
        super().__init__()

    def draw(self, state):
        """A picture of a state, in colours of 8 bits, once everything is there."""
        viewer = self.neuroglancer.Viewer()
        with viewer.config_state.txn() as config:
            config.show_ui_controls = False
            config.show_panel_borders = False
        viewer.set_state(self.neuroglancer.ViewerState(state))
        self.driver.get(viewer.get_viewer_url())
        picture = viewer.screenshot(size=camera.SIZE).screenshot.image
        self.settled()
        return picture


# Whether a page has so many layers, has opened the source of each, and has the data of all panels.
READY = """
if (!window.viewer) return false;
const layers = viewer.layerManager.managedLayers;
const opened = (one) => one.layer && one.layer.dataSources.every((source) => source.loadState !== undefined);
return layers.length === arguments[0] && layers.every(opened) && viewer.display.panels.size > 0 && viewer.isReady();
"""


def forms(state):
    """Layers of meshes in their other form, and in their coarsest level of detail."""
    found = [layer for layer in state["layers"] if layer["name"].endswith(" multilod")]
    legacy = [{**layer, **{key: layer[key].replace("multilod", "meshes") for key in ("name", "source")}} for layer in found]
    coarse = [{**layer, "meshRenderScale": 1e4} for layer in found if layer["name"].split(" ")[0] in PYRAMIDS]
    return legacy + coarse


class Embedded(Browser):
    """The viewer that a server has at its own address."""

    name = "page"

    def __init__(self, server):
        self.server = server
        super().__init__()
        width, height = camera.SIZE
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def open(self, fragment=""):
        # A page whose address differs in the fragment alone would not be loaded again.
        self.driver.get("about:blank")
        self.driver.get(f"{self.server.url}/{fragment}")

    def picture(self, layers):
        """A picture of the page, once it has that many layers and all data are there and drawn."""
        wanted = time.time() + 300
        quiet, before = 0, None
        # Ready and without requests for two seconds: what a panel needs is known to a worker alone.
        while quiet < 8:
            check(time.time() < wanted, "the page is not ready after five minutes")
            time.sleep(0.25)
            asked = len(self.server.requests())
            quiet = quiet + 1 if self.ask(READY, layers) and asked == before else 0
            before = asked
        self.ask("viewer.display.draw()")
        image = self.driver.get_screenshot_as_png()
        self.settled()
        return image

    def draw(self, state):
        """A picture of a state that is in the address, without the controls of the page."""
        self.open("#!" + urllib.parse.quote(json.dumps(state)))
        self.ask("viewer.uiConfiguration.showUIControls.value = false; viewer.uiConfiguration.showPanelBorders.value = false")
        return self.picture(len(state["layers"]))


def page(server, picture):
    """The page as users open it: it shows every layer of the state."""
    wanted = [layer["name"] for layer in server.json("/state.json")["layers"]]
    browser = Embedded(server)
    try:
        server.mark()
        started = time.time()
        browser.open()
        image = browser.picture(len(wanted))
        took = time.time() - started
        shown = browser.ask("return viewer.layerManager.managedLayers.filter(one => one.visible).map(one => one.name)")
        check(shown == wanted, f"the page shows {shown}, expected {wanted}")
        kept = browser.ask("return viewer.state.toJSON().layers.map(one => one.name)")
        check(kept == wanted, f"the state of the page has {kept}, expected {wanted}")
        pixels = int(camera.coloured(image).sum())
        check(pixels > 10_000, f"the page has {pixels} coloured pixels")
        for name in ["LICENSES.txt", "stores"]:
            with urllib.request.urlopen(f"{server.url}/{name}") as reply:
                check(reply.status == 200, f"{name}: {reply.status}")
        failed = [request for request in server.since() if int(request[3]) >= 400]
        check(not failed, f"the page: refused: {failed[:3]}")
        print(f"page       / shows {len(shown)} layers after {took:.1f} s, {len(server.since())} requests")
        if picture:
            pathlib.Path(picture).write_bytes(small(image, 256))
    finally:
        browser.stop()


def draw(browser, zvf, server, stores, folder, picture, what=None):
    """Every layer alone, in a browser, beside the picture of `zvf plot`."""
    what = what or browser.name
    folder.mkdir()
    state = server.json("/state.json")
    plain = camera.in_neuroglancer({key: value for key, value in state.items() if key != "layers"})
    try:
        # A layer that is not visible: without any, a page asks for one.
        hidden = {**state["layers"][0], "visible": False}
        empty = int(camera.coloured(browser.draw({**plain, "layers": [hidden]})).sum())
        for layer in [*state["layers"], *forms(state)]:
            name, view = layer["name"].split(" ")
            layer = camera.widths(layer)
            layer.pop("linkedSegmentationLayer", None)
            if view == "skeletons" and not layer["segments"]:
                layer["segments"] = segments(server, name, view)[:20]
            here = place(server, name, state)
            server.mark()
            started = time.time()
            image = browser.draw({**plain, **here.state, "layers": [layer]})
            took = time.time() - started
            (folder / f"{name}-{view}.png").write_bytes(image)
            mask = camera.coloured(image)
            pixels = int(mask.sum())
            check(pixels > empty + 300, f"{layer['name']}: {pixels} pixels, {empty} without a layer")
            # Fragments of meshes, and what is in shards, are ranges of files.
            asked = collections.Counter((request[1], request[2]) for request in server.since() if request[0] == "GET")
            twice = [path for path, count in asked.items() if count > 1]
            check(not twice, f"{layer['name']}: asked twice: {twice[:3]}")
            failed = [request for request in server.since() if int(request[3]) >= 400]
            check(not failed, f"{layer['name']}: refused: {failed[:3]}")
            # The coarsest level of detail is the last level of the store.
            level = PYRAMIDS[name].count(",") + 1 if "meshRenderScale" in layer else "auto"
            same, behind, moved = overlaps(zvf, stores[name], here, layer.get("segments", []), mask, folder / f"{name}-{view}-plot", level)
            print(
                f"{what:<10} {layer['name']}: {pixels} pixels, {len(asked)} requests, {took:.1f} s; "
                f"overlap with zvf plot {same:.2f}, mirrored {behind:.2f}, moved {moved:.2f}"
            )
            check(same >= LEAST, f"{layer['name']}: overlap {same:.2f} with the picture of zvf plot, expected {LEAST}")
            # The comparison tells cameras apart.
            check(max(behind, moved) < LEAST, f"{layer['name']}: another camera overlaps, too")
        if picture:
            shown = [layer for layer in state["layers"] if layer["name"].split(" ")[0] == "neuron"]
            scene = {key: value for key, value in state.items() if key != "layers"}
            scene |= {"showAxisLines": False, "showDefaultAnnotations": False}
            image = browser.draw({**scene, **place(server, "neuron", state).state, "layers": shown})
            pathlib.Path(picture).write_bytes(small(image))
    finally:
        browser.stop()


# Least intersection over union of the coloured pixels of two pictures of the same layer.
LEAST = 0.5


def overlaps(zvf, store, here, objects, mask, picture, level):
    """Intersection over union with three pictures of `zvf plot`: by the same camera, from behind, which mirrors, and with the centre
    moved to the right by a sixth of the picture's height."""
    right, _, _ = camera.directions(camera.AZIMUTH, camera.ELEVATION)
    cameras = [
        ("", here.center, camera.AZIMUTH, camera.ELEVATION),
        (".behind", here.center, camera.AZIMUTH + 180, -camera.ELEVATION),
        (".moved", here.center + right * here.height / 6, camera.AZIMUTH, camera.ELEVATION),
    ]
    masks = [
        camera.plotted(zvf, store, center, here.height, picture.with_suffix(f"{name}.png"), objects, azimuth, elevation, level)
        for name, center, azimuth, elevation in cameras
    ]
    return [camera.overlap(mask, other) for other in masks]


def small(image, colours=64):
    """A picture of few colours, for the documentation."""
    from PIL import Image

    out = io.BytesIO()
    Image.open(io.BytesIO(image)).convert("RGB").quantize(colours).save(out, "PNG", optimize=True)
    return out.getvalue()


class Place:
    """The centre and the height of a picture of one store, in its units, and as members of a state."""

    def __init__(self, center, height, state):
        self.center, self.height, self.state = center, height, state


def place(server, name, state):
    """Where to look at one store, from its bounds."""
    root = server.json(f"/store/{name}/zarr.json")["attributes"]
    low, high = (np.array(side) for side in root["zarr_vectors"]["bounds"])
    center, height = (low + high) / 2, float((high - low).max() * 1.3)
    units = [state["dimensions"][axis["name"]][0] for axis in root["multiscales"][0]["axes"]]
    scale = nanometres(server, name) * 1e-9 / units
    position = list(center * scale) + [0] * (len(state["dimensions"]) - len(center))
    return Place(center[:3], height, {"position": position, "projectionScale": height * float(scale[0])})


def option(arguments, name):
    """Takes an option and its value out of the arguments."""
    if name not in arguments:
        return None
    at = arguments.index(name)
    _, value = arguments[at : at + 2]
    del arguments[at : at + 2]
    return value


def main():
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    arguments = sys.argv[1:]
    picture, shot, viewer = (option(arguments, name) for name in ["--picture", "--page", "--viewer"])
    browser = "--no-browser" not in arguments
    zvf, testdata, folder = [one for one in arguments if one != "--no-browser"]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stores = unpack(zvf, pathlib.Path(testdata), folder)
    with Server(zvf, stores, folder) as server:
        points(zvf, server, stores, folder)
        skeletons(zvf, server, stores, folder)
        meshes(zvf, server, stores, folder)
        if browser:
            draw(Released(), zvf, server, stores, folder / "released", picture)
            with Files(zvf, server, stores, folder / "files") as files:
                draw(Released(), zvf, files, stores, folder / "shards", None, "shards")
    if browser and viewer:
        with Server(viewer, stores, folder) as server:
            page(server, None)
            draw(Embedded(server), zvf, server, stores, folder / "page", None)
        if shot:
            with Server(viewer, {name: stores[name] for name in ["neuron", "synapses"]}, folder) as server:
                page(server, shot)


if __name__ == "__main__":
    main()
