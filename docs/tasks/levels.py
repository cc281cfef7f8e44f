import zvf

zvf.pyramid("synapses.zarrvectors", factors=[2.0, 2.0])
for level in zvf.open("synapses.zarrvectors").levels:
    print(level.vertices)
