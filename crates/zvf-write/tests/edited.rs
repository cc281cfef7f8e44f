//! A plain model of an edited store, and the check that the store has the same content.

use std::collections::{BTreeMap, BTreeSet};

use zvf_edit::{At, Edit};
use zvf_query::{BBox, Column, Query, Select, Table, list_objects, query};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values, WriteError,
};

use crate::edited_draw::Draw;
use crate::owners::check_owners;
use crate::support::{ADDRESS, Memory, ask, check_documents, column, float, sorted};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vertex {
    at: Vec<f64>,
    vector: [f32; 2],
    word: Option<String>,
    object: i64,
    /// Number of the value that splits chunks, if the store has such an attribute.
    key: usize,
}

/// The expected content of a store.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) spec: StoreSpec,
    pub(crate) vertices: BTreeMap<i64, Vertex>,
    /// Vertices of each object; their order counts for chains only.
    pub(crate) objects: BTreeMap<i64, Vec<i64>>,
    deleted: BTreeSet<i64>,
    sizes: BTreeMap<i64, Option<f32>>,
    pub(crate) links: Vec<(Vec<i64>, String)>,
    /// Values of the attribute that an edit adds.
    extra: Option<BTreeMap<i64, u16>>,
    /// Names and members, in the order of their numbers.
    groups: Vec<(String, Vec<i64>)>,
    next: i64,
}

/// New vertices and links of some objects.
#[derive(Debug, Default)]
struct Made {
    numbers: Vec<i64>,
    links: Vec<(Vec<usize>, u32)>,
}

/// Vertices in the order of query results, of everything and of each object; and the ends of links in the order of their list.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) all: Vec<i64>,
    /// Chunk and row of each of them.
    pub(crate) spots: Vec<(Vec<i64>, u64)>,
    pub(crate) objects: BTreeMap<i64, Vec<i64>>,
    pub(crate) links: Vec<Vec<i64>>,
    /// Whether the edit has not done anything yet.
    pub(crate) is_present: bool,
}

const WORDS: [&str; 5] = ["axon", "", "über", "dendrite", "x"];

impl Model {
    pub(crate) fn new(spec: StoreSpec) -> Self {
        Self {
            spec,
            vertices: BTreeMap::new(),
            objects: BTreeMap::new(),
            deleted: BTreeSet::new(),
            sizes: BTreeMap::new(),
            links: Vec::new(),
            extra: None,
            groups: Vec::new(),
            next: 0,
        }
    }

    fn is_chain(&self) -> bool {
        matches!(self.spec.kind, Kind::Line | Kind::Streamline)
    }

    fn word(draw: &mut Draw, words: usize) -> Option<String> {
        let at = draw.below(words + 1);
        WORDS[..words].get(at).map(|word| (*word).to_owned())
    }

    /// Makes an object, or adds vertices to an existing one.
    fn make(&mut self, id: i64, draw: &mut Draw, reach: i64, made: &mut Made) {
        let count = if self.spec.kind == Kind::Line {
            2
        } else {
            1 + draw.below(6)
        };
        let first = made.numbers.len();
        for _ in 0..count {
            let n = self.next;
            self.next += 1;
            let vertex = Vertex {
                at: (0..self.spec.dims())
                    .map(|_| draw.coordinate(reach))
                    .collect(),
                vector: [draw.coordinate(9) as f32, n as f32],
                word: Self::word(draw, if n < 12 { 3 } else { 5 }),
                object: id,
                key: self.some_key(draw, if n < 12 { 3 } else { 5 }),
            };
            self.vertices.insert(n, vertex);
            if let Some(extra) = &mut self.extra {
                extra.insert(n, (n * 7) as u16);
            }
            if self.spec.has_objects() {
                self.objects.entry(id).or_default().push(n);
                self.sizes.entry(id).or_default();
            }
            made.numbers.push(n);
        }
        self.deleted.remove(&id);
        let width = self.spec.links.width;
        match self.spec.kind {
            Kind::Graph | Kind::Mesh => {
                for _ in 0..draw.below(5) {
                    let ends = (0..width).map(|_| first + draw.below(count)).collect();
                    made.links.push((ends, draw.next() as u32));
                }
            }
            Kind::Skeleton => {
                for child in 1..count {
                    // Sometimes another tree begins.
                    if draw.below(5) > 0 {
                        made.links.push((
                            vec![first + child, first + draw.below(child)],
                            draw.next() as u32,
                        ));
                    }
                }
            }
            _ => {}
        }
    }

