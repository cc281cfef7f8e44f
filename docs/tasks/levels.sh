zvf pyramid synapses.zarrvectors --factors 2,2 --quiet > /dev/null
for level in 0 1 2; do
    zvf query synapses.zarrvectors --level $level --format csv | tail -n +2 | wc -l
done
