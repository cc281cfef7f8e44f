//! Write a new store of points with an attribute.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use zvf_query::{Query, Table, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::PointCloud, [50.0; 3])
            .with_unit("micrometer")
            .with_vertex_attribute(AttributeSpec::number("intensity", NumberType::F64));
        let mut writer =
            StoreWriter::create("spots.zarrvectors", spec, WriteOptions::new()).await?;
        let positions = [1.5_f32, 2.5, 3.5, 40.5, 2.5, 3.5, 1.5, 60.5, 3.5];
        let intensity = [0.25_f64, 0.5, 0.75];
        writer.push(&Batch::new(&positions[..]).with_attribute("intensity", &intensity[..]))?;
        writer.finish().await?;

        let store = Store::open("spots.zarrvectors").await?;
        let answer = query(&store, Query::default()).await?.collect().await?;
        let rows = answer.table(Table::Vertices)?.ok_or("no vertices")?;
        for value in rows["intensity"].as_primitive::<Float64Type>().values() {
            println!("{value}");
        }
        Ok(())
    })
}
