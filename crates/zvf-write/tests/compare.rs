//! What the verification of a copy finds: compares one store with variants that each have one difference.

use zvf_migrate::compare;
use zvf_store::Class;
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
    WriteError,
};

use crate::support::{ADDRESS, Memory};

/// Two streamlines, and the links of a graph, in the order of input.
#[derive(Clone)]
struct Input {
    kind: Kind,
    chunk: f64,
    positions: Vec<f32>,
    runs: Vec<(i64, usize)>,
    mass: Vec<f64>,
    links: Vec<u64>,
    weights: Vec<u16>,
    names: [&'static str; 2],
    members: Vec<i64>,
}

impl Input {
    fn new(kind: Kind, chunk: f64) -> Self {
        let graph = kind == Kind::Graph;
        Self {
            kind,
            chunk,
            positions: vec![1., 1., 9., 2., 12., 2., 25., 3., -3., 0., -4., 0.],
            runs: vec![(7, 4), (9, 2)],
            mass: vec![1., 2., 3., 4., 5., 6.],
            links: if graph {
                vec![0, 1, 2, 1, 3, 5]
            } else {
                Vec::new()
            },
            weights: if graph { vec![10, 20, 30] } else { Vec::new() },
            names: ["CST", "AF"],
            members: vec![9, 7],
        }
    }

    async fn write(&self) -> Memory {
        let memory = Memory::default();
        let mut spec = StoreSpec::new(self.kind, [self.chunk; 2])
            .with_vertex_attribute(AttributeSpec::number("mass", NumberType::F64))
            .with_object_attribute(AttributeSpec::text("name"));
        if self.kind == Kind::Graph {
            spec = spec.with_link_attribute(AttributeSpec::number("weight", NumberType::U16));
        }
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let mut batch = Batch::new(&self.positions[..])
            .with_object_runs(&self.runs[..])
            .with_attribute("mass", &self.mass[..]);
        if self.kind == Kind::Graph {
            batch = batch
                .with_links(&self.links[..])
                .with_link_attribute("weight", &self.weights[..]);
        }
        writer.push(&batch).unwrap();
        let table =
            ObjectTable::new(&[7_i64, 9][..]).with_attribute("name", Values::texts(self.names));
        writer.push_objects(&table).unwrap();
        writer
            .set_groups(&Groups::new(vec![self.members.clone()]))
            .unwrap();
        writer.finish().await.unwrap();
        memory
    }
}

async fn differs(one: &Input, other: &Input, wanted: &str) {
    let (one, other) = (one.write().await, other.write().await);
    let error = compare(&one.open().await, &other.open().await)
        .await
        .unwrap_err();
    assert!(matches!(error, WriteError::Differs { .. }), "{error}");
    assert_eq!(error.class(), Class::Malformed);
    assert!(
        error.to_string().contains(wanted),
        "{error}, expected {wanted}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_difference_is_found_and_named() {
    // In chunks of the same shape, and of another shape.
    for chunk in [10.0, 16.0] {
        for kind in [Kind::Streamline, Kind::Graph] {
            let one = Input::new(kind, 10.0);
            let same = Input::new(kind, chunk);
            let (a, b) = (one.write().await, same.write().await);
            let verified = compare(&a.open().await, &b.open().await).await.unwrap();
            assert_eq!((verified.vertices, verified.objects), (6, 2));

            let mut other = same.clone();
            other.positions[0] += 0.5;
            differs(&one, &other, "level 0").await;
            let mut other = same.clone();
            other.mass[3] = 4.5;
            differs(&one, &other, "\"mass\"").await;
            let mut other = same.clone();
            other.runs = vec![(7, 3), (9, 3)];
            differs(&one, &other, "level 0").await;
            let mut other = same.clone();
            other.runs = vec![(7, 4), (10, 2)];
            other.members = vec![10, 7];
            let found = other.write().await;
            let error = compare(&a.open().await, &found.open().await)
                .await
                .unwrap_err();
            assert!(error.to_string().contains("object_ids"), "{error}");
            let mut other = same.clone();
            other.names = ["CST", "SLF"];
            differs(&one, &other, "object_attributes/name").await;
            let mut other = same.clone();
            other.members = vec![7, 9];
            differs(&one, &other, "group 0").await;
            if kind == Kind::Graph {
                let mut other = same.clone();
                other.links.swap(2, 3);
                differs(&one, &other, "links/0").await;
                let mut other = same.clone();
                other.weights[1] = 21;
                differs(&one, &other, "links/0").await;
                let mut other = same.clone();
                other.links.truncate(4);
                other.weights.truncate(2);
                differs(&one, &other, "2 links, expected 3").await;
            } else {
                // The same vertices in reverse order.
                let mut other = same.clone();
                other.positions = vec![25., 3., 12., 2., 9., 2., 1., 1., -3., 0., -4., 0.];
                other.mass = vec![4., 3., 2., 1., 5., 6.];
                let wanted = if chunk == 10.0 { "level 0" } else { "object 7" };
                differs(&one, &other, wanted).await;
            }
        }
    }
}

/// A copy that was damaged without becoming malformed: rows, links or members are missing, or values are swapped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_links_and_members_that_are_lost_or_swapped_are_found() {
    for chunk in [10.0, 16.0] {
        for kind in [Kind::Streamline, Kind::Graph] {
            let one = Input::new(kind, 10.0);
            let same = Input::new(kind, chunk);
            // A row is missing, together with everything that names it.
            let mut other = same.clone();
            other.positions.truncate(10);
            other.mass.truncate(5);
            other.runs[1].1 = 1;
            if kind == Kind::Graph {
                other.links.truncate(4);
                other.weights.truncate(2);
            }
            differs(&one, &other, "level 0").await;
            // Two rows of one chunk, or of two chunks, have swapped values.
            for (a, b) in [(0, 1), (0, 3)] {
                let mut other = same.clone();
                other.mass.swap(a, b);
                differs(&one, &other, "\"mass\"").await;
            }
            // Two objects have swapped attributes.
            let mut other = same.clone();
            other.names.swap(0, 1);
            differs(&one, &other, "object_attributes/name").await;
            // One member of a group, or all members, are missing.
            for members in [vec![9], Vec::new()] {
                let mut other = same.clone();
                other.members = members;
                differs(&one, &other, "group 0").await;
            }
            if kind == Kind::Graph {
                // Two links have swapped values, and one has the opposite direction.
                let mut other = same.clone();
                other.weights.swap(0, 1);
                differs(&one, &other, "links/0").await;
                let mut other = same.clone();
                other.links.swap(0, 1);
                differs(&one, &other, "links/0").await;
            }
        }
    }
}