    /// The batch of the new vertices; notes the links.
    fn batch(&mut self, made: &Made) -> Batch {
        let all: Vec<&Vertex> = made.numbers.iter().map(|n| &self.vertices[n]).collect();
        let flat: Vec<f64> = all.iter().flat_map(|v| v.at.clone()).collect();
        let mut batch = Batch::new(flat)
            .with_attribute("n", made.numbers.clone())
            .with_attribute(
                "vector",
                all.iter().flat_map(|v| v.vector).collect::<Vec<f32>>(),
            )
            .with_attribute(
                "word",
                Values::Text(all.iter().map(|v| v.word.clone()).collect()),
            );
        if let Some(extra) = &self.extra {
            batch = batch.with_attribute(
                "extra",
                made.numbers.iter().map(|n| extra[n]).collect::<Vec<u16>>(),
            );
        }
        if let Some(keys) = self.keys(all.iter().map(|v| v.key)) {
            batch = batch.with_attribute("gene", keys);
        }
        if self.spec.has_objects() {
            batch = batch.with_object_ids(all.iter().map(|v| v.object).collect::<Vec<i64>>());
        }
        if self.spec.takes_links() {
            let ends: Vec<u64> = made
                .links
                .iter()
                .flat_map(|(ends, _)| ends.iter().map(|e| *e as u64))
                .collect();
            batch = batch.with_links(ends);
            if !self.spec.links.attributes.is_empty() {
                batch = batch.with_link_attribute(
                    "w",
                    made.links.iter().map(|(_, w)| *w).collect::<Vec<u32>>(),
                );
            }
        }
        let weighted = !self.spec.links.attributes.is_empty();
        for (ends, w) in &made.links {
            let ends = ends.iter().map(|end| made.numbers[*end]).collect();
            self.links.push((
                ends,
                if weighted {
                    w.to_string()
                } else {
                    String::new()
                },
            ));
        }
        batch
    }

    /// The batches of several objects, one each, because a batch must have a whole skeleton anyway.
    fn grow(&mut self, ids: &[i64], draw: &mut Draw, reach: i64) -> Batch {
        let mut made = Made::default();
        for id in ids {
            self.make(*id, draw, reach, &mut made);
        }
        self.batch(&made)
    }

    /// Writes the first store.
    pub(crate) async fn write(&mut self, memory: &Memory, draw: &mut Draw) {
        let mut writer = StoreWriter::create(ADDRESS, self.spec.clone(), memory.options())
            .await
            .unwrap();
        let ids: Vec<i64> = [3, -7, 40, 1 << 40]
            .into_iter()
            .take(1 + draw.below(4))
            .collect();
        let batch = self.grow(&ids, draw, 12);
        // Missing texts have a code only if a text is missing from the beginning.
        let n = self.next;
        self.next += 1;
        let first = self.vertices[&0].clone();
        let id = 77;
        let at = first.at.clone();
        let mut made = Made::default();
        for n in [n, n + 1]
            .into_iter()
            .take(if self.spec.kind == Kind::Line { 2 } else { 1 })
        {
            let vertex = Vertex {
                word: None,
                object: id,
                at: at.clone(),
                ..first.clone()
            };
            self.vertices.insert(n, vertex);
            self.next = n + 1;
            if self.spec.has_objects() {
                self.objects.entry(id).or_default().push(n);
                self.sizes.insert(id, None);
            }
            made.numbers.push(n);
        }
        writer.push(&batch).unwrap();
        let last = self.batch(&made);
        writer.push(&last).unwrap();
        if self.spec.has_objects() {
            let ids: Vec<i64> = ids.into_iter().take(2).chain([500]).collect();
            let sizes: Vec<f32> = ids.iter().map(|id| *id as f32 / 2.0).collect();
            for (id, size) in ids.iter().zip(&sizes) {
                self.sizes.insert(*id, Some(*size));
                self.objects.entry(*id).or_default();
            }
            writer
                .push_objects(&ObjectTable::new(ids).with_attribute("size", sizes))
                .unwrap();
        }
        writer.finish().await.unwrap();
    }

