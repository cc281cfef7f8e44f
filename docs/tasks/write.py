import numpy as np
import zvf

positions = np.array([[1.5, 2.5, 3.5], [40.5, 2.5, 3.5], [1.5, 60.5, 3.5]], dtype="f4")
intensity = np.array([0.25, 0.5, 0.75])
zvf.write(
    "spots.zarrvectors",
    kind="point_cloud",
    positions=positions,
    attributes={"intensity": intensity},
    chunk_shape=[50.0] * 3,
    unit="micrometer",
)
for value in zvf.open("spots.zarrvectors").query().to_numpy()["intensity"]:
    print(value)
