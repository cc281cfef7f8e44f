//! Links that are found by their chunks (0.8 §8.4 to §9.6): those with all ends in one chunk as rows of that chunk, all
//! others in the cell of the chunks of their ends.
//!
//! ```text
//! links/<delta>/<key>                      delta 0: rows of L; else one group of rows, where two ends have one key
//! link_fragments/<key>                     delta 0: one group
//! link_attributes/<name>/<delta>/<key>
//! cross_chunk_links/<delta>/<cell key>     permutation and L rows, a group a record
//! cross_chunk_link_attributes/<name>/<delta>/<cell key>
//! ```
//!
//! A cell of several chunks is always an array of its own: the index of a shard of cells would have a place for every
//! combination of chunks (0.8 §3.4).

use std::collections::BTreeMap;
use std::hash::Hash;
use std::path::Path;

use serde_json::{Value, json};
use zvf_format::fragments::FragmentIndexBuilder;
use zvf_format::keys::format_delta;
use zvf_format::links::{CellForm, Elem, Endpoint, LinkCellBuilder, duplicate_order};
use zvf_meta::{ArrayAttributes, JsonObject, KeyList, LinkFamilyDoc, LinkStore};
use zvf_store::ChunkCoord;

use crate::bucket::{Bucket, Buckets};
use crate::error::{OrBug, internal};
use crate::int::wide;
use crate::nodes::Nodes;
use crate::parallel::pack;
use crate::record::{put_flagged, records, take_flagged, take_link};
use crate::shard::Cells;
use crate::spill::SpillFile;
use crate::target::Below;
use crate::target::{Object, Payloads};
use crate::{WriteError, documents, parallel};

/// How a family is stored.
#[derive(Debug, Clone)]
pub struct Policy {
    pub delta: i32,
    pub width: usize,
    pub directed: bool,
    pub store: LinkStore,
    /// Components of a chunk coordinate.
    pub rank: usize,
    /// Whether the array of links inside chunks is there even if no link is.
    pub inner: bool,
}

/// An attribute of the links of a family.
#[derive(Debug, Clone)]
pub struct Valued {
    pub name: String,
    /// Bytes of a value.
    pub size: usize,
    /// A value that says "none", where the type has one.
    pub absent: Option<Vec<u8>>,
    /// Name, type, width and channels, as documents say them.
    pub attributes: ArrayAttributes,
}

/// What is done with values that links lack beside others that have them: their number.
pub(crate) type Missing<'m> = &'m (dyn Fn(&Valued, usize) + Sync);

/// Where links go: the cells of all ends in one chunk, and those of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Inside,
    Across,
}

/// Puts links into buckets, one for each cell.
#[derive(Debug)]
pub struct Tuples {
    policy: Policy,
    values: Vec<Valued>,
    inside: Buckets<ChunkCoord>,
    across: Buckets<ChunkCoord>,
    /// Links in cells of several chunks, each counted once, and rows of theirs.
    links: u64,
    records: u64,
}

/// Where cells are written.
#[derive(Clone, Copy)]
pub struct Sink<'s> {
    pub cells: &'s Cells,
    pub target: &'s Below<'s>,
    pub threads: usize,
    pub missing: Missing<'s>,
}

impl std::fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").finish_non_exhaustive()
    }
}

/// A placed link on its way into a bucket: the placement, a row for each end, and for each attribute whether there is a value,
/// and the value or as many zeros.
#[derive(Debug)]
pub struct Record<'r> {
    /// The ends in the order in which they are stored.
    pub placement: &'r [u8],
    /// Their rows, in that order.
    pub rows: &'r [u32],
    /// For each attribute the bytes of the value, if there is one.
    pub values: &'r [Option<&'r [u8]>],
}

impl Record<'_> {
    /// Appends the record to a bucket; `sizes` are the bytes of a value of each attribute.
    ///
    /// # Errors
    /// Bug: ends without rows, or values that are not those of the attributes.
    pub fn append<K: Eq + Hash>(
        &self,
        buckets: &mut Buckets<K>,
        number: usize,
        sizes: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<(), WriteError> {
        internal!(
            self.rows.len() == self.placement.len(),
            "a link is placed by ends that it does not have"
        );
        let fits = |(value, size): (&Option<&[u8]>, usize)| value.is_none_or(|v| v.len() == size);
        internal!(
            self.values.len() == sizes.len() && self.values.iter().zip(sizes.clone()).all(fits),
            "values of a link do not fit its attributes"
        );
        buckets.push(number, |out| {
            out.extend_from_slice(self.placement);
            for row in self.rows {
                out.extend_from_slice(&row.to_le_bytes());
            }
            for (value, size) in self.values.iter().zip(sizes) {
                put_flagged(out, *value, size);
            }
        })
    }
}

