zvf query synapses.zarrvectors --columns roi --format csv | tail -n +2 | sort | uniq -c | sort -k1,1nr -k2 | head -n 3
