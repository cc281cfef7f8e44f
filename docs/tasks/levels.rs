//! Add two coarse levels, and count the vertices of each level.

use std::sync::Arc;

use zvf_pyramid::{BaseBins, LevelStep, PyramidSpec, build_pyramid};
use zvf_query::{Query, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::WriteOptions;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let spec =
            PyramidSpec::new([LevelStep::new(2.0), LevelStep::new(2.0)]).with_base(BaseBins::Data);
        let progress = Arc::new(|_| ());
        build_pyramid(
            "synapses.zarrvectors",
            &spec,
            &WriteOptions::new(),
            progress,
        )
        .await?;
        let store = Store::open("synapses.zarrvectors").await?;
        for &level in store.levels() {
            let asked = Query {
                level,
                ..Query::default()
            };
            let answer = query(&store, asked).await?.collect().await?;
            println!("{}", answer.summary.vertices);
        }
        Ok(())
    })
}