impl Tuples {
    pub fn new(policy: Policy, values: Vec<Valued>, budget: usize, folder: &Path) -> Self {
        Self {
            policy,
            values,
            inside: Buckets::new(budget / 2, folder),
            across: Buckets::new(budget / 2, folder),
            links: 0,
            records: 0,
        }
    }

    /// Places one link. Ends are in the order of the application; the first lies in this level. `values` has a place for
    /// each attribute.
    pub fn push(
        &mut self,
        ends: &[Endpoint<'_>],
        values: &[Option<&[u8]>],
    ) -> Result<(), WriteError> {
        let same = ends.windows(2).all(|pair| match pair {
            [a, b] => a.chunk == b.chunk,
            _ => true,
        });
        let mut placement: Vec<u8> = (0_u8..).zip(ends).map(|(at, _)| at).collect();
        let policy = &self.policy;
        if same && (policy.delta == 0 || policy.width == 2) {
            return self.put(Part::Inside, ends, &placement, values);
        }
        self.links += 1;
        if policy.store == LinkStore::Duplicate && policy.delta == 0 {
            let mut placements = Vec::new();
            duplicate_order(ends, |placement| placements.push(placement.to_vec())).map_err(
                |source| {
                    WriteError::input("link", format!("{source}"), "a link that can be placed")
                },
            )?;
            return placements
                .iter()
                .try_for_each(|placement| self.put(Part::Across, ends, placement, values));
        }
        if !policy.directed {
            let end = |at: &u8| ends.get(usize::from(*at));
            placement.sort_by(|a, b| match (end(a), end(b)) {
                (Some(a), Some(b)) => a.canonical_cmp(b),
                _ => std::cmp::Ordering::Equal,
            });
        }
        self.put(Part::Across, ends, &placement, values)
    }

    fn put(
        &mut self,
        part: Part,
        ends: &[Endpoint<'_>],
        placement: &[u8],
        values: &[Option<&[u8]>],
    ) -> Result<(), WriteError> {
        let placed = placement.iter().map(|&at| ends.get(usize::from(at)));
        let placed: Option<Vec<_>> = placed.collect();
        let placed = placed.or_bug("a link is placed by ends that it does not have")?;
        let (buckets, key) = match part {
            Part::Inside => {
                let first = ends.first().or_bug("a link without ends")?;
                (&mut self.inside, first.chunk.to_vec())
            }
            Part::Across => {
                self.records += 1;
                let chunks = placed.iter().flat_map(|end| end.chunk.iter().copied());
                (&mut self.across, chunks.collect())
            }
        };
        let number = buckets.number(key.as_slice(), ChunkCoord::new);
        let mut rows = Vec::with_capacity(placement.len());
        for end in placed {
            let row = u32::try_from(end.row);
            let found = || WriteError::input("link", format!("row {}", end.row), "below 2^32");
            rows.push(row.map_err(|_| found())?);
        }
        let record = Record {
            placement,
            rows: &rows,
            values,
        };
        record.append(buckets, number, self.values.iter().map(|one| one.size))?;
        buckets.relieve()
    }

    /// Writes the cells and returns the documents. `step` is told how many records were written.
    pub fn write(self, sink: Sink<'_>, mut step: impl FnMut(u64)) -> Result<Nodes, WriteError> {
        let mut nodes = Nodes::default();
        let loose = sink.cells.loose();
        let (links, records) = (self.links, self.records);
        for (part, buckets, cells) in [
            (Part::Inside, self.inside, sink.cells),
            (Part::Across, self.across, &loose),
        ] {
            let family = Family {
                policy: &self.policy,
                values: &self.values,
                part,
                sink: Sink { cells, ..sink },
            };
            let (buckets, file) = buckets.finish();
            let done = family.write(buckets, &file, &mut step)?;
            family.docs(&done, (links, records), &mut nodes)?;
        }
        Ok(nodes)
    }
}

/// A cell that was written.
#[derive(Debug)]
struct Done {
    key: ChunkCoord,
    records: u64,
    /// Which attributes have a cell here.
    valued: Vec<bool>,
}

/// The payloads of a cell.
struct Cell {
    rows: Vec<u8>,
    count: u64,
    values: Vec<Option<Vec<u8>>>,
}

/// One part of a family on its way.
struct Family<'f> {
    policy: &'f Policy,
    values: &'f [Valued],
    part: Part,
    sink: Sink<'f>,
}

impl Family<'_> {
    fn path(&self) -> String {
        let folder = match self.part {
            Part::Inside => "links",
            Part::Across => "cross_chunk_links",
        };
        format!("{folder}/{}", format_delta(self.policy.delta))
    }

