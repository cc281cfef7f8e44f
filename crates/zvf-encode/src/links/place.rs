//! Places links in the buckets of their cells.

use std::collections::HashSet;
use std::path::Path;

use zvf_format::links::{Endpoint, anchor, duplicate_order};
use zvf_store::ChunkCoord;

use super::cell::{EncodedLinkCell, LinkCellSink, Missing, WrittenLinkCell};
use super::docs::WrittenFamily;
use super::groups::{ChunkFragments, Grouped};
use super::policy::FamilySpec;
use crate::WriteError;
use crate::error::{OrBug, internal};
use crate::records::bucket::{Bucket, Buckets};
use crate::records::record::{put_flagged, take};
use crate::records::spill::SpillFile;
use crate::spec::target_version::LinksBy;
use zvf_format::int::index;

/// An end of a link: its chunk, and its row in the chunk.
pub type LinkEnd<'c> = (&'c [i64], u32);

/// Collects links: each is placed by the policy of its family, and added to the bucket of its cell.
#[derive(Debug)]
pub struct LinkPlacer {
    family: FamilySpec,
    /// By chunk and offsets, or by chunks; see [`FamilySpec::array`].
    buckets: Buckets<ChunkCoord>,
    /// The key of the current link.
    key: Vec<i64>,
    /// Links, each counted once, and their records, including copies.
    links: u64,
    records: u64,
}

impl LinkPlacer {
    /// Collects links of a family. About `budget` bytes are held in memory, more goes to a temporary file in `folder`.
    pub fn new(family: FamilySpec, budget: usize, folder: &Path) -> Self {
        Self {
            family,
            buckets: Buckets::new(budget, folder),
            key: Vec::new(),
            links: 0,
            records: 0,
        }
    }

    /// The family.
    pub fn family(&self) -> &FamilySpec {
        &self.family
    }

    /// Links that were placed, each counted once.
    pub fn links(&self) -> u64 {
        self.links
    }

