printf 'x,y,z,intensity\n1.5,2.5,3.5,0.25\n40.5,2.5,3.5,0.5\n1.5,60.5,3.5,0.75\n' > spots.csv
zvf import spots.csv spots.zarrvectors --chunk-shape 50,50,50 --unit micrometer --quiet > /dev/null
zvf query spots.zarrvectors --columns intensity --format csv | tail -n +2
