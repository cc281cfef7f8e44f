//! One pass over the chunks in their order: writes the rows of the requested objects to a temporary file, sorted by manifest entry within each
//! group of chunks.
//!
//! The file holds the pages of one run for each group. A page has records of pieces, by entry, then their rows, column by column:
//!
//! | field | type | rule |
//! |---|---|---|
//! | bytes of records | u64 | |
//! | records | see [`Record`] | entries rise; the records of one entry are in one page |
//! | rows | see [`stored_rows`] | the rows of the records, in order |

use std::sync::Arc;

use super::step::{GatherPlan, Piece, gap};
use crate::QueryError;
use crate::by_slot::BySlot;
use crate::error::{OrBug, internal};
use crate::manifests::Entry;
use crate::reader::Decoded;
use crate::spool::{Extent, Spool, put_bytes};
use crate::stored_rows;
use crate::vertex_table::Gathered;
use zvf_store::format::int;

/// Bytes after which a page ends.
pub(super) const PAGE: usize = 16 << 10;

/// Bytes of one write.
const WRITE: usize = 512 << 10;

/// Number of entries with one sum of sizes.
pub(super) const BUCKET: u32 = 8;

/// A group of chunks is not sorted if the entries request more than this many times its rows (and 65,536 more): the file would be much larger than
/// the chunks.
const COPIES: u64 = 4;

/// One piece of an entry, in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) entry: u32,
    pub(super) fragment: u32,
    /// Kept rows.
    pub(super) taken: u32,
    pub(super) ends: Option<(bool, bool)>,
    /// Positions of the kept rows in the fragment, four bytes each; `None`: all.
    pub(super) positions: Option<&'a [u8]>,
}

const ENDS: u32 = 1;
const FIRST: u32 = 2;
const LAST: u32 = 4;
const POSITIONS: u32 = 8;

impl<'a> Record<'a> {
    /// Takes the next record.
    ///
    /// # Errors
    ///
    /// Bug: bytes that are not a record.
    pub(super) fn read(rest: &mut &'a [u8]) -> Result<Self, QueryError> {
        let (head, after) = rest
            .split_first_chunk::<16>()
            .or_bug("a page ends inside a record")?;
        *rest = after;
        let [entry, fragment, taken, flags] = match head.as_chunks::<4>().0 {
            [a, b, c, d] => [a, b, c, d].map(|number| u32::from_le_bytes(*number)),
            _ => return Err(QueryError::bug("a record's head has four numbers")),
        };
        let mut found = Self {
            entry,
            fragment,
            taken,
            ends: (flags & ENDS != 0).then_some((flags & FIRST != 0, flags & LAST != 0)),
            positions: None,
        };
        if flags & POSITIONS != 0 {
            let (positions, after) = rest
                .split_at_checked(int::index(taken).saturating_mul(4))
                .or_bug("a page ends inside positions")?;
            *rest = after;
            found.positions = Some(positions);
        }
        Ok(found)
    }

    fn write(entry: u32, piece: &Piece, out: &mut Vec<u8>) {
        let mut flags = 0;
        if let Some((first, last)) = piece.ends {
            flags |= ENDS | if first { FIRST } else { 0 } | if last { LAST } else { 0 };
        }
        if piece.positions.is_some() {
            flags |= POSITIONS;
        }
        for number in [entry, piece.fragment, piece.taken, flags] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for position in piece.positions.iter().flatten() {
            out.extend_from_slice(&position.to_le_bytes());
        }
    }
}

/// The position of a page, and its entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) extent: Extent,
}

/// State that the tasks of the pass share.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) plan: Arc<GatherPlan>,
    /// Numbers of entries, ascending.
    pub(crate) entries: BySlot<u32>,
    pub(crate) spool: Arc<Spool>,
}

/// An entry of a group of chunks.
#[derive(Debug, Clone, Copy)]
struct Key {
    /// Its number among all entries.
    number: u32,
    /// Number of its chunk in the group.
    at: u32,
    entry: Entry,
}

