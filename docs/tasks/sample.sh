printf 'x,y,z\n1,2,3\n4,5,6\n12,13,14\n' > places.csv
zvf import places.csv places.zarrvectors --chunk-shape 20,20,20 --quiet > /dev/null
zvf sample places.zarrvectors --volume volume.b2nd --as value --quiet > /dev/null
zvf query places.zarrvectors --columns value --format csv | tail -n +2
