"""One camera for Neuroglancer and for `zvf plot`, and how much their pictures overlap."""

import io
import json
import math
import subprocess

import numpy as np

# Width and height of both pictures in pixels.
SIZE = [900, 600]

# The direction of the viewer in degrees, none along an axis: a swapped or mirrored axis shows.
AZIMUTH, ELEVATION = 30.0, 20.0

# Pixels: the width of lines and the diameter of points in both pictures, so that no mask has to be grown.
LINE, POINT = 3, 6

# Least difference of a coloured pixel from the ground, as a sum over red, green and blue.
COLOURED = 40

SHADER = f"""
void main() {{
  setColor(vec3(1.0, 1.0, 1.0));
  setPointMarkerSize({POINT}.0);
  setPointMarkerBorderWidth(0.0);
  setLineWidth({LINE}.0);
  setEndpointMarkerSize(0.0);
  setEndpointMarkerBorderWidth(0.0);
}}
"""


def directions(azimuth, elevation):
    """Right, up and towards the viewer, by the convention of matplotlib with z up."""
    a, e = math.radians(azimuth), math.radians(elevation)
    towards = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    return right, np.cross(towards, right), towards


def quaternion(matrix):
    """The rotation as x, y, z, w; one of its four components is at least one half."""
    m = matrix
    squares = np.array(
        [
            1 + m[0, 0] - m[1, 1] - m[2, 2],
            1 - m[0, 0] + m[1, 1] - m[2, 2],
            1 - m[0, 0] - m[1, 1] + m[2, 2],
            1 + m[0, 0] + m[1, 1] + m[2, 2],
        ]
    )
    products = {
        (0, 1): m[0, 1] + m[1, 0],
        (0, 2): m[0, 2] + m[2, 0],
        (1, 2): m[1, 2] + m[2, 1],
        (0, 3): m[2, 1] - m[1, 2],
        (1, 3): m[0, 2] - m[2, 0],
        (2, 3): m[1, 0] - m[0, 1],
    }
    largest = int(squares.argmax())
    scale = 2 * math.sqrt(squares[largest])
    rest = {i: products[tuple(sorted((i, largest)))] / scale for i in range(4) if i != largest}
    return [scale / 4 if i == largest else float(rest[i]) for i in range(4)]


def in_neuroglancer(state):
    """The state with the camera: its axes point right, down and away from the viewer. Nothing but layers is drawn."""
    right, up, towards = directions(AZIMUTH, ELEVATION)
    return {
        **state,
        "layout": {"type": "3d", "orthographicProjection": True},
        "projectionOrientation": quaternion(np.stack([right, -up, -towards], axis=1)),
        "projectionBackgroundColor": "#000000",
        "showAxisLines": False,
        "showDefaultAnnotations": False,
        "showScaleBar": False,
    }


def widths(layer):
    """The layer with the widths of the other picture, and all of its annotations."""
    if layer["type"] == "annotation":
        return {**layer, "shader": SHADER, "projectionAnnotationSpacing": 0.001}
    return {**layer, "skeletonRendering": {"mode3d": "lines", "lineWidth3d": LINE}}


def plotted(zvf, store, center, height, picture, objects=(), azimuth=AZIMUTH, elevation=ELEVATION, level="auto"):
    """The mask of a picture by `zvf plot` that is `height` units of the store high."""
    command = [zvf, "plot", str(store), "-o", str(picture), "--json", "--quiet", "--bare"]
    command += ["--color", "white", "--background", "black", "--fading", "0"]
    command += ["--size", ",".join(str(side) for side in SIZE)]
    command += ["--line-width", str(LINE), "--point-size", str(POINT)]
    command += [f"--view={azimuth},{elevation}", "--center=" + ",".join(repr(float(x)) for x in center)]
    command += ["--units-per-pixel", repr(float(height / SIZE[1]))]
    command += ["--level", str(level)]
    if objects:
        command += ["--objects", ",".join(objects)]
    camera = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["camera"]
    right, up, _ = directions(azimuth, elevation)
    said = np.array([camera["right"], camera["up"]])
    if not np.allclose(said, [right, up], atol=1e-9):
        raise SystemExit(f"browser: zvf plot says right and up are {said}, expected {right}, {up}")
    return coloured(picture.read_bytes())


def coloured(picture):
    """Which pixels differ from the ground, which is that of the upper left corner."""
    from PIL import Image

    image = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)
    return np.abs(image - image[5, 5]).sum(axis=2) > COLOURED


def overlap(one, other):
    """Intersection over union of two masks."""
    union = np.logical_or(one, other).sum()
    return float(np.logical_and(one, other).sum() / max(union, 1))
