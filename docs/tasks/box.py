import zvf

store = zvf.open("tracts.zarrvectors")
rows = store.query(bbox=((92, 82, 80), (101, 92, 92)), columns=["position", "object_id"]).to_numpy()
print(len(rows["position"]))
for (x, y, z), object_id in zip(rows["position"][:3], rows["object_id"]):
    print(f"{x!s},{y!s},{z!s},{object_id}")
