import duckdb
import zvf

synapses = zvf.open("synapses.zarrvectors").dataset()
found = duckdb.sql("select count(*) as n, roi from synapses group by roi order by n desc, roi limit 3")
for n, roi in found.fetchall():
    print(n, roi)
