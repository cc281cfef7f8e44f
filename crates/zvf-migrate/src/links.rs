//! Links of a new level: of the level itself, and to other levels (0.9 §13).

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::fragments::FragmentIndexBuilder;
use zvf_format::keys::{format_delta, format_offsets};
use zvf_format::links::{
    CellForm, Elem, Endpoint, LinkCellBuilder, anchor, canonical_order, duplicate_order,
};
use zvf_meta::{ArrayAttributes, LinkAttributeFamilyDoc, LinkFamilyDoc, LinkStore};
use zvf_store::{LinkAttribute, LinkFamily};

use super::report::Notes;
use zvf_store::ChunkCoord;
use zvf_write::bucket::{Bucket, Buckets};
use zvf_write::documents::Docs;
use zvf_write::error::OrBug;
use zvf_write::form::LinksBy;
use zvf_write::int::{index, narrow, signed, to_index, wide};
use zvf_write::nodes::Nodes;
use zvf_write::parallel::pack;
use zvf_write::record::{records, take_flagged, take_link};
use zvf_write::shard::Cells;
use zvf_write::spill::SpillFile;
use zvf_write::target::Below;
use zvf_write::target::{Object, Payloads};
use zvf_write::tuples::{self, Tuples};
use zvf_write::{WriteError, documents, parallel};

/// How a family is stored.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) delta: i32,
    pub(super) width: usize,
    pub(super) directed: bool,
    pub(super) store: LinkStore,
    pub(super) elem: Elem,
    /// Chunk shapes of this level and the target level in those of the root; of families between levels.
    pub(super) factors: Option<(Vec<i64>, Vec<i64>)>,
    /// Components of a chunk coordinate.
    pub(super) rank: usize,
    /// Whether the array of links inside chunks is there even if no link is.
    pub(super) inner: bool,
    /// How links between chunks are found.
    pub(super) by: LinksBy,
}

impl Policy {
    /// The same where links are found by their chunks: those between levels are sorted there, too (0.8 §9.3).
    fn tuples(&self) -> tuples::Policy {
        let inside = self.delta == 0;
        tuples::Policy {
            delta: self.delta,
            width: self.width,
            directed: inside && self.directed,
            store: if inside {
                self.store
            } else {
                LinkStore::Canonical
            },
            rank: self.rank,
            inner: self.inner,
        }
    }
}

/// An attribute of the links of a family.
#[derive(Debug, Clone)]
pub(super) struct Valued {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) width: u64,
    pub(super) attributes: ArrayAttributes,
    /// Bytes of a value.
    pub(super) size: usize,
    /// Whether every link of the source should have a value.
    complete: bool,
}

impl Valued {
    pub(super) fn new(attribute: &LinkAttribute, size: usize, family: &LinkFamily) -> Self {
        let array = attribute.arrays.iter().flatten().next();
        Self {
            name: attribute.name.clone(),
            dtype: DType::little(attribute.dtype.kind),
            width: attribute.width,
            attributes: array
                .map(|array| super::documents::carried(array.attributes()))
                // Links that had no array have no words of one.
                .unwrap_or_default(),
            size,
            complete: attribute.is_complete(family),
        }
    }

    /// The same as it is written beside links that are found by their chunks.
    fn beside(&self) -> tuples::Valued {
        let names = self.attributes.channel_names.clone();
        let wide = self.width != 1;
        tuples::Valued {
            name: self.name.clone(),
            size: self.size,
            absent: self.absent(),
            attributes: ArrayAttributes {
                dtype: Some(self.dtype.to_string()),
                row_shape: Some(if wide { vec![self.width] } else { Vec::new() }),
                channel_names: names.filter(|names| u64::try_from(names.len()) == Ok(self.width)),
                ..self.attributes.clone()
            },
        }
    }

    fn absent(&self) -> Option<Vec<u8>> {
        let one = match self.dtype.kind {
            DTypeKind::F16 => half::f16::NAN.to_le_bytes().to_vec(),
            DTypeKind::F32 => f32::NAN.to_le_bytes().to_vec(),
            DTypeKind::F64 => f64::NAN.to_le_bytes().to_vec(),
            _ => return None,
        };
        Some(one.repeat(usize::try_from(self.width.max(1)).ok()?))
    }
}