    /// The order of vertices in the store at this moment: of everything, and of each object.
    pub(crate) async fn order(&self, memory: &Memory) -> Order {
        let store = memory.open().await;
        let all = ask(&store, Query::default()).await;
        let parse = |all: &crate::support::Got| -> Vec<i64> {
            column(&all.vertices, "n")
                .iter()
                .map(|n| n.parse().unwrap())
                .collect()
        };
        let mut objects = BTreeMap::new();
        if self.spec.has_objects() {
            let full = self
                .objects
                .iter()
                .filter(|(_, numbers)| !numbers.is_empty());
            let ids: Vec<i64> = full.map(|(id, _)| *id).collect();
            let asked = Query {
                objects: Some(ids.clone()),
                select: Select::Objects,
                ..Query::default()
            };
            let got = ask(&store, asked).await;
            let table = got.objects.as_ref().unwrap();
            let numbers = parse(&got);
            let at = |name: &str| -> Vec<usize> {
                column(table, name)
                    .iter()
                    .map(|v| v.parse().unwrap())
                    .collect()
            };
            for ((id, start), length) in ids.into_iter().zip(at("start")).zip(at("length")) {
                objects.insert(id, numbers[start..start + length].to_vec());
            }
        }
        let asked = Query {
            columns: vec![Column::Chunk, Column::Row],
            ..Query::default()
        };
        let got = ask(&store, asked).await;
        let chunks = column(&got.vertices, "chunk").into_iter();
        let chunks = chunks.map(|chunk| chunk.split(' ').map(|c| c.parse().unwrap()).collect());
        let rows = column(&got.vertices, "row").into_iter();
        Order {
            all: parse(&all),
            spots: chunks.zip(rows.map(|row| row.parse().unwrap())).collect(),
            objects,
            links: self.listed(&store).await,
            is_present: true,
        }
    }

