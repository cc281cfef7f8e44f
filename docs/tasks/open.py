import zvf

store = zvf.open("tracts.zarrvectors")
print("version", store.info["version"])
print("kind", store.kind)
