//! Find the vertices in a box, and the objects that they belong to.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use zvf_query::{BBox, Column, Query, Table, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let store = Store::open("tracts.zarrvectors").await?;
        let asked = Query {
            bbox: Some(BBox::parse("92,82,80:101,92,92")?),
            columns: vec![Column::Position, Column::ObjectId],
            ..Query::default()
        };
        let answer = query(&store, asked).await?.collect().await?;
        let rows = answer.table(Table::Vertices)?.ok_or("no vertices")?;
        println!("{}", rows.num_rows());
        let positions = rows["position"].as_fixed_size_list().values();
        let positions = positions.as_primitive::<Float32Type>().values().chunks(3);
        let ids = rows["object_id"].as_primitive::<Int64Type>().values();
        for (position, id) in positions.zip(ids).take(3) {
            println!("{},{},{},{id}", position[0], position[1], position[2]);
        }
        Ok(())
    })
}