    /// One random operation on model and edit. `order` is the order of the store before the edit. Addresses that refer to the state during the edit
    /// are only used while both states are the same.
    pub(crate) async fn step(
        &mut self,
        edit: &mut Edit,
        what: u8,
        draw: &mut Draw,
        order: Option<&Order>,
    ) -> Result<(), WriteError> {
        let alive: Vec<i64> = self
            .objects
            .keys()
            .filter(|id| !self.deleted.contains(id))
            .copied()
            .collect();
        match what {
            // New objects, or points.
            0 | 1 => {
                let reach = if draw.below(4) == 0 { 40 } else { 12 };
                let mut ids: Vec<i64> = vec![-50 - self.next * 3];
                if draw.below(3) == 0
                    && let Some(id) = self.deleted.first()
                {
                    ids.push(*id);
                }
                let grows = matches!(self.spec.kind, Kind::PointCloud | Kind::Streamline);
                if grows && draw.below(2) == 0 && !alive.is_empty() {
                    ids.push(alive[draw.below(alive.len())]);
                }
                if !self.spec.has_objects() {
                    ids.truncate(1);
                }
                let batch = self.grow(&ids, draw, reach);
                edit.append(&batch).await
            }
            2 if !alive.is_empty() => {
                let ids: BTreeSet<i64> = (0..1 + draw.below(2))
                    .map(|_| alive[draw.below(alive.len())])
                    .collect();
                for id in &ids {
                    for n in std::mem::take(self.objects.get_mut(id).unwrap()) {
                        self.vertices.remove(&n);
                        self.links.retain(|(ends, _)| !ends.contains(&n));
                    }
                    self.sizes.insert(*id, None);
                    self.deleted.insert(*id);
                    // Even if another object gets this id later.
                    for (_, members) in &mut self.groups {
                        members.retain(|member| member != id);
                    }
                }
                edit.delete(&ids.into_iter().collect::<Vec<_>>()).await
            }
            3 | 4 => {
                let Some(order) = order else { return Ok(()) };
                let some = self.some(draw, order);
                let reach = if draw.below(4) == 0 { 40 } else { 12 };
                let mut flat: Vec<f64> = Vec::new();
                for n in &some.numbers {
                    let at = &mut self.vertices.get_mut(n).unwrap().at;
                    if draw.below(2) == 0 {
                        at.iter_mut()
                            .for_each(|value| *value = draw.coordinate(reach));
                    } else {
                        at[0] += 0.25;
                    }
                    flat.extend_from_slice(at);
                }
                edit.move_vertices(some.at(), &Values::from(flat)).await
            }
            5 => {
                let Some(order) = order else { return Ok(()) };
                let some = self.some(draw, order);
                let mut words = Vec::new();
                for n in &some.numbers {
                    let word = Self::word(draw, 5);
                    self.vertices.get_mut(n).unwrap().word.clone_from(&word);
                    words.push(word);
                }
                edit.set_vertex_attribute("word", some.at(), &Values::optional_texts(words))
                    .await
            }
            6 if !alive.is_empty() => {
                let ids: BTreeSet<i64> = (0..2)
                    .map(|_| alive[draw.below(alive.len())])
                    .chain([900])
                    .collect();
                let ids: Vec<i64> = ids.into_iter().collect();
                let sizes: Vec<f32> = ids.iter().map(|_| draw.coordinate(50) as f32).collect();
                for (id, size) in ids.iter().zip(&sizes) {
                    self.sizes.insert(*id, Some(*size));
                    self.objects.entry(*id).or_default();
                    self.deleted.remove(id);
                }
                edit.put_objects(&ObjectTable::new(ids).with_attribute("size", sizes))
                    .await
            }
            7 if self.extra.is_none() => {
                let Some(Order {
                    all,
                    is_present: true,
                    ..
                }) = order
                else {
                    return Ok(());
                };
                let values: Vec<u16> = all.iter().map(|n| (n * 7) as u16).collect();
                self.extra = Some(all.iter().copied().zip(values.iter().copied()).collect());
                edit.add_vertex_attribute(
                    AttributeSpec::number("extra", NumberType::U16),
                    &Values::from(values),
                )
                .await
            }
            8 => match order {
                Some(order) if order.is_present => self.step_links(edit, draw, order).await,
                _ => Ok(()),
            },
            // Another value of the attribute that splits chunks: vertices move to other chunks.
            10 => match order {
                Some(order) => self.step_points(edit, draw, order).await,
                None => Ok(()),
            },
            11 if self.spec.has_objects() => self.step_groups(edit, draw, &alive).await,
            9 if self.spec.chunk_by.is_some() => {
                let Some(order) = order else { return Ok(()) };
                let some = self.some(draw, order);
                for n in &some.numbers {
                    self.vertices.get_mut(n).unwrap().key = draw.below(5);
                }
                let keys = some.numbers.iter().map(|n| self.vertices[n].key);
                let keys = self.keys(keys).unwrap();
                edit.set_vertex_attribute("gene", some.at(), &keys).await
            }
            _ => Ok(()),
        }
    }

