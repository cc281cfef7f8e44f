//! Batches become record batches, and these become the same batches again.

use proptest::prelude::*;
use zvf_write::{
    AttributeSpec, AttributeType, Axis, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec,
    Values,
};

use NumberType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// Names, some of which are names of columns in the tables.
const NAMES: [&str; 6] = ["fa", "position", "object_id", "vertices", "name", "start"];

fn number() -> impl Strategy<Value = NumberType> {
    prop::sample::select(vec![
        Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64,
    ])
}

/// Attributes with different names; there is one text per row.
fn attributes(texts: AttributeType) -> impl Strategy<Value = Vec<AttributeSpec>> {
    let names = prop::sample::subsequence(&NAMES[..], 0..NAMES.len());
    let shapes = prop::collection::vec((prop::option::of(number()), 1_usize..4), NAMES.len());
    (names, shapes).prop_map(move |(names, shapes)| {
        let one = |(name, (number, channels)): (&str, (Option<NumberType>, usize))| match number {
            Some(number) if channels == 3 => AttributeSpec::number(name, number)
                .with_channels(3)
                .with_channel_names(["r", "g", "b"]),
            Some(number) => AttributeSpec::number(name, number)
                .with_channels(channels)
                .with_unit("mm"),
            None if texts == AttributeType::Text => AttributeSpec::text(name),
            None => AttributeSpec::category(name).with_description("what it is"),
        };
        names.into_iter().zip(shapes).map(one).collect()
    })
}

/// Values drawn so that none is NaN in any type.
fn values(kind: AttributeType, count: usize, draws: &[u8]) -> Values {
    let mut draws = draws.iter().cycle().map(|draw| draw % 0x70);
    match kind {
        AttributeType::Number(number) => {
            let bytes: Vec<u8> = draws.take(count * number.size()).collect();
            Values::of_bytes(number, &bytes)
        }
        _ => {
            let text = |draw: u8| {
                (draw % 5)
                    .checked_sub(1)
                    .map(|long| "ab".repeat(usize::from(long)))
            };
            Values::Text((0..count).map(|_| text(draws.next().unwrap())).collect())
        }
    }
}

fn columns(specs: &[AttributeSpec], rows: usize, draws: &[u8]) -> Vec<(String, Values)> {
    let of = |(at, one): (usize, &AttributeSpec)| {
        let values = values(one.values, rows * one.channels, &draws[at..]);
        (one.name.clone(), values)
    };
    specs.iter().enumerate().map(of).collect()
}

#[derive(Debug)]
struct Case {
    spec: StoreSpec,
    rows: usize,
    links: usize,
    first: u64,
    draws: Vec<u8>,
}

fn case() -> impl Strategy<Value = Case> {
    let kinds = prop::sample::select(Kind::ALL);
    let shape = (kinds, 1_usize..5, number(), any::<bool>());
    let of = (
        attributes(AttributeType::Category),
        attributes(AttributeType::Text),
        attributes(AttributeType::Category),
    );
    let rows = (0_usize..20, 0_usize..20, 0_u64..1000);
    let draws = prop::collection::vec(any::<u8>(), 64..200);
    (shape, of, rows, draws).prop_map(
        |((kind, dims, positions, objects), (vertices, of_objects, of_links), rows, draws)| {
            let axes = ["a", "b", "c", "d"].iter().take(dims).map(|name| {
                let mut axis = Axis::new(*name, "space");
                axis.unit = Some("micrometer".to_owned());
                axis
            });
            let mut spec = StoreSpec::new(kind, vec![1.0; dims])
                .with_axes(axes.collect::<Vec<_>>())
                .with_positions(positions);
            spec.objects |= objects;
            spec.vertex_attributes = vertices;
            spec.object_attributes = of_objects;
            if spec.takes_links() {
                let numbers = |one: &AttributeSpec| one.values != AttributeType::Category;
                spec.links.attributes = of_links.into_iter().filter(numbers).collect();
            }
            let (rows, links, first) = rows;
            Case {
                rows: rows / 2 * 2,
                links: if spec.takes_links() && rows > 1 {
                    links
                } else {
                    0
                },
                spec,
                first,
                draws,
            }
        },
    )
}

impl Case {
    /// A batch in the form in which it is returned: with an id for every vertex, and links numbered across all batches.
    fn batch(&self) -> Batch {
        let (spec, rows) = (&self.spec, self.rows);
        let positions = AttributeType::Number(spec.positions);
        let mut batch = Batch::new(values(positions, rows * spec.dims(), &self.draws));
        if spec.has_objects() {
            let id = |row: usize| i64::from(self.draws[row / 2]) * 70_000_000_000 - 5;
            batch = batch.with_object_ids((0..rows).map(id).collect::<Vec<_>>());
        }
        batch.attributes = columns(&spec.vertex_attributes, rows, &self.draws);
        if spec.takes_links() {
            let ends = (0..self.links * spec.links.width)
                .map(|at| self.first + u64::from(self.draws[at % 64]) % rows as u64);
            batch = batch.with_links_between_batches(ends.collect::<Vec<_>>());
            batch.link_attributes = columns(&spec.links.attributes, self.links, &self.draws);
        }
        batch
    }
}

