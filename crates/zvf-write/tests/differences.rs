//! What `zvf_query::compare` finds.

use zvf_query::compare;
use zvf_write::{Batch, Groups, Kind, StoreSpec, StoreWriter};

use crate::support::{ADDRESS, Memory};

async fn with_groups(groups: &Groups) -> Memory {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2]);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let positions = [1_f32, 1., 2., 2., 3., 3., 4., 4.];
    let batch = Batch::new(&positions[..]).with_object_runs(&[(7, 2), (9, 2)][..]);
    writer.push(&batch).unwrap();
    writer.set_groups(groups).unwrap();
    writer.finish().await.unwrap();
    memory
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attributes_of_groups_are_compared() {
    let named = |names: [&str; 2], members: [i64; 2]| {
        Groups::new(members.map(|id| vec![id]).to_vec()).with_names(names)
    };
    let groups = || named(["a", "b"], [7, 9]);
    let old = with_groups(&groups().with_attribute("weight", vec![1.5_f64, 2.5])).await;
    let swapped = named(["b", "a"], [9, 7]).with_attribute("weight", vec![2.5_f64, 1.5]);
    let of_b = |what: &str| vec![format!("level 0, group \"b\": {what}")];
    let of_column = |what: &str| vec![format!("level 0, groups, column \"weight\": {what}")];
    for (groups, wanted) in [
        (swapped, Vec::new()),
        (
            groups().with_attribute("weight", vec![1.5_f64, 99.0]),
            of_b("weight 2.5 and weight 99.0"),
        ),
        (
            groups().with_gaps("weight", vec![1.5_f64, 0.0], [1]),
            of_b("weight 2.5 and weight null"),
        ),
        (
            groups().with_attribute("weight", vec![1.5_f32, 2.5]),
            of_column("Float64 and Float32"),
        ),
        (groups(), of_column("in the first store only")),
    ] {
        let new = with_groups(&groups).await;
        let found = compare(&old.open().await, &new.open().await, 9, &mut |_| ())
            .await
            .unwrap();
        let told: Vec<String> = found.differences.iter().map(ToString::to_string).collect();
        assert_eq!(told, wanted);
    }
}
