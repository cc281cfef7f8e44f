//! Append points to an existing store, in one atomic change.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use zvf_edit::Edit;
use zvf_query::{Query, Table, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::PointCloud, [50.0; 3])
            .with_vertex_attribute(AttributeSpec::number("intensity", NumberType::F64));
        let mut writer =
            StoreWriter::create("cells.zarrvectors", spec, WriteOptions::new()).await?;
        let first = Batch::new(&[1.5_f32, 2.5, 3.5, 40.5, 2.5, 3.5][..])
            .with_attribute("intensity", &[0.25_f64, 0.5][..]);
        writer.push(&first)?;
        writer.finish().await?;

        let mut edit = Edit::open("cells.zarrvectors", WriteOptions::new()).await?;
        let second =
            Batch::new(&[20.5_f32, 2.5, 3.5][..]).with_attribute("intensity", &[0.75_f64][..]);
        edit.append(&second).await?;
        edit.commit().await?;

        let store = Store::open("cells.zarrvectors").await?;
        let answer = query(&store, Query::default()).await?.collect().await?;
        let rows = answer.table(Table::Vertices)?.ok_or("no vertices")?;
        for value in rows["intensity"].as_primitive::<Float64Type>().values() {
            println!("{value}");
        }
        Ok(())
    })
}
