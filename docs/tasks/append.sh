printf 'x,y,z,intensity\n1.5,2.5,3.5,0.25\n40.5,2.5,3.5,0.5\n' > first.csv
printf 'x,y,z,intensity\n20.5,2.5,3.5,0.75\n' > second.csv
zvf import first.csv cells.zarrvectors --chunk-shape 50,50,50 --quiet > /dev/null
zvf append cells.zarrvectors second.csv --quiet > /dev/null
zvf query cells.zarrvectors --columns intensity --format csv | tail -n +2
