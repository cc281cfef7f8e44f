zvf get tracts.zarrvectors 42 7 --format csv > two.csv
tail -n +2 two.csv | cut -d , -f 4 | uniq -c
