//! Read objects by id, in the given order, and count the vertices of each.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use zvf_query::{Query, Table, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    Runtime::new()?.wait(async {
        let store = Store::open("tracts.zarrvectors").await?;
        let asked = Query {
            objects: Some(vec![42, 7]),
            ..Query::default()
        };
        let answer = query(&store, asked).await?.collect().await?;
        let objects = answer.table(Table::Objects)?.ok_or("no objects")?;
        let ids = objects["object_id"].as_primitive::<Int64Type>().values();
        let lengths = objects["length"].as_primitive::<UInt64Type>().values();
        for (id, length) in ids.iter().zip(lengths) {
            println!("{length} {id}");
        }
        Ok(())
    })
}
