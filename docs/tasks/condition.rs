//! Count the vertices that satisfy a condition on attributes.

use zvf_query::{Filter, Query, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let store = Store::open("synapses.zarrvectors").await?;
        let asked = Query {
            filter: Some(Filter::parse("confidence > 0.995 and type == 'pre'")?),
            ..Query::default()
        };
        let sure = query(&store, asked).await?.collect().await?;
        println!("{}", sure.summary.vertices);
        Ok(())
    })
}