/// Tells of links without a value beside others that have one.
fn tell_missing(path: &str, has_word: bool, missing: usize, notes: &Notes) {
    if has_word {
        let what = "links without a value got the one that means absence";
        notes.repaired(path, what, wide(missing));
    } else if missing > 0 {
        let what = "some links have no value, and the type has none for absence: they got zeros";
        notes.lost(path, what);
    }
}

/// The type of columns as it is written.
pub(super) fn little_elem(elem: Elem) -> Elem {
    match elem {
        Elem::I16Be => Elem::I16,
        Elem::I32Be => Elem::I32,
        Elem::I64Be => Elem::I64,
        Elem::U16Be => Elem::U16,
        Elem::U32Be => Elem::U32,
        Elem::U64Be => Elem::U64,
        other => other,
    }
}

fn elem_name(elem: Elem) -> &'static str {
    match elem {
        Elem::I8 => "int8",
        Elem::I16 | Elem::I16Be => "int16",
        Elem::I32 | Elem::I32Be => "int32",
        Elem::I64 | Elem::I64Be => "int64",
        Elem::U8 => "uint8",
        Elem::U16 | Elem::U16Be => "uint16",
        Elem::U32 | Elem::U32Be => "uint32",
        Elem::U64 | Elem::U64Be => "uint64",
    }
}

/// An endpoint of the new level: its chunk with its number there, and row.
#[derive(Debug, Clone, Copy)]
pub(super) struct End<'c> {
    pub(super) slot: u32,
    pub(super) chunk: &'c [i64],
    pub(super) row: u32,
}

/// Number of an array of the family, and number of the chunk of the first stored endpoint.
type Place = (u32, u32);

/// Puts links into buckets, one for each cell.
#[derive(Debug)]
pub(super) struct Placer {
    policy: Policy,
    values: Vec<Valued>,
    segments: Vec<Vec<i64>>,
    numbers: HashMap<Vec<i64>, u32>,
    buckets: Buckets<Place>,
    pub(super) links: u64,
    records: u64,
    /// Takes all links, where they are found by their chunks.
    tuples: Option<Tuples>,
}

impl Placer {
    pub(super) fn new(
        policy: Policy,
        values: Vec<Valued>,
        budget: usize,
        folder: &Path,
    ) -> Result<Self, WriteError> {
        let tuples = (policy.by == LinksBy::Chunks).then(|| {
            let values = values.iter().map(Valued::beside).collect();
            Tuples::new(policy.tuples(), values, budget, folder)
        });
        let mut placer = Self {
            tuples,
            policy,
            values,
            segments: Vec::new(),
            numbers: HashMap::new(),
            buckets: Buckets::new(budget, folder),
            links: 0,
            records: 0,
        };
        if placer.policy.inner && placer.tuples.is_none() {
            let others = placer.policy.width.checked_sub(1);
            let others = others.or_bug("links without ends")?;
            placer.segment(vec![0; others * placer.policy.rank])?;
        }
        Ok(placer)
    }

    /// Number of attributes.
    pub(super) fn values(&self) -> usize {
        self.values.len()
    }

    fn segment(&mut self, offsets: Vec<i64>) -> Result<u32, WriteError> {
        if let Some(&number) = self.numbers.get(&offsets) {
            return Ok(number);
        }
        let number = narrow("arrays of links", self.segments.len())?;
        self.segments.push(offsets.clone());
        self.numbers.insert(offsets, number);
        Ok(number)
    }

