//! An input of any kind: written in batches, read back in all ways, compared with itself.

use std::collections::{BTreeMap, BTreeSet};

use zvf_migrate::{MigrateOptions, migrate};
use zvf_query::{BBox, Column, Filter, Query, Select};
use zvf_store::{Names, Store};
use zvf_write::{
    AttributeSpec, AttributeType, Batch, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter,
    Summary, Values, WriteOptions,
};

use crate::support::{ADDRESS, Memory, ask, check_documents, column, float, sorted};

/// The complete content of a store.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) spec: StoreSpec,
    /// Positions that the number type can represent exactly, row by row.
    pub(crate) positions: Vec<Vec<f64>>,
    /// Object of each vertex.
    pub(crate) ids: Option<Vec<i64>>,
    /// Links in the form of vertices; for skeletons child and parent.
    pub(crate) links: Vec<Vec<usize>>,
    /// Where batches begin, except for the first.
    pub(crate) cuts: Vec<usize>,
    pub(crate) budget: usize,
}

/// The values of the attributes that every model has, for each vertex.
fn vector(n: usize) -> [f32; 2] {
    [n as f32 * 0.5, -(n as f32)]
}

pub(crate) fn word(n: usize) -> Option<String> {
    (n % 5 != 3).then(|| format!("word {}", n % 7))
}

/// The value that splits chunks, if the store has such an attribute.
pub(crate) fn key(number: NumberType, n: usize) -> i64 {
    let drawn = (n * 7 + n / 3) % 5;
    match number {
        NumberType::Bool => i64::from(drawn > 2),
        NumberType::I16 => drawn as i64 * 300 - 700,
        _ => drawn as i64,
    }
}

/// The same as texts, in another order.
pub(crate) fn key_text(n: usize) -> String {
    ["größe", "a", "", "b c"][(n * 5 + n / 2) % 4].to_owned()
}

/// The value that splits fragments, if the store has such an attribute.
pub(crate) fn run(n: usize) -> u16 {
    ((n / 3) * 7 % 4) as u16
}

