import zvf

store = zvf.open("synapses.zarrvectors")
sure = store.query(where="confidence > 0.995 and type == 'pre'").read()
print(len(sure.vertices))
