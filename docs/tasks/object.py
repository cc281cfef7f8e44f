import zvf

store = zvf.open("tracts.zarrvectors")
found = store.get([42, 7])
for object_id, positions in zip((42, 7), found):
    print(len(positions), object_id)