    /// Some vertices with their addresses.
    fn some(&self, draw: &mut Draw, order: &Order) -> Some_ {
        let Order { all, objects, .. } = order;
        let by_object: BTreeMap<i64, (i64, u64)> = objects
            .iter()
            .flat_map(|(id, numbers)| (0..).zip(numbers).map(move |(at, n)| (*n, (*id, at))))
            .collect();
        let picked: BTreeSet<usize> = (0..1 + draw.below(4))
            .map(|_| draw.below(all.len()))
            .collect();
        let alive = |at: &usize| all.get(*at).is_some_and(|n| self.vertices.contains_key(n));
        let picked: Vec<usize> = picked.into_iter().filter(alive).collect();
        let numbers: Vec<i64> = picked.iter().map(|at| all[*at]).collect();
        let by_place = order.is_present || self.is_chain();
        let places = (self.spec.has_objects() && by_place && draw.below(2) == 0)
            .then(|| numbers.iter().map(|n| by_object[n]).collect());
        Some_ {
            rows: picked.into_iter().map(|at| at as u64).collect(),
            places,
            numbers,
        }
    }

    /// Reads the store in all ways and compares.
    pub(crate) async fn check(&self, memory: &Memory) {
        let files = memory.files().await;
        check_documents(&files);
        assert!(
            files.keys().all(|key| !key.starts_with("zvf-")),
            "leftovers"
        );
        self.check_answers(memory).await;
        check_owners(memory).await;
    }

