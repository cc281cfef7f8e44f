//! Links between levels (0.9 §13.6 and §17, steps 13 and 14).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use zvf_format::keys::format_offsets;
use zvf_format::links::{CellForm, Elem, LinkCellBuilder, anchor};
use zvf_meta::{ArrayAttributes, LinkFamilyDoc, LinkStore};
use zvf_store::ChunkCoord;

use super::bins::{Means, NONE, place};
use super::sink::Sink;
use crate::bucket::{Bucket, Buckets};
use crate::finish::pack;
use crate::int::{index, narrow};
use crate::shard::{Cells, Object, Payloads};
use crate::{WriteError, documents, parallel};

/// One level, as far as links need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'s> {
    pub(crate) level: u32,
    pub(crate) chunks: &'s [ChunkCoord],
    /// The first vertex of each chunk, and the count of all.
    pub(crate) starts: &'s [u32],
    /// Chunk sizes in chunks of the root, one an axis.
    pub(crate) ratio: &'s [i64],
    pub(crate) cells: &'s Cells,
}

/// Writes links from every vertex to the one that stands for it in a coarser level, and back if `both`; returns how many
/// there are.
///
/// The rows of every cell are in the order of the finer level, in both families.
///
/// # Cost
/// Eight bytes a link in memory, or in a temporary file.
pub(crate) fn write(
    fine: Side<'_>,
    coarse: Side<'_>,
    parents: &[u32],
    both: bool,
    sink: Sink<'_>,
    means: Means<'_>,
) -> Result<u64, WriteError> {
    let delta = i32::try_from(coarse.level.saturating_sub(fine.level)).unwrap_or(i32::MAX);
    let mut up = Family::new(fine, coarse, delta, means);
    let mut down = both.then(|| Family::new(coarse, fine, delta.saturating_neg(), means));
    let mut slot = 0_usize;
    // Vertices that follow each other mostly share what stands for them.
    let mut last = (NONE, (0, 0));
    for (vertex, &parent) in (0_u32..).zip(parents) {
        while fine
            .starts
            .get(slot.saturating_add(1))
            .is_some_and(|&end| end <= vertex)
        {
            slot = slot.saturating_add(1);
        }
        if parent == NONE {
            continue;
        }
        let start = fine.starts.get(slot).copied().unwrap_or(0);
        let here = (narrow("chunks", slot)?, vertex.saturating_sub(start));
        if last.0 != parent {
            last = (parent, place(coarse.starts, parent));
        }
        let there = last.1;
        up.push(here, there)?;
        if let Some(down) = &mut down {
            down.push(there, here)?;
        }
    }
    let count = up.write(sink, means)?;
    if let Some(down) = down {
        down.write(sink, means)?;
    }
    Ok(count)
}

/// The links of one level to one other level.
#[derive(Debug)]
struct Family<'s> {
    from: Side<'s>,
    to: Side<'s>,
    delta: i32,
    offsets: Vec<Vec<i64>>,
    /// The array of an offset.
    arrays: FxHashMap<Vec<i64>, u32>,
    /// The bucket of two chunks.
    pairs: FxHashMap<(u32, u32), usize>,
    last: Option<((u32, u32), usize)>,
    buckets: Buckets<(u32, u32)>,
    count: u64,
}

impl<'s> Family<'s> {
    fn new(from: Side<'s>, to: Side<'s>, delta: i32, means: Means<'_>) -> Self {
        Self {
            from,
            to,
            delta,
            offsets: Vec::new(),
            arrays: FxHashMap::default(),
            pairs: FxHashMap::default(),
            last: None,
            buckets: Buckets::new(means.budget / 4, means.folder),
            count: 0,
        }
    }

    fn push(&mut self, from: (u32, u32), to: (u32, u32)) -> Result<(), WriteError> {
        let pair = (from.0, to.0);
        let bucket = match self.last {
            Some((last, bucket)) if last == pair => bucket,
            _ => match self.pairs.get(&pair) {
                Some(bucket) => *bucket,
                None => self.bucket(pair)?,
            },
        };
        self.last = Some((pair, bucket));
        self.buckets.push(bucket, |out| {
            out.extend_from_slice(&from.1.to_le_bytes());
            out.extend_from_slice(&to.1.to_le_bytes());
        });
        self.count = self.count.saturating_add(1);
        if self.count.is_multiple_of(1024) {
            self.buckets.relieve()?;
        }
        Ok(())
    }