    fn path_of(&self, one: &Valued) -> String {
        let folder = match self.part {
            Part::Inside => "link_attributes",
            Part::Across => "cross_chunk_link_attributes",
        };
        format!("{folder}/{}/{}", one.name, format_delta(self.policy.delta))
    }

    fn has_fragments(&self) -> bool {
        self.part == Part::Inside && self.policy.delta == 0
    }

    fn form(&self) -> CellForm {
        CellForm {
            link_width: self.policy.width,
            has_perm: self.part == Part::Across,
            ragged: !self.has_fragments(),
            elem: Elem::I64,
        }
    }

    fn write(
        &self,
        buckets: Vec<(ChunkCoord, Bucket)>,
        file: &SpillFile,
        step: &mut impl FnMut(u64),
    ) -> Result<Vec<Done>, WriteError> {
        let mut items = Vec::new();
        for (key, bucket) in buckets {
            let object = self.sink.cells.object_index(&key)?;
            items.push((object, bucket.size(), (key, bucket)));
        }
        let work = |job: Vec<(ChunkCoord, Bucket)>| self.write_job(job, file);
        let mut all = Vec::new();
        let take = |mut done: Vec<Done>| {
            step(done.iter().map(|one| one.records).sum());
            all.append(&mut done);
            Ok(())
        };
        parallel::each(self.sink.threads, pack(items).into_iter(), work, take)?;
        Ok(all)
    }

    fn write_job(
        &self,
        job: Vec<(ChunkCoord, Bucket)>,
        file: &SpillFile,
    ) -> Result<Vec<Done>, WriteError> {
        let mut cells = Vec::new();
        for (key, bucket) in job {
            let cell = self.cell(&bucket.read(file)?)?;
            cells.push((key, cell));
        }
        let mut columns: BTreeMap<String, Payloads<'_>> = BTreeMap::new();
        let mut done = Vec::new();
        for (key, cell) in &mut cells {
            let key = &*key;
            let mut put = |path: String, payload: Vec<u8>| {
                columns
                    .entry(path)
                    .or_default()
                    .push((key.as_slice(), payload));
            };
            put(self.path(), std::mem::take(&mut cell.rows));
            if self.has_fragments() {
                let mut index = FragmentIndexBuilder::new();
                index
                    .push_range(0, cell.count.cast_signed())
                    .map_err(|source| WriteError::encode("link_fragments", source))?;
                put("link_fragments".to_owned(), index.finish());
            }
            let mut valued = Vec::new();
            for (one, payload) in self.values.iter().zip(&mut cell.values) {
                valued.push(payload.is_some());
                if let Some(payload) = payload.take() {
                    put(self.path_of(one), payload);
                }
            }
            done.push(Done {
                key: key.clone(),
                records: cell.count,
                valued,
            });
        }
        let mut objects: Vec<Object> = Vec::new();
        for (path, column) in columns {
            objects.extend(self.sink.cells.objects(&path, column)?);
        }
        self.sink.target.put(objects)?;
        Ok(done)
    }

    fn cell(&self, bytes: &[u8]) -> Result<Cell, WriteError> {
        let width = self.policy.width;
        let size = width * 5 + self.values.iter().map(|one| one.size + 1).sum::<usize>();
        let mut builder = LinkCellBuilder::new(self.form());
        let mut columns: Vec<Vec<Option<&[u8]>>> = vec![Vec::new(); self.values.len()];
        for mut record in records(bytes, size)? {
            let (placement, rows) = take_link(&mut record, width)?;
            builder
                .push(placement, &rows)
                .map_err(|source| WriteError::encode(self.path(), source))?;
            if self.part == Part::Across {
                // One group a record (0.8 §9.4).
                builder.end_group();
            }
            for (column, one) in columns.iter_mut().zip(self.values) {
                column.push(take_flagged(&mut record, one.size)?);
            }
        }
        let count = wide(builder.len());
        let values = columns.into_iter().zip(self.values);
        Ok(Cell {
            values: values
                .map(|(column, one)| self.values_of(one, &column))
                .collect(),
            rows: builder.finish(),
            count,
        })
    }