    /// Places one link. Ends are in the order of the application; the first lies in this level.
    pub(super) fn push(
        &mut self,
        ends: &[End<'_>],
        values: &[Option<&[u8]>],
    ) -> Result<(), WriteError> {
        let failed =
            |source| WriteError::input("link", format!("{source}"), "a link that can be placed");
        self.links += 1;
        let points: Vec<Endpoint<'_>> = ends
            .iter()
            .map(|end| Endpoint {
                chunk: end.chunk,
                row: i64::from(end.row),
            })
            .collect();
        if let Some(tuples) = &mut self.tuples {
            return tuples.push(&points, values);
        }
        if self.policy.delta == 0 && self.policy.store == LinkStore::Duplicate {
            let mut placements = Vec::new();
            duplicate_order(&points, |placement| placements.push(placement.to_vec()))
                .map_err(failed)?;
            for placement in placements {
                self.put(ends, &placement, values)?;
            }
            return Ok(());
        }
        let mut placement = vec![0; points.len()];
        if self.policy.delta != 0 || self.policy.directed {
            (0_u8..)
                .zip(&mut placement)
                .for_each(|(at, slot)| *slot = at);
        } else {
            canonical_order(&points, &mut placement).map_err(failed)?;
        }
        self.put(ends, &placement, values)
    }

    fn put(
        &mut self,
        ends: &[End<'_>],
        placement: &[u8],
        values: &[Option<&[u8]>],
    ) -> Result<(), WriteError> {
        let mut order = placement.iter().map(|&at| usize::from(at));
        let Some(source) = order.next().and_then(|at| ends.get(at)) else {
            return Err(WriteError::bug("a link without ends"));
        };
        let mut from = source.chunk.to_vec();
        if let Some((here, there)) = &self.policy.factors {
            let source = source.chunk;
            anchor(source, here, there, &mut from).map_err(|error| {
                WriteError::source(format!("chunk {source:?}"), error.to_string())
            })?;
        }
        let mut offsets = Vec::new();
        for at in order {
            let end = ends
                .get(at)
                .or_bug("a link is placed by ends that it does not have")?;
            for (&to, &from) in end.chunk.iter().zip(&from) {
                let step = to.checked_sub(from).ok_or_else(|| {
                    WriteError::input("link", "chunks further apart than 2^63", "a nearer chunk")
                })?;
                offsets.push(step);
            }
        }
        let place = (self.segment(offsets)?, source.slot);
        let number = self.buckets.number(&place, |&place| place);
        let rows: Vec<u32> = placement
            .iter()
            .filter_map(|&at| ends.get(usize::from(at)).map(|end| end.row))
            .collect();
        let record = tuples::Record {
            placement,
            rows: &rows,
            values,
        };
        let sizes = self.values.iter().map(|valued| valued.size);
        record.append(&mut self.buckets, number, sizes)?;
        self.records += 1;
        self.buckets.relieve()
    }

    /// Writes the cells and returns the documents: of arrays, and of groups by path.
    pub(super) fn write(
        self,
        chunks: &[ChunkCoord],
        cells: &Cells,
        target: &Below<'_>,
        threads: usize,
        notes: &Notes,
    ) -> Result<Nodes, WriteError> {
        if let Some(tuples) = self.tuples {
            let missing = |one: &tuples::Valued, missing: usize| {
                let path = format!("link_attributes/{}", one.name);
                tell_missing(&path, one.absent.is_some(), missing, notes);
            };
            let sink = tuples::Sink {
                cells,
                target,
                threads,
                missing: &missing,
            };
            return tuples.write(sink, |_| {});
        }
        let (buckets, file) = self.buckets.finish();
        let family = Written {
            policy: self.policy,
            values: self.values,
            segments: self.segments,
            cells,
            target,
            notes,
        };
        let chunk = |slot: u32| {
            let chunk = chunks.get(index(slot)).map(ChunkCoord::as_slice);
            chunk.or_bug(format_args!("no chunk {slot}"))
        };
        let mut items = Vec::new();
        for ((array, slot), bucket) in buckets {
            let mut object = vec![u64::from(array)];
            object.extend(cells.object_index(chunk(slot)?)?);
            items.push((object, bucket.size(), (array, slot, bucket)));
        }
        let work = |job: Vec<(u32, u32, Bucket)>| family.write_job(job, &file, &chunk);
        let mut done: Vec<Done> = Vec::new();
        parallel::each(
            threads,
            pack(items).into_iter(),
            work,
            |mut some: Vec<Done>| {
                done.append(&mut some);
                Ok(())
            },
        )?;
        let (arrays, groups) = family.docs(&done, &chunk, self.links, self.records)?;
        Ok(Nodes::new(arrays, groups))
    }
}

/// A cell that was written.
#[derive(Debug)]
struct Done {
    array: u32,
    slot: u32,
    /// Which attributes have a cell here.
    valued: Vec<bool>,
}

struct Written<'w> {
    policy: Policy,
    values: Vec<Valued>,
    segments: Vec<Vec<i64>>,
    cells: &'w Cells,
    target: &'w Below<'w>,
    notes: &'w Notes,
}

impl Written<'_> {
    fn offsets(&self, array: u32) -> Result<&[i64], WriteError> {
        let offsets = self.segments.get(index(array)).map(Vec::as_slice);
        offsets.or_bug(format_args!("no array {array} of links"))
    }

