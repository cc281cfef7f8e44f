zvf query tracts.zarrvectors --bbox 92,82,80:101,92,92 --format csv > box.csv
tail -n +2 box.csv | wc -l
head -n 4 box.csv | tail -n 3