    /// The bucket of a new pair of chunks.
    fn bucket(&mut self, pair: (u32, u32)) -> Result<usize, WriteError> {
        let source = self
            .from
            .chunks
            .get(index(pair.0))
            .map(ChunkCoord::as_slice);
        let goal = self.to.chunks.get(index(pair.1)).map(ChunkCoord::as_slice);
        let (source, goal) = (source.unwrap_or_default(), goal.unwrap_or_default());
        let mut at = vec![0; source.len()];
        anchor(source, self.from.ratio, self.to.ratio, &mut at)
            .map_err(|source| WriteError::data("chunk", source.to_string(), "a nearer one"))?;
        let offset: Vec<i64> = goal
            .iter()
            .zip(&at)
            .map(|(goal, at)| goal.saturating_sub(*at))
            .collect();
        let next = narrow("offsets", self.offsets.len())?;
        let array = *self.arrays.entry(offset).or_insert_with_key(|offset| {
            self.offsets.push(offset.clone());
            next
        });
        let bucket = self.buckets.number(&(array, pair.0), |&place| place);
        self.pairs.insert(pair, bucket);
        Ok(bucket)
    }

    fn form(&self, array: u32) -> (CellForm, String) {
        let offset = self
            .offsets
            .get(index(array))
            .map(Vec::as_slice)
            .unwrap_or_default();
        let form = CellForm::derive(2, self.delta, offset, true, false, Elem::I64);
        (form, format_offsets(offset, offset.len()).to_string())
    }

    /// Writes cells and documents.
    fn write(self, sink: Sink<'_>, means: Means<'_>) -> Result<u64, WriteError> {
        if self.count == 0 {
            return Ok(0);
        }
        let mut family = self;
        let buckets = std::mem::replace(&mut family.buckets, Buckets::new(0, means.folder));
        let (all, file) = buckets.finish();
        let family = family;
        let below = sink.below(family.from.level);
        let folder = format!("links/{:+}", family.delta);
        let (from, cells) = (family.from, family.from.cells);
        let chunk = |slot: u32| from.chunks.get(index(slot)).map(ChunkCoord::as_slice);
        let mut present: BTreeMap<u32, Vec<&[i64]>> = BTreeMap::new();
        let mut items = Vec::new();
        for ((array, slot), bucket) in all {
            let Some(chunk) = chunk(slot) else { continue };
            present.entry(array).or_default().push(chunk);
            let mut object = vec![u64::from(array)];
            object.extend(cells.object_index(chunk)?);
            items.push((object, bucket.len(), (array, chunk, bucket)));
        }
        let work = |job: Vec<(u32, &[i64], Bucket)>| {
            let mut columns: BTreeMap<String, Payloads<'_>> = BTreeMap::new();
            for (array, chunk, bucket) in job {
                let (form, segment) = family.form(array);
                let path = format!("{folder}/{segment}");
                let mut builder = LinkCellBuilder::new(form);
                for record in bucket.read(&file)?.as_chunks::<4>().0.as_chunks::<2>().0 {
                    let rows = record.map(|row| i64::from(u32::from_le_bytes(row)));
                    builder
                        .push(&[0, 1], &rows)
                        .map_err(|source| WriteError::encode(path.as_str(), source))?;
                }
                columns
                    .entry(path)
                    .or_default()
                    .push((chunk, builder.finish()));
            }
            let mut objects: Vec<Object> = Vec::new();
            for (path, column) in columns {
                objects.extend(cells.objects(&path, column)?);
            }
            below.put(objects)
        };
        parallel::each(means.threads, pack(items).into_iter(), work, |()| Ok(()))?;
        let mut docs = Vec::new();
        for (array, chunks) in present {
            let (form, segment) = family.form(array);
            let offset = family
                .offsets
                .get(index(array))
                .cloned()
                .unwrap_or_default();
            let attributes = ArrayAttributes {
                zv_array: Some("links".to_owned()),
                dtype: Some("int64".to_owned()),
                offsets: Some(vec![offset]),
                has_perm: Some(form.has_perm),
                link_width: Some(2),
                level_delta: Some(family.delta),
                ..ArrayAttributes::default()
            };
            let keys = documents::presence(chunks)?;
            docs.push((
                format!("{folder}/{segment}"),
                documents::grid_doc(cells, keys, attributes),
            ));
        }
        let doc = LinkFamilyDoc {
            zv_array: Some("links_family".to_owned()),
            level_delta: Some(family.delta),
            link_width: Some(2),
            directed: true,
            store: LinkStore::Canonical,
            sid_ndim: u32::try_from(from.ratio.len()).ok(),
            num_links: Some(family.count),
            num_physical_records: Some(family.count),
            ..LinkFamilyDoc::default()
        };
        let mut objects: Vec<Object> = docs
            .into_iter()
            .map(|(path, doc)| (format!("{path}/zarr.json"), doc.to_json().into_bytes()))
            .collect();
        let family_doc = doc.to_group().to_json_line();
        objects.push((format!("{folder}/zarr.json"), family_doc.into_bytes()));
        // A level that had links before keeps the document of the group: readers may hold on to it.
        if !sink.has(from.level, "links/zarr.json")? {
            let plain = documents::plain_group();
            objects.push(("links/zarr.json".to_owned(), plain.into_bytes()));
        }
        below.put(objects)?;
        Ok(family.count)
    }
}