proptest! {
    #[test]
    fn any_batch_comes_back(case in case()) {
        let Case { spec, first, .. } = &case;
        let batch = case.batch();
        let (vertices, links) = batch.to_records(spec, *first).unwrap();
        let mut back = Batch::from_records(&vertices).unwrap();
        if let Some(links) = &links {
            back = back.with_link_records(links).unwrap();
        } else {
            back = back.with_links_between_batches(Vec::new());
        }
        prop_assert_eq!(&back, &batch.clone().with_links_between_batches(batch.links.to_vec()));
        prop_assert_eq!(back.to_records(spec, *first).unwrap(), (vertices.clone(), links.clone()));

        // Equivalent forms of the same batch.
        let mut other = batch.clone();
        if let Values::F32(list) = &batch.positions {
            other.positions = Values::from(list.iter().map(|&one| f64::from(one)).collect::<Vec<_>>());
        }
        if spec.has_objects() {
            let ids = (0..case.rows).map(|row| i64::from(case.draws[row / 2]) * 70_000_000_000 - 5);
            other = other.with_object_runs(ids.map(|id| (id, 1)).collect::<Vec<_>>());
        }
        other = other.with_links(batch.links.iter().map(|end| end - first).collect::<Vec<_>>());
        other.attributes.reverse();
        prop_assert_eq!(other.to_records(spec, *first).unwrap(), (vertices, links));
    }

    #[test]
    fn any_objects_and_groups_come_back(case in case()) {
        let Case { spec, rows, draws, .. } = &case;
        let ids: Vec<i64> = (0..*rows as i64).map(|row| row * 3 - 7).collect();
        let mut table = ObjectTable::new(ids.clone());
        table.attributes = columns(&spec.object_attributes, *rows, draws);
        let records = table.to_records(spec).unwrap();
        prop_assert_eq!(ObjectTable::from_records(&records).unwrap(), table);

        let members = (0..*rows).map(|group| ids.iter().copied().take(usize::from(draws[group]) % 9).collect());
        let mut groups = Groups::new(members.collect());
        if draws[0] % 2 == 0 {
            groups = groups.with_names((0..*rows).map(|group| format!("g{group}")));
        }
        if *rows > 0 {
            for (name, values) in columns(&spec.object_attributes, *rows, draws) {
                groups = groups.with_attribute(name, values);
            }
        }
        let records = groups.to_records(spec).unwrap();
        prop_assert_eq!(Groups::from_records(&records).unwrap(), groups);
    }

    #[test]
    fn schemas_declare_the_attributes_that_they_are_made_of(case in case()) {
        let spec = &case.spec;
        let (vertices, links) = case.batch().to_records(spec, case.first).unwrap();
        let objects = ObjectTable { attributes: columns(&spec.object_attributes, 0, &case.draws), ..ObjectTable::new(Vec::new()) };
        let mut found = StoreSpec::new(spec.kind, spec.chunk_shape.clone())
            .with_vertex_records(&vertices.schema())
            .unwrap()
            .with_object_records(&objects.to_records(spec).unwrap().schema())
            .unwrap();
        if let Some(links) = &links {
            found = found.with_link_records(&links.schema()).unwrap();
        }
        prop_assert_eq!(&found, spec);
    }
}

#[test]
fn what_no_table_holds_is_refused() {
    let spec = StoreSpec::new(Kind::PointCloud, [1.0; 2]);
    let said = |batch: Batch| batch.to_records(&spec, 0).unwrap_err().to_string();
    let one = || Batch::new(vec![0.0_f32, 1.0]);
    let batch = one().with_fragment_attribute("run", vec![1_u8]);
    assert_eq!(
        said(batch),
        "fragment attribute run: found values, expected none: tables have no attributes of fragments"
    );
    assert_eq!(
        said(one().with_object_ids(vec![1_i64])),
        "batch 0, objects: found object ids, expected none, as the specification states"
    );
    assert_eq!(
        said(one().with_attribute("fa", vec![1.0_f32])),
        "batch 0, attribute fa: found values, expected none: the specification has no such name"
    );
    let groups = Groups::new(vec![vec![1], vec![]]).with_names(["a"]);
    assert_eq!(
        groups.to_records(&spec).unwrap_err().to_string(),
        "group names: found 1, expected 2 or none"
    );
}
