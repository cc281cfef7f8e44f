//! Selects the whole lines that pass through a sphere, and prints the length of each. The condition is on objects, so that chunks that
//! contain vertices of other lines only are not read.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use zvf_query::{ObjectRelation, Query, Region, Table, query};
use zvf_store::{Store, blocking::Runtime};
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = folder.path().join("lines.zarrvectors");
    let address = address.to_string_lossy();
    Runtime::new()?.wait(async {
        // Ten lines along x, at y = 0 to 9.
        let spec = StoreSpec::new(Kind::Streamline, [4.0; 2]);
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        for id in 0..10_i64 {
            let points: Vec<f32> = (0..20).flat_map(|x| [x as f32, id as f32]).collect();
            writer.push(&Batch::new(points).with_object_runs(&[(id, 20)][..]))?;
        }
        writer.finish().await?;

        let asked = Query {
            region: Some(Region::sphere(&[7.0, 4.0], 1.5)?),
            relation: Some(ObjectRelation::Touching),
            ..Query::default()
        };
        let store = Store::open(&address).await?;
        let answer = query(&store, asked).await?.collect().await?;
        let objects = answer.table(Table::Objects)?.ok_or("no objects")?;
        let ids = objects["object_id"].as_primitive::<Int64Type>().values();
        let lengths = objects["length"].as_primitive::<UInt64Type>().values();
        for (id, length) in ids.iter().zip(lengths) {
            println!("line {id}: {length} vertices");
        }
        Ok(())
    })
}