    fn form(&self, array: u32) -> Result<CellForm, WriteError> {
        let duplicate = self.policy.store == LinkStore::Duplicate;
        let (delta, directed) = (self.policy.delta, self.policy.directed);
        let (offsets, elem) = (self.offsets(array)?, self.policy.elem);
        let width = self.policy.width;
        Ok(CellForm::derive(
            width, delta, offsets, directed, duplicate, elem,
        ))
    }

    fn is_inner(&self, array: u32) -> Result<bool, WriteError> {
        Ok(self.policy.delta == 0 && self.offsets(array)?.iter().all(|&step| step == 0))
    }

    fn segment(&self, array: u32) -> Result<String, WriteError> {
        Ok(format_offsets(self.offsets(array)?, self.policy.rank).to_string())
    }

    fn write_job<'c>(
        &self,
        job: Vec<(u32, u32, Bucket)>,
        file: &SpillFile,
        chunk: &impl Fn(u32) -> Result<&'c [i64], WriteError>,
    ) -> Result<Vec<Done>, WriteError> {
        let mut columns: BTreeMap<String, Payloads<'_>> = BTreeMap::new();
        let mut done = Vec::new();
        let delta = format_delta(self.policy.delta);
        for (array, slot, bucket) in job {
            let coord = chunk(slot)?;
            let segment = self.segment(array)?;
            let (rows, count, values) = self.cell(array, &bucket.read(file)?)?;
            let mut put = |path: String, payload: Vec<u8>| {
                columns.entry(path).or_default().push((coord, payload));
            };
            put(format!("links/{delta}/{segment}"), rows);
            if self.is_inner(array)? {
                let mut fragments = FragmentIndexBuilder::new();
                fragments
                    .push_range(0, count)
                    .map_err(|source| WriteError::encode("link_fragments", source))?;
                put("link_fragments".to_owned(), fragments.finish());
            }
            let mut valued = Vec::new();
            for (one, payload) in self.values.iter().zip(values) {
                valued.push(payload.is_some());
                if let Some(payload) = payload {
                    put(
                        format!("link_attributes/{}/{delta}/{segment}", one.name),
                        payload,
                    );
                }
            }
            done.push(Done {
                array,
                slot,
                valued,
            });
        }
        let mut objects: Vec<Object> = Vec::new();
        for (path, column) in columns {
            objects.extend(self.cells.objects(&path, column)?);
        }
        self.target.put(objects)?;
        Ok(done)
    }

    /// The payload of a cell, its rows, and the payloads of attributes that have a value here.
    #[expect(clippy::type_complexity, reason = "three parts of one cell")]
    fn cell(
        &self,
        array: u32,
        bytes: &[u8],
    ) -> Result<(Vec<u8>, i64, Vec<Option<Vec<u8>>>), WriteError> {
        let width = self.policy.width;
        let size = width * 5 + self.values.iter().map(|one| one.size + 1).sum::<usize>();
        let mut builder = LinkCellBuilder::new(self.form(array)?);
        let segment = self.segment(array)?;
        let mut columns: Vec<Vec<Option<Vec<u8>>>> = vec![Vec::new(); self.values.len()];
        for mut record in records(bytes, size)? {
            let (placement, rows) = take_link(&mut record, width)?;
            builder
                .push(placement, &rows)
                .map_err(|source| WriteError::encode(format!("links at {segment}"), source))?;
            for (column, one) in columns.iter_mut().zip(&self.values) {
                column.push(take_flagged(&mut record, one.size)?.map(<[u8]>::to_vec));
            }
        }
        let count = signed(builder.len());
        let payloads = columns
            .into_iter()
            .zip(&self.values)
            .map(|(column, one)| self.values_of(one, column));
        Ok((builder.finish(), count, payloads.collect()))
    }

    /// The values of one cell. Where no link has one there is no cell; where some have, the others get the type's word
    /// for absence.
    fn values_of(&self, one: &Valued, column: Vec<Option<Vec<u8>>>) -> Option<Vec<u8>> {
        let missing = column.iter().filter(|value| value.is_none()).count();
        let path = format!("link_attributes/{}", one.name);
        if missing > 0 && one.complete {
            let what = "some links have no values, and nothing states that they have none";
            self.notes.lost(path.as_str(), what);
        }
        if missing == column.len() {
            return None;
        }
        let absent = one.absent();
        tell_missing(&path, absent.is_some(), missing, self.notes);
        let absent = absent.unwrap_or_else(|| vec![0; one.size]);
        let values = column
            .into_iter()
            .map(|value| value.unwrap_or_else(|| absent.clone()));
        Some(values.flatten().collect())
    }

    fn docs<'c>(
        &self,
        done: &[Done],
        chunk: &impl Fn(u32) -> Result<&'c [i64], WriteError>,
        links: u64,
        records: u64,
    ) -> Result<(Docs, BTreeMap<String, String>), WriteError> {
        let delta = format_delta(self.policy.delta);
        let (mut docs, mut groups): (Docs, BTreeMap<_, _>) = (Vec::new(), BTreeMap::new());
        if self.segments.is_empty() {
            return Ok((docs, groups));
        }
        let lists = |array: u32| -> Result<Vec<Vec<i64>>, WriteError> {
            let lists = self.offsets(array)?.chunks(self.policy.rank);
            Ok(lists.map(<[i64]>::to_vec).collect())
        };
        let lacks = |at: usize| {
            let valued = |done: &Done| done.valued.get(at).copied().unwrap_or(false);
            done.iter().any(|done| !valued(done))
        };
        for (array, _) in (0_u32..).zip(&self.segments) {
            let segment = self.segment(array)?;
            let here = || done.iter().filter(|done| done.array == array);
            let keys = here()
                .map(|done| chunk(done.slot))
                .collect::<Result<Vec<_>, _>>()?;
            let keys = documents::presence(keys)?;
            let attributes = ArrayAttributes {
                zv_array: Some("links".to_owned()),
                dtype: Some(elem_name(self.policy.elem).to_owned()),
                offsets: Some(lists(array)?),
                has_perm: Some(self.form(array)?.has_perm),
                link_width: u32::try_from(self.policy.width).ok(),
                level_delta: Some(self.policy.delta),
                ..ArrayAttributes::default()
            };
            let doc = documents::grid_doc(self.cells, keys.clone(), attributes);
            docs.push((format!("links/{delta}/{segment}"), doc));
            if self.is_inner(array)? {
                let attributes = documents::fragments("link_fragments");
                let doc = documents::grid_doc(self.cells, keys, attributes);
                docs.push(("link_fragments".to_owned(), doc));
            }
            for (at, one) in self.values.iter().enumerate() {
                let mut chunks = Vec::new();
                for done in here() {
                    if *done
                        .valued
                        .get(at)
                        .or_bug("a cell without this attribute")?
                    {
                        chunks.push(chunk(done.slot)?);
                    }
                }
                // An array without values beside links would be taken for one that lost them.
                if chunks.is_empty() && here().next().is_some() {
                    continue;
                }
                let channels = to_index("values of a link", one.width)?;
                let names = one.attributes.channel_names.clone();
                let attributes = ArrayAttributes {
                    zv_array: Some("link_attribute".to_owned()),
                    name: Some(one.name.clone()),
                    dtype: Some(one.dtype.to_string()),
                    offsets: Some(lists(array)?),
                    level_delta: Some(self.policy.delta),
                    // What is lost in the source stays what is warned of.
                    links_without_values: (lacks(at) && !one.complete).then_some(true),
                    row_shape: Some(if channels == 1 {
                        Vec::new()
                    } else {
                        vec![one.width]
                    }),
                    channel_names: names.filter(|names| names.len() == channels),
                    ..one.attributes.clone()
                };
                let doc = documents::grid_doc(self.cells, documents::presence(chunks)?, attributes);
                docs.push((
                    format!("link_attributes/{}/{delta}/{segment}", one.name),
                    doc,
                ));
            }
        }
        let family = LinkFamilyDoc {
            zv_array: Some("links_family".to_owned()),
            level_delta: Some(self.policy.delta),
            link_width: u32::try_from(self.policy.width).ok(),
            directed: self.policy.directed,
            store: self.policy.store,
            sid_ndim: u32::try_from(self.policy.rank).ok(),
            num_links: Some(links),
            num_physical_records: Some(records),
            ..LinkFamilyDoc::default()
        };
        groups.insert(format!("links/{delta}"), family.to_group().to_json_line());
        for one in &self.values {
            let doc = LinkAttributeFamilyDoc {
                zv_array: Some("link_attribute_family".to_owned()),
                name: Some(one.name.clone()),
                level_delta: Some(self.policy.delta),
                num_links: Some(links),
                ..LinkAttributeFamilyDoc::default()
            };
            let path = format!("link_attributes/{}/{delta}", one.name);
            groups.insert(path, doc.to_group().to_json_line());
        }
        Ok((docs, groups))
    }
}