    /// Places a link between rows of numbered chunks. `values` has the values of all attributes, one after another.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_rows(
        &mut self,
        chunks: &[&[i64]],
        ends: &[(u32, u32)],
        mut values: &[u8],
    ) -> Result<(), WriteError> {
        let end = |&(slot, row): &(u32, u32)| {
            let chunk = chunks.get(index(slot)).copied();
            Ok((chunk.or_bug("a link to no chunk")?, row))
        };
        let ends: Vec<LinkEnd<'_>> = ends.iter().map(end).collect::<Result<_, WriteError>>()?;
        let columns = self.family.columns.iter();
        let columns = columns.map(|one| take(&mut values, one.size).map(Some));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        internal!(
            values.is_empty(),
            "values of a link do not fit its attributes"
        );
        self.push(&ends, &columns)
    }

    /// Places one link. Ends are in the order of the caller; the first is in this level. `values` has one entry per attribute.
    ///
    /// # Errors
    /// Misuse: chunks too far apart. Bug: ends or values that do not match the family. I/O of the spill file.
    pub fn push(
        &mut self,
        ends: &[LinkEnd<'_>],
        values: &[Option<&[u8]>],
    ) -> Result<(), WriteError> {
        let policy = &self.family.policy;
        let same = ends.windows(2).all(|pair| match pair {
            [(a, _), (b, _)] => a == b,
            _ => true,
        });
        let inside = same && (policy.delta == 0 || policy.width == 2);
        let mut placed: Vec<(u8, LinkEnd<'_>)> = (0..=u8::MAX).zip(ends.iter().copied()).collect();
        self.links += 1;
        if self.family.copies() && !inside {
            let mut order: Vec<u8> = Vec::new();
            let points = ends.iter().map(|&(chunk, row)| Endpoint {
                chunk,
                row: i64::from(row),
            });
            let points: Vec<Endpoint<'_>> = points.collect();
            duplicate_order(&points, |placement| order.extend(placement)).map_err(|source| {
                WriteError::input("link", format!("{source}"), "a link that can be placed")
            })?;
            for placement in order.chunks(ends.len().max(1)) {
                placed.clear();
                let ends = placement
                    .iter()
                    .map(|&at| Some((at, *ends.get(usize::from(at))?)));
                placed.extend(ends.flatten());
                self.put(&placed, inside, values)?;
            }
            return Ok(());
        }
        if !policy.directed && !inside {
            placed.sort_by_key(|(_, end)| *end);
        }
        self.put(&placed, inside, values)
    }

    /// Appends a record to its bucket: the placement, the rows, and the values, each with a flag.
    fn put(
        &mut self,
        placed: &[(u8, LinkEnd<'_>)],
        inside: bool,
        values: &[Option<&[u8]>],
    ) -> Result<(), WriteError> {
        internal!(
            placed.len() == self.family.policy.width,
            "a link is placed by ends that it does not have"
        );
        let columns = &self.family.columns;
        let fits = |(value, size): (&Option<&[u8]>, usize)| value.is_none_or(|v| v.len() == size);
        let sizes = || columns.iter().map(|one| one.size);
        internal!(
            values.len() == columns.len() && values.iter().zip(sizes()).all(fits),
            "values of a link do not fit its attributes"
        );
        let chunks = placed.iter().map(|(_, (chunk, _))| *chunk);
        self.family.key(chunks, inside, &mut self.key)?;
        let number = self.buckets.number(self.key.as_slice(), ChunkCoord::new);
        self.buckets.push(number, |out| {
            out.extend(placed.iter().map(|(at, _)| at));
            for (_, (_, row)) in placed {
                out.extend_from_slice(&row.to_le_bytes());
            }
            for (value, size) in values.iter().zip(sizes()) {
                put_flagged(out, *value, size);
            }
        })?;
        self.records += 1;
        self.buckets.relieve()
    }

    /// Writes the cells. Groups of links inside a chunk follow its `fragments`, if these are given and no link joins two of
    /// them. `step` is called with the number of records of some cells.
    pub fn write(
        self,
        sink: LinkCellSink<'_>,
        fragments: Option<&ChunkFragments>,
        missing: Missing<'_>,
        step: impl FnMut(u64),
    ) -> Result<WrittenFamily, WriteError> {
        let (mut stored, mut buckets, file) = self.finish();
        if let Some(fragments) = fragments {
            stored.add_empty(&mut buckets, fragments)?;
        }
        let items = buckets
            .into_iter()
            .map(|(key, bucket)| (key, bucket.size(), bucket));
        let family = &stored.family;
        let encode =
            |key, bucket: Bucket| family.cell(key, &bucket.read(&file)?, fragments, missing);
        let cells = family.write(items, encode, sink, step)?;
        stored.take(cells, fragments.is_some())?;
        Ok(stored)
    }

    /// Encodes the cells without writing them; groups are as in [`write`](Self::write). Every link has all its values.
    pub fn encode(
        self,
        fragments: Option<&ChunkFragments>,
    ) -> Result<(Vec<EncodedLinkCell>, WrittenFamily), WriteError> {
        let (mut stored, mut buckets, file) = self.finish();
        if let Some(fragments) = fragments {
            stored.add_empty(&mut buckets, fragments)?;
        }
        let mut cells = Vec::new();
        for (key, bucket) in buckets {
            let bytes = bucket.read(&file)?;
            let family = &stored.family;
            cells.push(family.cell(key, &bytes, fragments, &|_, _, _| {})?);
        }
        let all = cells.iter().map(WrittenLinkCell::of).collect();
        stored.take(all, fragments.is_some())?;
        Ok((cells, stored))
    }

    /// The family without stored cells, and the records of its cells.
    pub(super) fn finish(self) -> (WrittenFamily, Vec<(ChunkCoord, Bucket)>, SpillFile) {
        let (buckets, file) = self.buckets.finish();
        let stored = WrittenFamily {
            family: self.family,
            cells: Vec::new(),
            links: self.links,
            records: self.records,
            groups: None,
        };
        (stored, buckets, file)
    }
}

impl WrittenFamily {
    /// Adds a bucket without records for each chunk with fragments and without links inside it: every chunk with fragments has a cell of groups.
    fn add_empty(
        &self,
        buckets: &mut Vec<(ChunkCoord, Bucket)>,
        fragments: &ChunkFragments,
    ) -> Result<(), WriteError> {
        let policy = &self.family.policy;
        let zeros = match policy.by {
            LinksBy::Offsets => policy.width.saturating_sub(1) * policy.rank,
            LinksBy::Chunks => 0,
        };
        let mut linked: HashSet<ChunkCoord> = HashSet::new();
        for (key, _) in &*buckets {
            if !self.family.form(self.family.array(key)?.0).ragged {
                linked.insert(key.clone());
            }
        }
        for chunk in fragments.chunks() {
            let mut key = chunk.to_vec();
            key.resize(key.len() + zeros, 0);
            let key = ChunkCoord::new(&key);
            if !linked.contains(&key) {
                buckets.push((key, Bucket::default()));
            }
        }
        Ok(())
    }

    /// Adds the written cells; cells without links only count for their groups. `grouped`: whether groups follow fragments where possible.
    fn take(&mut self, cells: Vec<WrittenLinkCell>, grouped: bool) -> Result<(), WriteError> {
        if grouped {
            let mut groups = Grouped {
                chunks: Vec::new(),
                everywhere: true,
            };
            for cell in &cells {
                let (array, chunk) = self.family.array(&cell.key)?;
                if !self.family.form(array).ragged {
                    groups.chunks.push(ChunkCoord::new(chunk));
                    groups.everywhere &= cell.grouped;
                }
            }
            self.groups = Some(groups);
        }
        self.cells = cells;
        self.cells.retain(|cell| cell.records > 0);
        Ok(())
    }
}

impl FamilySpec {
    /// Writes the key of the bucket of a link to `key`, given the chunks of its ends in stored order.
    ///
    /// # Errors
    /// Misuse: chunks too far apart. Malformed data: chunk factors that are invalid or too large.
    pub fn key<'c>(
        &self,
        mut chunks: impl Iterator<Item = &'c [i64]>,
        inside: bool,
        key: &mut Vec<i64>,
    ) -> Result<(), WriteError> {
        let source = chunks.next().or_bug("a link without ends")?;
        key.clear();
        key.extend_from_slice(source);
        if self.policy.by == LinksBy::Chunks {
            if !inside {
                chunks.for_each(|chunk| key.extend_from_slice(chunk));
            }
            return Ok(());
        }
        let mut anchored = Vec::new();
        let mut from = source;
        if let Some((here, there)) = &self.policy.factors {
            anchored.resize(source.len(), 0);
            anchor(source, here, there, &mut anchored).map_err(|error| {
                WriteError::source(format!("chunk {source:?}"), error.to_string())
            })?;
            from = &anchored;
        }
        for chunk in chunks {
            for (&to, &from) in chunk.iter().zip(from) {
                let far = || {
                    WriteError::input(
                        "link",
                        "chunks 2^63 or more apart",
                        "chunks at most 2^63 - 1 apart",
                    )
                };
                key.push(to.checked_sub(from).ok_or_else(far)?);
            }
        }
        Ok(())
    }
}
