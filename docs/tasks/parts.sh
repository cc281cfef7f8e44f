printf 'x,y,z\n10,1,1\n20,1,1\n' > left.csv
printf 'x,y,z\n60,1,1\n70,1,1\n80,1,1\n' > right.csv
job="all.zarrvectors --chunk-shape 50,50,50 --bounds 0,0,0:100,50,50 --quiet"
zvf import left.csv $job --begin --parts left,right > /dev/null
zvf import left.csv $job --part left > /dev/null &
zvf import right.csv $job --part right > /dev/null
wait
zvf import left.csv $job --commit > /dev/null
zvf query all.zarrvectors --format csv | tail -n +2 | wc -l