/// The result for a group of chunks.
#[derive(Debug)]
pub(crate) struct Run {
    /// The chunks without their values.
    pub(crate) chunks: Vec<Decoded>,
    pub(super) pages: Vec<Page>,
    /// Bytes by bucket of entries, ascending.
    pub(super) sizes: Vec<(u32, u64)>,
    pub(crate) widths: Vec<Option<usize>>,
    /// Whether the objects share so many rows that a sorted copy is not worth it; there are no pages then.
    pub(crate) shared: bool,
}

impl Scatter {
    /// Sorts the rows of a group of chunks and writes them.
    ///
    /// # Errors
    ///
    /// Malformed: a manifest that names a chunk or fragment that does not exist. I/O of the temporary file.
    pub(crate) fn group(&self, mut chunks: Vec<Decoded>) -> Result<Run, QueryError> {
        let keys = self.keys(&chunks)?;
        let mut run = Run {
            chunks: Vec::new(),
            pages: Vec::new(),
            sizes: Vec::new(),
            widths: vec![None; self.plan.reader.columns.len()],
            shared: Self::shares(&keys, &chunks),
        };
        if !run.shared {
            self.write(&keys, &chunks, &mut run)?;
        }
        chunks.iter_mut().for_each(Decoded::forget_values);
        run.chunks = chunks;
        Ok(run)
    }

    /// The entries of some chunks, ascending.
    fn keys(&self, chunks: &[Decoded]) -> Result<Vec<Key>, QueryError> {
        let count = |chunk: &Decoded| self.entries.of(chunk.slot).len();
        let mut sorted: Vec<(u32, u32)> = Vec::with_capacity(chunks.iter().map(count).sum());
        for (at, chunk) in (0_u32..).zip(chunks) {
            let entries = self.entries.of(chunk.slot).iter();
            sorted.extend(entries.map(|entry| (*entry, at)));
        }
        sorted.sort_unstable();
        // The entries of a group are far apart in memory. In a loop without other work their cache misses overlap.
        let key = |(number, at)| {
            let entry = self.plan.entries.get(int::index(number));
            let entry = entry.or_bug("an entry that is not there")?;
            Ok(Key { number, at, entry })
        };
        sorted.into_iter().map(key).collect()
    }

    /// Whether the entries need the rows of the chunks many times.
    fn shares(keys: &[Key], chunks: &[Decoded]) -> bool {
        let rows: u64 = chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
        let most = rows.saturating_mul(COPIES).saturating_add(1 << 16);
        let mut asked = 0_u64;
        for key in keys {
            let fragments = chunks.get(int::index(key.at));
            let Some(fragments) = fragments.and_then(|chunk| chunk.fragments.as_ref()) else {
                continue;
            };
            // A missing fragment is reported later, when it is gathered.
            let numbers = key.entry.fragments();
            for found in numbers.map_while(|number| fragments.get(number)) {
                asked = asked.saturating_add(int::wide(found.len()));
                if asked > most {
                    return true;
                }
            }
        }
        false
    }

