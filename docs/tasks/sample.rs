//! Store the value of a volume at each vertex as an attribute.

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use zvf_edit::ColumnEdit;
use zvf_query::{Query, Table, query};
use zvf_store::blocking::Runtime;
use zvf_store::{IoOptions, Store};
use zvf_volume::{Affine, AxisUse, Interpolation, Sampler, Volume};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::PointCloud, [20.0; 3]);
        let mut writer =
            StoreWriter::create("places.zarrvectors", spec, WriteOptions::new()).await?;
        writer.push(&Batch::new(
            &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 12.0, 13.0, 14.0][..],
        ))?;
        writer.finish().await?;

        let volume = Volume::open("volume.b2nd", &IoOptions::new()).await?;
        // The indices of elements are their positions.
        let affine = Affine::identity(3);
        let sampler = Sampler::new(
            volume,
            vec![AxisUse::Space; 3],
            &affine,
            Interpolation::Linear,
        )?;
        let value = AttributeSpec::number("value", NumberType::F32);
        let mut column =
            ColumnEdit::open("places.zarrvectors", value, false, WriteOptions::new()).await?;
        while let Some(chunk) = column.next().await? {
            let sampled = sampler.sample(&chunk.positions).await?;
            column.put_bytes(sampled.bytes).await?;
        }
        column.commit().await?;

        let store = Store::open("places.zarrvectors").await?;
        let answer = query(&store, Query::default()).await?.collect().await?;
        let rows = answer.table(Table::Vertices)?.ok_or("no vertices")?;
        for value in rows["value"].as_primitive::<Float32Type>().values() {
            println!("{value}");
        }
        Ok(())
    })
}
