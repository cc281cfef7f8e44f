import zvf

first = {"position": [[1.5, 2.5, 3.5], [40.5, 2.5, 3.5]], "intensity": [0.25, 0.5]}
second = {"position": [[20.5, 2.5, 3.5]], "intensity": [0.75]}
zvf.write(
    "cells.zarrvectors",
    kind="point_cloud",
    positions=first["position"],
    attributes={"intensity": first["intensity"]},
    chunk_shape=[50.0] * 3,
)
with zvf.edit("cells.zarrvectors") as change:
    change.append(second)
for value in zvf.open("cells.zarrvectors").query().to_numpy()["intensity"]:
    print(value)
