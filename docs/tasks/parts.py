import zvf

left = {"position": [[10.0, 1, 1], [20, 1, 1]]}
right = {"position": [[60.0, 1, 1], [70, 1, 1], [80, 1, 1]]}
parts = zvf.Parts("all.zarrvectors", like=left, kind="point_cloud", chunk_shape=[50.0] * 3, bounds=((0, 0, 0), (100, 50, 50)))
parts.begin(["left", "right"])
# A `Parts` can be pickled: each part may be written by another process.
parts.write("left", left)
parts.write("right", right)
parts.commit()
print(zvf.open("all.zarrvectors").levels[0].vertices)