    pub(crate) async fn check_answers(&self, memory: &Memory) {
        let store = memory.open().await;
        let mut columns = vec![Column::Position, Column::Attributes];
        if self.spec.has_objects() {
            columns.push(Column::ObjectIds);
        }
        let got = ask(
            &store,
            Query {
                columns,
                ..Query::default()
            },
        )
        .await;
        let numbers: Vec<i64> = got.numbers().into_iter().map(|n| n as i64).collect();
        assert_eq!(
            sorted(numbers.clone()),
            self.vertices.keys().copied().collect::<Vec<_>>()
        );
        let compare = |name: &str, wanted: &dyn Fn(i64) -> String| {
            let wanted: Vec<String> = numbers.iter().map(|n| wanted(*n)).collect();
            assert_eq!(column(&got.vertices, name), wanted, "{name}");
        };
        if !numbers.is_empty() {
            let floats = |values: &[f64]| {
                values
                    .iter()
                    .map(|v| float(*v))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            compare("position", &|n| floats(&self.vertices[&n].at));
            compare("vector", &|n| {
                floats(&self.vertices[&n].vector.map(f64::from))
            });
            compare("word", &|n| {
                self.vertices[&n].word.clone().unwrap_or("null".into())
            });
            if self.spec.has_objects() {
                compare("object_ids", &|n| self.vertices[&n].object.to_string());
            }
            if let Some(extra) = &self.extra {
                compare("extra", &|n| extra[&n].to_string());
            }
            if self.spec.chunk_by.is_some() {
                compare("gene", &|n| self.shown(self.vertices[&n].key).0);
                let key = self.vertices[&numbers[0]].key;
                let of_value =
                    |(n, vertex): (&i64, &Vertex)| (vertex.key == key).then_some(*n as usize);
                let wanted = self.vertices.iter().filter_map(of_value).collect();
                self.check_value(&store, key, wanted).await;
            }
        }
        assert_eq!(sorted(self.links_of(&got)), sorted(self.all_links()));
        let (low, high) = (vec![-4.0; self.spec.dims()], vec![5.0; self.spec.dims()]);
        let inside = |n: &i64| self.vertices[n].at.iter().all(|p| (-4.0..=5.0).contains(p));
        let bbox = Some(BBox::new(low, high).unwrap());
        let got = ask(
            &store,
            Query {
                bbox,
                ..Query::default()
            },
        )
        .await;
        let wanted: Vec<usize> = self
            .vertices
            .keys()
            .filter(|n| inside(n))
            .map(|n| *n as usize)
            .collect();
        assert_eq!(sorted(got.numbers()), wanted);
        let links = self
            .all_links()
            .into_iter()
            .filter(|(ends, _)| ends.iter().all(inside))
            .collect();
        assert_eq!(
            sorted(self.links_of(&got)),
            sorted::<(Vec<i64>, String)>(links)
        );
        if self.spec.has_objects() {
            self.check_objects(&store).await;
        }
    }

    fn links_of(&self, got: &crate::support::Got) -> Vec<(Vec<i64>, String)> {
        let links = got.links().into_iter();
        links
            .map(|(ends, w)| (ends.into_iter().map(|n| n as i64).collect(), w))
            .collect()
    }

    async fn check_objects(&self, store: &zvf_store::Store) {
        self.check_rows(store).await;
        self.check_groups(store).await;
        self.check_deleted(store).await;
        // Query results do not contain objects without vertices.
        let full = self
            .objects
            .iter()
            .rev()
            .filter(|(_, numbers)| !numbers.is_empty());
        let ids: Vec<i64> = full.map(|(id, _)| *id).collect();
        let asked = Query {
            objects: Some(ids.clone()),
            select: Select::Objects,
            ..Query::default()
        };
        let got = ask(store, asked).await;
        let table = got.objects.as_ref().unwrap();
        let numbers = got.numbers();
        let at = |name: &str| -> Vec<usize> {
            column(table, name)
                .iter()
                .map(|v| v.parse().unwrap())
                .collect()
        };
        assert_eq!(
            column(table, "object_id"),
            ids.iter().map(i64::to_string).collect::<Vec<_>>()
        );
        for ((id, start), length) in ids.iter().zip(at("start")).zip(at("length")) {
            let found: Vec<i64> = numbers[start..start + length]
                .iter()
                .map(|n| *n as i64)
                .collect();
            let (found, wanted) = if self.is_chain() {
                (found, self.objects[id].clone())
            } else {
                (sorted(found), sorted(self.objects[id].clone()))
            };
            assert_eq!(found, wanted, "object {id}");
        }
        let sizes = ids.iter().map(|id| self.sizes.get(id).copied().flatten());
        let sizes: Vec<String> = sizes
            .map(|size| size.map_or("null".into(), |size| float(f64::from(size))))
            .collect();
        assert_eq!(column(table, "size"), sizes);
    }

    /// Checks the index and the table of sizes as stored.
    async fn check_rows(&self, store: &zvf_store::Store) {
        let level = store.level(0, &zvf_store::Need::all()).await.unwrap();
        let index = level.object_index().unwrap();
        let ids: Vec<i64> = index.ids().await.unwrap().iter().collect();
        assert_eq!(
            sorted(ids.clone()),
            self.objects.keys().copied().collect::<Vec<_>>()
        );
        let present = self
            .objects
            .values()
            .filter(|numbers| !numbers.is_empty())
            .count() as u64;
        assert_eq!(
            (index.len(), index.doc().num_present),
            (ids.len() as u64, Some(present))
        );
        assert_eq!(index.doc().object_ids_sorted, Some(ids.is_sorted()));
        let sizes = level.object_attributes()[0].read().await.unwrap();
        for (row, id) in ids.iter().enumerate() {
            let size = self.sizes.get(id).copied().flatten();
            let found = (!sizes.is_absent(row)).then(|| sizes.row(row).unwrap());
            assert_eq!(
                found,
                size.map(f32::to_le_bytes).as_ref().map(|bytes| &bytes[..]),
                "size of {id}"
            );
        }
        assert_eq!(level.doc().vertex_count, self.vertices.len() as u64);
    }

    /// Members join or leave a group, or a group is renamed or removed.
    async fn step_groups(
        &mut self,
        edit: &mut Edit,
        draw: &mut Draw,
        alive: &[i64],
    ) -> Result<(), WriteError> {
        let known = draw.below(self.groups.len());
        match (draw.below(5), self.groups.get_mut(known)) {
            (3, Some((name, members))) if !members.is_empty() => {
                let id = members.remove(draw.below(members.len()));
                edit.remove_from_group(name, &[id]).await
            }
            (4, Some((name, _))) if draw.below(2) == 0 => {
                let old = std::mem::replace(name, format!("renamed {}", self.next));
                self.next += 1;
                edit.rename_group(&old, name).await
            }
            (4, Some(_)) => {
                self.groups.remove(known);
                edit.delete_group(&known.to_string()).await
            }
            _ if alive.is_empty() => Ok(()),
            _ => {
                let name = format!("g{}", draw.below(3));
                let ids: Vec<i64> = (0..1 + draw.below(3))
                    .map(|_| alive[draw.below(alive.len())])
                    .collect();
                let at = self.groups.iter().position(|(one, _)| *one == name);
                let at = at.unwrap_or_else(|| {
                    self.groups.push((name.clone(), Vec::new()));
                    self.groups.len() - 1
                });
                let members = &mut self.groups[at].1;
                for id in &ids {
                    if !members.contains(id) {
                        members.push(*id);
                    }
                }
                edit.add_to_group(&name, &ids).await
            }
        }
    }

    /// Deleted objects are members of no group, even if the stored lists have them; other objects are only in their own groups.
    async fn check_groups(&self, store: &zvf_store::Store) {
        let level = store.level(0, &zvf_store::Need::all()).await.unwrap();
        let mut found = Vec::new();
        if let Some(groups) = level.groups() {
            for number in 0..groups.len() {
                let mut members = groups.members(number).await.unwrap();
                members.retain(|id| !self.deleted.contains(id));
                found.push((groups.name(number), members));
            }
        }
        assert_eq!(found, self.groups);
    }

    /// Deleted objects are in no list, and a query for them fails.
    async fn check_deleted(&self, store: &zvf_store::Store) {
        let alive = self.objects.keys().filter(|id| !self.deleted.contains(id));
        let alive: Vec<String> = alive.map(i64::to_string).collect();
        let list = list_objects(store, 0, false).await.unwrap();
        let list = list.collect().await.unwrap().table(Table::Objects).unwrap();
        let listed = list.map_or(Vec::new(), |list| column(&list, "object_id"));
        assert_eq!(sorted(listed), sorted(alive));
        let Some(&id) = self.deleted.first() else {
            return;
        };
        let mut asked = Query {
            objects: Some(vec![id]),
            ..Query::default()
        };
        let told = match query(store, asked.clone()).await {
            Ok(answer) => answer.collect().await.unwrap_err(),
            Err(error) => error,
        };
        assert!(
            told.to_string().contains(&format!("no object {id}")),
            "{told}"
        );
        asked.ignore_missing = true;
        assert_eq!(ask(store, asked).await.vertices.num_rows(), 0);
        let all = Query {
            select: Select::Objects,
            ..Query::default()
        };
        let all = ask(store, all).await.objects.unwrap();
        assert!(!column(&all, "object_id").contains(&id.to_string()));
    }

    /// Removes the rows of deleted objects; returns how many.
    pub(crate) fn vacuumed(&mut self) -> usize {
        let deleted = std::mem::take(&mut self.deleted);
        for id in &deleted {
            self.objects.remove(id);
            self.sizes.remove(id);
        }
        deleted.len()
    }

    pub(crate) fn count(&self) -> usize {
        self.vertices.len()
    }

    fn all_links(&self) -> Vec<(Vec<i64>, String)> {
        if self.is_chain() {
            let steps = self.objects.values().flat_map(|numbers| numbers.windows(2));
            return steps.map(|pair| (pair.to_vec(), String::new())).collect();
        }
        self.links.clone()
    }
}

/// Some vertices and their addresses.
#[derive(Debug)]
struct Some_ {
    numbers: Vec<i64>,
    rows: Vec<u64>,
    places: Option<Vec<(i64, u64)>>,
}

impl Some_ {
    fn at(&self) -> At<'_> {
        match &self.places {
            Some(places) => At::Objects(places),
            None => At::Rows(&self.rows),
        }
    }
}