impl Model {
    /// A model with the attributes `n`, `vector`, `word`, and `w` of links if the kind can have it.
    pub(crate) fn new(spec: StoreSpec, positions: Vec<Vec<f64>>) -> Self {
        let mut spec = spec
            .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64))
            .with_vertex_attribute(
                AttributeSpec::number("vector", NumberType::F32).with_channels(2),
            )
            .with_vertex_attribute(AttributeSpec::category("word"));
        if spec.links.explicit {
            spec = spec.with_link_attribute(AttributeSpec::number("w", NumberType::U32));
        }
        Self {
            spec,
            positions,
            ids: None,
            links: Vec::new(),
            cuts: Vec::new(),
            budget: 1 << 20,
        }
    }

    fn values(&self, rows: std::ops::Range<usize>) -> Values {
        let flat: Vec<f64> = self.positions[rows].concat();
        macro_rules! cast {
            ($($variant:ident => $type:ty),*) => {
                match self.spec.positions {
                    NumberType::F16 => Values::from(flat.iter().map(|&v| zvf_store::nearest_f16(v)).collect::<Vec<_>>()),
                    $(NumberType::$variant => Values::from(flat.iter().map(|&v| v as $type).collect::<Vec<_>>()),)*
                    NumberType::Bool => panic!("positions are numbers"),
                }
            };
        }
        cast!(I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16, U32 => u32, U64 => u64,
            F32 => f32, F64 => f64)
    }

    /// The values that split chunks.
    fn keys(&self, rows: std::ops::Range<usize>) -> Option<(String, Values)> {
        let one = &self.spec.chunk_by.as_ref()?.attribute;
        let values = match one.values {
            AttributeType::Number(NumberType::Bool) => Values::from(
                rows.map(|n| key(NumberType::Bool, n) != 0)
                    .collect::<Vec<_>>(),
            ),
            AttributeType::Number(NumberType::I16) => Values::from(
                rows.map(|n| i16::try_from(key(NumberType::I16, n)).unwrap())
                    .collect::<Vec<_>>(),
            ),
            AttributeType::Number(_) => {
                let numbers = rows.map(|n| key(NumberType::U64, n).cast_unsigned());
                Values::from(numbers.collect::<Vec<_>>())
            }
            _ => Values::texts(rows.map(key_text)),
        };
        Some((one.name.clone(), values))
    }

    /// The same as displayed by a reader.
    pub(crate) fn shown_key(&self, n: usize) -> String {
        match self.spec.chunk_by.as_ref().unwrap().attribute.values {
            AttributeType::Number(number) => key(number, n).to_string(),
            _ => key_text(n),
        }
    }

    /// Writes the model.
    pub(crate) async fn write(&self, options: WriteOptions) -> Summary {
        let options = options.with_memory_budget(self.budget);
        let mut writer = StoreWriter::create(ADDRESS, self.spec.clone(), options)
            .await
            .unwrap();
        let mut starts: BTreeSet<usize> = self
            .cuts
            .iter()
            .copied()
            .filter(|cut| *cut < self.positions.len())
            .collect();
        starts.insert(0);
        let ends: Vec<usize> = starts
            .iter()
            .copied()
            .skip(1)
            .chain([self.positions.len()])
            .collect();
        let mut waiting: Vec<(usize, &Vec<usize>)> = self.links.iter().enumerate().collect();
        for (start, end) in starts.into_iter().zip(ends) {
            let rows = start..end;
            let numbers: Vec<i64> = rows.clone().map(|n| n as i64).collect();
            let vectors: Vec<f32> = rows.clone().flat_map(vector).collect();
            let mut batch = Batch::new(self.values(rows.clone()))
                .with_attribute("vector", vectors)
                .with_attribute("n", numbers)
                .with_attribute("word", Values::Text(rows.clone().map(word).collect()));
            if let Some((name, values)) = self.keys(rows.clone()) {
                batch = batch.with_attribute(name, values);
            }
            if !self.spec.fragment_attributes.is_empty() {
                let pairs = rows.clone().flat_map(|n| [f32::from(run(n)), -0.5]);
                batch = batch
                    .with_fragment_attribute("pair", pairs.collect::<Vec<_>>())
                    .with_fragment_attribute("run", rows.clone().map(run).collect::<Vec<_>>());
            }
            if let Some(ids) = &self.ids {
                batch = batch.with_object_ids(&ids[rows.clone()]);
            }
            // Links are pushed with the first batch after which all their ends exist.
            let (now, later) = waiting
                .into_iter()
                .partition(|(_, ends)| ends.iter().all(|vertex| *vertex < end));
            waiting = later;
            let now: Vec<(usize, &Vec<usize>)> = now;
            if self.spec.takes_links() {
                let ends: Vec<u64> = now
                    .iter()
                    .flat_map(|(_, ends)| ends.iter().map(|v| *v as u64))
                    .collect();
                batch = batch.with_links_between_batches(ends);
                if self.spec.links.explicit {
                    batch = batch.with_link_attribute(
                        "w",
                        now.iter().map(|(at, _)| *at as u32).collect::<Vec<_>>(),
                    );
                }
            }
            writer.push(&batch).unwrap();
        }
        assert_eq!(writer.vertices(), self.positions.len() as u64);
        if !self.spec.object_attributes.is_empty() {
            let ids = self.object_ids();
            let sizes: Vec<f32> = ids.iter().map(|id| *id as f32 / 2.0).collect();
            writer
                .push_objects(&ObjectTable::new(ids).with_attribute("size", sizes))
                .unwrap();
        }
        writer.finish().await.unwrap()
    }

    fn object_ids(&self) -> Vec<i64> {
        let ids: BTreeSet<i64> = self.ids.iter().flatten().copied().collect();
        ids.into_iter().collect()
    }

    pub(crate) fn is_chain(&self) -> bool {
        matches!(
            self.spec.kind,
            Kind::Line | Kind::Polyline | Kind::Streamline
        )
    }

    /// Writes to memory, reads back in all ways, compares.
    pub(crate) async fn round_trip(&self, boxes: &[(Vec<f64>, Vec<f64>)]) -> Memory {
        let memory = Memory::default();
        let summary = self.write(memory.options()).await;
        assert_eq!(summary.vertices, self.positions.len() as u64);
        let files = memory.files().await;
        assert!(!files.contains_key("zvf-unfinished.json"));
        check_documents(&files);
        memory.check_clean().await;
        let store = memory.open().await;
        self.check(&store, boxes).await;
        self.check_fragments(&store).await;
        memory
    }

    /// Writes to memory, copies to another memory in another shape, and queries the copy.
    pub(crate) async fn rechunked(
        &self,
        options: MigrateOptions,
        boxes: &[(Vec<f64>, Vec<f64>)],
    ) -> Memory {
        let (memory, copy) = (Memory::default(), Memory::default());
        self.write(memory.options()).await;
        let write = copy.options().with_memory_budget(self.budget);
        let store = memory.open().await;
        let report = migrate(&store, ADDRESS, options.with_write(write))
            .await
            .unwrap();
        assert_eq!(report.losses, []);
        let verified = report.verified.unwrap();
        assert_eq!(verified.vertices, self.positions.len() as u64);
        check_documents(&copy.files().await);
        self.check(&copy.open().await, boxes).await;
        copy
    }

    pub(crate) async fn check(&self, store: &Store, boxes: &[(Vec<f64>, Vec<f64>)]) {
        self.check_whole(store).await;
        self.check_keys(store).await;
        for (low, high) in boxes {
            let inside = |n: &usize| {
                self.positions[*n]
                    .iter()
                    .zip(low)
                    .zip(high)
                    .all(|((p, low), high)| low <= p && p <= high)
            };
            let wanted: Vec<usize> = (0..self.positions.len()).filter(inside).collect();
            let bbox = BBox::new(low.clone(), high.clone()).unwrap();
            let got = ask(
                store,
                Query {
                    bbox: Some(bbox),
                    ..Query::default()
                },
            )
            .await;
            assert_eq!(sorted(got.numbers()), wanted);
            let links = self
                .all_links()
                .into_iter()
                .filter(|(ends, _)| ends.iter().all(&inside))
                .collect();
            assert_eq!(sorted(got.links()), sorted::<(Vec<usize>, String)>(links));
        }
        if self.spec.has_objects() {
            self.check_objects(store).await;
        }
    }

    /// Checks the attributes of fragments, which are those of their vertices; and that fragments are as long as their values allow.
    pub(crate) async fn check_fragments(&self, store: &Store) {
        let columns = vec![
            Column::Chunk,
            Column::Row,
            Column::Fragment,
            Column::Attributes,
        ];
        let query = Query {
            columns,
            ..Query::default()
        };
        let got = ask(store, query).await;
        let numbers = got.numbers();
        let [chunks, fragments] = ["chunk", "fragment"].map(|name| column(&got.vertices, name));
        let level = store.level(0, &zvf_store::Need::all()).await.unwrap();
        let names: Vec<&str> = level
            .fragment_attributes()
            .iter()
            .map(|one| &*one.name)
            .collect();
        let mut expected: Vec<&str> = self
            .spec
            .fragment_attributes
            .iter()
            .map(|one| &*one.name)
            .collect();
        expected.extend(self.spec.stores_owners().then_some("object_id"));
        assert_eq!(sorted(names), sorted(expected));
        let mut cells: BTreeMap<(&str, &str), Vec<u8>> = BTreeMap::new();
        for one in level.fragment_attributes() {
            for text in &chunks {
                let chunk: Vec<i64> = text.split(' ').map(|n| n.parse().unwrap()).collect();
                let want = zvf_store::CellWant::new(&one.array, &chunk[..]);
                let found = store.fetch(level.next_round(), vec![want]).await.unwrap();
                cells.insert((&one.name, text), found[0].as_ref().unwrap().to_vec());
            }
        }
        let mut lengths: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for ((n, chunk), fragment) in numbers.iter().zip(&chunks).zip(&fragments) {
            let at: usize = fragment.parse().unwrap();
            let longest = lengths.entry(("", chunk)).or_default();
            *longest = (*longest).max(at + 1);
            let part = |name: &'static str, size: usize| -> Vec<u8> {
                cells[&(name, &**chunk)][at * size..][..size].to_vec()
            };
            if !self.spec.fragment_attributes.is_empty() {
                assert_eq!(part("run", 2), run(*n).to_le_bytes());
                let pair = [f32::from(run(*n)).to_le_bytes(), (-0.5_f32).to_le_bytes()].concat();
                assert_eq!(part("pair", 8), pair);
            }
            if self.spec.stores_owners() {
                let id = self.ids.as_ref().map_or(0, |ids| ids[*n]);
                assert_eq!(part("object_id", 8), id.to_le_bytes());
            }
        }
        for ((name, chunk), bytes) in &cells {
            let size = match *name {
                "run" => 2,
                _ => 8,
            };
            assert_eq!(
                bytes.len(),
                lengths[&("", *chunk)] * size,
                "{name} at {chunk}"
            );
        }
    }

    async fn check_keys(&self, store: &Store) {
        let Some(one) = &self.spec.chunk_by else {
            return;
        };
        let name = &one.attribute.name;
        let got = ask(store, Query::default()).await;
        let shown: Vec<String> = got.numbers().iter().map(|n| self.shown_key(*n)).collect();
        assert_eq!(column(&got.vertices, name), shown);
        for text in shown.iter().collect::<BTreeSet<_>>() {
            let value = match one.attribute.values {
                AttributeType::Number(NumberType::Bool) => (text != "0").to_string(),
                AttributeType::Category => format!("'{text}'"),
                _ => text.clone(),
            };
            let filter = Filter::parse(&format!("{name} == {value}")).unwrap();
            let query = Query {
                filter: Some(filter),
                ..Query::default()
            };
            let wanted: Vec<usize> = (0..self.positions.len())
                .filter(|n| self.shown_key(*n) == **text)
                .collect();
            assert_eq!(sorted(ask(store, query).await.numbers()), wanted);
        }
    }

    async fn check_whole(&self, store: &Store) {
        let columns = vec![
            Column::Position,
            Column::Attributes,
            Column::ObjectIds,
            Column::Fragment,
        ];
        let got = ask(
            store,
            Query {
                columns,
                ..Query::default()
            },
        )
        .await;
        let numbers = got.numbers();
        assert_eq!(
            sorted(numbers.clone()),
            (0..self.positions.len()).collect::<Vec<_>>()
        );
        let at = |name: &str| column(&got.vertices, name);
        let whole = !self.spec.positions.is_float();
        let position = |n: &usize| -> String {
            let numbers = self.positions[*n].iter();
            let texts = numbers.map(|p| {
                if whole {
                    format!("{}", *p as i64)
                } else {
                    float(*p)
                }
            });
            texts.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            at("position"),
            numbers.iter().map(position).collect::<Vec<_>>()
        );
        let vectors = numbers
            .iter()
            .map(|n| vector(*n).map(|v| float(f64::from(v))).join(" "));
        assert_eq!(at("vector"), vectors.collect::<Vec<_>>());
        let words = numbers.iter().map(|n| word(*n).unwrap_or("null".into()));
        assert_eq!(at("word"), words.collect::<Vec<_>>());
        assert!(at("fragment").iter().all(|fragment| fragment != "null"));
        if let Some(ids) = &self.ids {
            assert_eq!(
                at("object_ids"),
                numbers
                    .iter()
                    .map(|n| ids[*n].to_string())
                    .collect::<Vec<_>>()
            );
        }
        assert_eq!(sorted(got.links()), sorted(self.all_links()));
    }

    async fn check_objects(&self, store: &Store) {
        let mut members: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (n, id) in self.ids.iter().flatten().enumerate() {
            members.entry(*id).or_default().push(n);
        }
        // In reverse, to check that the requested order is returned.
        let ids: Vec<i64> = members.keys().rev().copied().collect();
        let asked = Query {
            objects: Some(ids.clone()),
            select: Select::Objects,
            attributes: Names::All,
            ..Query::default()
        };
        let got = ask(store, asked).await;
        let objects = got.objects.as_ref().unwrap();
        let numbers = got.numbers();
        let parse = |name: &str| -> Vec<usize> {
            column(objects, name)
                .iter()
                .map(|v| v.parse().unwrap())
                .collect()
        };
        let (starts, lengths) = (parse("start"), parse("length"));
        assert_eq!(
            column(objects, "object_id"),
            ids.iter().map(i64::to_string).collect::<Vec<_>>()
        );
        for ((id, start), length) in ids.iter().zip(starts).zip(lengths) {
            let found = numbers[start..start + length].to_vec();
            let found = if self.is_chain() {
                found
            } else {
                sorted(found)
            };
            assert_eq!(found, members[id], "object {id}");
        }
        if !self.spec.object_attributes.is_empty() {
            let sizes: Vec<String> = ids
                .iter()
                .map(|id| float(f64::from(*id as f32 / 2.0)))
                .collect();
            assert_eq!(column(objects, "size"), sizes);
        }
    }

    /// Every link of the input, including those of chains.
    pub(crate) fn all_links(&self) -> Vec<(Vec<usize>, String)> {
        if self.is_chain() {
            let ids = self.ids.as_ref().unwrap();
            let joined = |n: &usize| ids.get(*n) == ids.get(n + 1);
            return (0..self.positions.len())
                .filter(joined)
                .map(|n| (vec![n, n + 1], String::new()))
                .collect();
        }
        let weight = |at: usize| {
            if self.spec.links.explicit {
                at.to_string()
            } else {
                String::new()
            }
        };
        self.links
            .iter()
            .enumerate()
            .map(|(at, ends)| (ends.clone(), weight(at)))
            .collect()
    }
}