    fn write(&self, keys: &[Key], chunks: &[Decoded], run: &mut Run) -> Result<(), QueryError> {
        let plan = &self.plan;
        let mut file = Vec::with_capacity(WRITE + 4 * PAGE);
        let mut written = 0;
        let mut page = PageBuilder::new(plan);
        let mut rows = Vec::new();
        for Key { number, at, entry } in keys.iter().copied() {
            let chunk = chunks
                .get(int::index(at))
                .or_bug("a chunk that is not there")?;
            internal!(
                entry.slot == chunk.slot,
                "entry {number} is of another chunk"
            );
            let before = page.bytes();
            if chunk.absent {
                plan.check_listed(chunk, int::index(number))?;
                Record::write(number, &gap(0), &mut page.records);
            } else {
                for fragment in entry.fragments() {
                    let (entry, gathered) = (int::index(number), &mut page.gathered);
                    let piece = plan.piece(chunk, entry, fragment, &mut rows, gathered)?;
                    Record::write(number, &piece, &mut page.records);
                }
            }
            page.first.get_or_insert(number);
            page.last = number;
            let bytes = int::wide(page.bytes().saturating_sub(before));
            let bucket = number / BUCKET;
            match run.sizes.last_mut() {
                Some((last, sum)) if *last == bucket => *sum += bytes,
                _ => run.sizes.push((bucket, bytes)),
            }
            if page.bytes() >= PAGE {
                page.close(plan, &mut file, run);
            }
            if file.len() >= WRITE {
                self.append(&mut file, run, &mut written)?;
            }
        }
        page.close(plan, &mut file, run);
        self.append(&mut file, run, &mut written)
    }

    /// Writes pages; the positions of pages after the first `written` are relative to `file`.
    fn append(
        &self,
        file: &mut Vec<u8>,
        run: &mut Run,
        written: &mut usize,
    ) -> Result<(), QueryError> {
        if file.is_empty() {
            return Ok(());
        }
        let start = self.spool.append(file)?.at;
        for page in run.pages.iter_mut().skip(*written) {
            page.extent.at += start;
        }
        *written = run.pages.len();
        file.clear();
        Ok(())
    }
}

/// Builds a page.
#[derive(Debug)]
struct PageBuilder {
    records: Vec<u8>,
    gathered: Gathered,
    first: Option<u32>,
    last: u32,
}

impl PageBuilder {
    fn new(plan: &GatherPlan) -> Self {
        Self {
            records: Vec::new(),
            gathered: Gathered::with_capacity(&plan.table, &plan.reader, 0),
            first: None,
            last: 0,
        }
    }

    fn bytes(&self) -> usize {
        self.records.len().saturating_add(self.gathered.bytes())
    }

    fn close(&mut self, plan: &GatherPlan, file: &mut Vec<u8>, run: &mut Run) {
        let page = std::mem::replace(self, Self::new(plan));
        let Some(first) = page.first else { return };
        let at = int::wide(file.len());
        page.gathered.widths(&mut run.widths);
        put_bytes(&page.records, file);
        stored_rows::write(&page.gathered, file);
        run.pages.push(Page {
            first,
            last: page.last,
            extent: Extent {
                at,
                len: int::wide(file.len()).saturating_sub(at),
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written() {
        let piece = |positions: Option<Box<[u32]>>, ends| Piece {
            pick: 0,
            slot: 0,
            fragment: 5,
            out: 0,
            taken: 2,
            positions,
            joined: false,
            ends,
        };
        let mut bytes = Vec::new();
        Record::write(7, &piece(None, Some((true, true))), &mut bytes);
        Record::write(
            8,
            &piece(Some(Box::new([1, 300])), Some((false, true))),
            &mut bytes,
        );
        Record::write(9, &piece(None, None), &mut bytes);
        Record::write(10, &gap(0), &mut bytes);
        let mut rest = bytes.as_slice();
        let first = Record::read(&mut rest).unwrap();
        assert_eq!((first.entry, first.fragment, first.taken), (7, 5, 2));
        assert_eq!((first.ends, first.positions), (Some((true, true)), None));
        let second = Record::read(&mut rest).unwrap();
        assert_eq!(second.ends, Some((false, true)));
        assert_eq!(second.positions, Some(&[1, 0, 0, 0, 44, 1, 0, 0][..]));
        assert_eq!(Record::read(&mut rest).unwrap().ends, None);
        let last = Record::read(&mut rest).unwrap();
        assert_eq!((last.ends, last.taken), (Some((false, false)), 0));
        assert!(rest.is_empty());
        assert!(Record::read(&mut &bytes[..15]).is_err());
        assert!(Record::read(&mut &bytes[16..36]).is_err());
    }
}
