//! Write one store with several programs: each writes a part, and one of them commits all parts.

use zvf_query::{Query, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Groups, Kind, Outside, PartedStore, StoreSpec, WriteOptions};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = StoreSpec::new(Kind::PointCloud, [50.0; 3]).with_bounds(
        [0.0; 3],
        [100.0, 50.0, 50.0],
        Outside::Refuse,
    );
    Runtime::new()?.wait(async {
        let parts = PartedStore::begin("all.zarrvectors", spec, WriteOptions::new()).await?;
        // Other programs `join` the store and write their parts.
        for (name, xs) in [
            ("left", vec![10.0_f32, 20.0]),
            ("right", vec![60.0, 70.0, 80.0]),
        ] {
            let mut part = parts.writer(name).await?;
            let positions: Vec<f32> = xs.into_iter().flat_map(|x| [x, 1.0, 1.0]).collect();
            part.push(&Batch::new(positions))?;
            part.finish().await?;
        }
        parts.commit(&Groups::default()).await?;
        let store = Store::open("all.zarrvectors").await?;
        let answer = query(&store, Query::default()).await?.collect().await?;
        println!("{}", answer.summary.vertices);
        Ok(())
    })
}
