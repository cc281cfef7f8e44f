//! Count the vertices of each category.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use zvf_query::{Query, Table, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;

// Without an SQL engine: the batches of an answer are Arrow, which DataFusion, Polars and DuckDB take.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let store = Store::open("synapses.zarrvectors").await?;
        let mut answer = query(&store, Query::default()).await?;
        let mut counts = BTreeMap::new();
        while let Some((table, batch)) = answer.next().await? {
            if table == Table::Vertices {
                let roi = batch["roi"].as_any_dictionary();
                let names = roi.values().as_string::<i32>();
                for (row, key) in roi.normalized_keys().into_iter().enumerate() {
                    if roi.is_valid(row) {
                        *counts.entry(names.value(key).to_owned()).or_insert(0) += 1;
                    }
                }
            }
        }
        let mut counts: Vec<(String, i32)> = counts.into_iter().collect();
        counts.sort_by_key(|(name, count)| (-count, name.clone()));
        for (name, count) in counts.iter().take(3) {
            println!("{count} {name}");
        }
        Ok(())
    })
}
