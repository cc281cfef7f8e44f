import zvf

zvf.write("places.zarrvectors", kind="point_cloud", positions=[[1, 2, 3], [4, 5, 6], [12, 13, 14]], chunk_shape=[20.0] * 3)
zvf.sample("places.zarrvectors", "volume.b2nd", "value")
for value in zvf.open("places.zarrvectors").query().to_numpy()["value"]:
    print(value)
