//! The checks of opening, without I/O: [`open`] returns the range that is missing, and the caller reads it.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::vec::Vec;

use super::catalog::{Catalog, FileEnd, OpenOptions, within};
use super::error::Error;
use crate::error::TetError;
use crate::footer::{FooterPlace, FooterRefs};
use crate::view::{Tet, head_len};
use zvf_grid::int::wide;

/// The parts of a file that were read so far during opening.
pub(crate) struct KnownPieces<'s> {
    len: u64,
    limit: u64,
    /// Parts of the file, each with its position.
    pieces: Vec<(u64, Cow<'s, [u8]>)>,
}

/// Why opening stopped.
pub(crate) enum OpeningStop {
    /// These bytes have to be [added](KnownPieces::add) first.
    Lacks(Range<u64>),
    /// The file is refused.
    Refused(Error),
}

impl<E: Into<Error>> From<E> for OpeningStop {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

impl<'s> KnownPieces<'s> {
    /// For a file of `len` bytes of which no part was read yet. Missing parts larger than `options.front_limit` are refused.
    pub(crate) const fn new(len: u64, options: &OpenOptions) -> Self {
        Self {
            len,
            limit: options.front_limit,
            pieces: Vec::new(),
        }
    }

    /// Adds the bytes from `at` on. They may overlap with known ones.
    pub(crate) fn add(&mut self, at: u64, bytes: Cow<'s, [u8]>) {
        let end_of = |start: u64, known: &[u8]| start.saturating_add(wide(known.len()));
        let mut pieces = self.pieces.iter_mut();
        match pieces.find(|(start, known)| *start <= at && at <= end_of(*start, known)) {
            Some((start, known)) => {
                let again = usize::try_from(end_of(*start, known) - at).unwrap_or(usize::MAX);
                let more = bytes.get(again..).unwrap_or_default();
                known.to_mut().extend_from_slice(more);
            }
            None => self.pieces.push((at, bytes)),
        }
    }

    fn get(&self, what: &'static str, at: u64, len: u64) -> Result<&[u8], OpeningStop> {
        let stop = at.checked_add(len).filter(|stop| *stop <= self.len);
        let stop = stop.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        if len == 0 {
            return Ok(&[]);
        }
        let mut from = at;
        for (start, known) in &self.pieces {
            let inside = at.checked_sub(*start).and_then(|n| usize::try_from(n).ok());
            let Some(rest) = inside.and_then(|n| known.get(n..)) else {
                continue;
            };
            let wanted = usize::try_from(len).ok().and_then(|len| rest.get(..len));
            if let Some(wanted) = wanted {
                return Ok(wanted);
            }
            from = at.saturating_add(wide(rest.len()));
        }
        within(what, len, self.limit)?;
        Err(OpeningStop::Lacks(from..stop))
    }

    /// The bytes from the superblock to the end of the index, after [`open`] succeeded.
    pub(crate) fn into_front(self) -> Result<Vec<u8>, TetError> {
        let front = self.pieces.into_iter().find(|(start, _)| *start == 0);
        let mut front = front.map_or_else(Vec::new, |(_, front)| front.into_owned());
        let length = head_len(&front, self.len)?;
        front.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(front)
    }
}

/// Extends a range at the start or end of a file of `len` bytes to at least `ahead` bytes.
pub(crate) fn with_ends(range: Range<u64>, len: u64, ahead: u64) -> Range<u64> {
    let ahead = ahead.min(len);
    if range.start == 0 {
        0..range.end.max(ahead)
    } else if range.end == len {
        range.start.min(len - ahead)..len
    } else {
        range
    }
}

/// Makes every check except decoding (steps 1 to 19 of `spec/tet-v1.md` 10.1) on the known parts of a file. Each call
/// starts from the beginning; the pass over the index comes last, when no part is missing.
pub(crate) fn open(known: &KnownPieces<'_>, options: &OpenOptions) -> Result<Catalog, OpeningStop> {
    let len = known.len;
    let first = known.get("front", 0, len.min(40))?;
    let front = known.get("front", 0, head_len(first, len)?)?;
    let tet = Tet::parse(front, len, options.profile)?;
    if !tet.has_footer() {
        return Ok(Catalog::open(front, len, options, None)?);
    }
    let size = len.min(16);
    let floor = tet.index_stop();
    let place = FooterPlace::parse(known.get("footer", len - size, size)?, len, floor)?;
    let json = known.get("footer", place.json_start, place.json_len)?;
    let spilled = match FooterRefs::scan(json, place, floor)?.metadata {
        Some(spill) => Some(known.get("metadata", spill.offset, spill.len)?),
        None => None,
    };
    let end = FileEnd::new(json, place, floor)?;
    let mut catalog = Catalog::open(front, len, options, Some(&end))?;
    catalog.take_footer(end, spilled)?;
    Ok(catalog)
}
