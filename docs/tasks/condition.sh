zvf query synapses.zarrvectors --where "confidence > 0.995 and type == 'pre'" --format csv | tail -n +2 | wc -l