    /// The values of one cell. Where no link has one there is no cell; where some have, the others get the type's word
    /// for absence.
    fn values_of(&self, one: &Valued, column: &[Option<&[u8]>]) -> Option<Vec<u8>> {
        let missing = column.iter().filter(|value| value.is_none()).count();
        if missing == column.len() {
            return None;
        }
        if missing > 0 {
            (self.sink.missing)(one, missing);
        }
        let zeros = vec![0; one.size];
        let absent = one.absent.as_deref().unwrap_or(&zeros);
        Some(
            column
                .iter()
                .flat_map(|value| value.unwrap_or(absent))
                .copied()
                .collect(),
        )
    }

    fn docs(
        &self,
        done: &[Done],
        (links, records): (u64, u64),
        nodes: &mut Nodes,
    ) -> Result<(), WriteError> {
        if done.is_empty() && !(self.part == Part::Inside && self.policy.inner) {
            return Ok(());
        }
        let keys = documents::presence(done.iter().map(|done| done.key.as_slice()))?;
        let cells = self.sink.cells;
        match self.part {
            Part::Inside => nodes.cells(cells, self.path(), keys.clone(), self.inside()),
            Part::Across => {
                let doc = self.across(links, records).to_group().to_json_line();
                nodes.stand_in(self.path(), doc);
            }
        }
        if self.has_fragments() {
            let attributes = documents::fragments("link_fragments");
            nodes.cells(cells, "link_fragments", keys, attributes);
        }
        for (at, one) in self.values.iter().enumerate() {
            let mut some = Vec::new();
            for done in done {
                if *done
                    .valued
                    .get(at)
                    .or_bug("a cell without this attribute")?
                {
                    some.push(done.key.as_slice());
                }
            }
            let keys: KeyList = documents::presence(some)?;
            // An array without values beside links would be taken for one that lost them.
            if keys.is_empty() && !done.is_empty() {
                continue;
            }
            nodes.cells(cells, self.path_of(one), keys, self.valued(one, links));
        }
        Ok(())
    }

    /// Attributes of `links/<delta>`. The policy is that of the links between chunks, of which there may be none.
    fn inside(&self) -> ArrayAttributes {
        let mut extra = JsonObject::new();
        if self.policy.delta == 0 {
            extra.insert("directed".to_owned(), json!(self.policy.directed));
            extra.insert("store".to_owned(), json!(self.policy.store.name()));
        }
        ArrayAttributes {
            zv_array: Some("links".to_owned()),
            dtype: Some("int64".to_owned()),
            link_width: u32::try_from(self.policy.width).ok(),
            level_delta: Some(self.policy.delta),
            extra,
            ..ArrayAttributes::default()
        }
    }

    /// The document of `cross_chunk_links/<delta>`.
    fn across(&self, links: u64, records: u64) -> LinkFamilyDoc {
        LinkFamilyDoc {
            zv_array: Some("cross_chunk_links".to_owned()),
            level_delta: Some(self.policy.delta),
            link_width: u32::try_from(self.policy.width).ok(),
            directed: self.policy.directed,
            store: self.policy.store,
            sid_ndim: u32::try_from(self.policy.rank).ok(),
            num_links: Some(links),
            num_physical_records: Some(records),
            ..LinkFamilyDoc::default()
        }
    }

    /// Attributes of an array of values.
    fn valued(&self, one: &Valued, links: u64) -> ArrayAttributes {
        let (word, count) = match self.part {
            Part::Inside => ("link_attribute", None),
            Part::Across => ("cross_chunk_link_attribute", Some(links)),
        };
        let mut extra = one.attributes.extra.clone();
        extra.extend(count.map(|count| ("num_links".to_owned(), Value::from(count))));
        ArrayAttributes {
            zv_array: Some(word.to_owned()),
            name: Some(one.name.clone()),
            level_delta: Some(self.policy.delta),
            extra,
            ..one.attributes.clone()
        }
    }
}
