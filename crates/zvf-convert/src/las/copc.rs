//! The index of COPC files: an octree whose nodes are chunks of laszip. Source: COPC 1.0, <https://copc.io>.

use std::io;
use std::ops::Range;

use zerocopy::FromBytes;
use zvf_sys::ReadAt;

use super::chunk::{MOST, PointChunk, bad};
use super::header::LasHeader;
use super::layout::{CopcEntry, CopcInfo};
use super::part::FilePart;
use crate::error::{ConvertError, InFile};

/// Most pages of the hierarchy that are read together, of at most [`MOST`] bytes.
const PAGES: usize = 64;
/// Bytes of an entry of a page.
const ENTRY: u64 = size_of::<CopcEntry>() as u64;
/// Levels of an octree, at most: nodes are numbered in 32 bits.
const DEEPEST: i32 = 30;

/// The octree of a file, and the last of its levels that is read.
struct Octree<'p> {
    centre: [f64; 3],
    half: f64,
    /// How far rounding of coordinates can move a point out of its node.
    step: [f64; 3],
    /// The last level that is read.
    deepest: i32,
    part: &'p FilePart,
}

/// The chunks that may have points of a part, in the order of the file. From a server, all pages that the previous pages refer to are requested
/// together.
///
/// # Errors
///
/// Malformed: pages or chunks that do not fit into the file, pages that refer to each other in circles, more points than the header states. Limit: a
/// chunk of more than 256 MiB.
pub(super) fn chunks(
    header: &LasHeader,
    record: &[u8],
    part: &FilePart,
    file: &dyn ReadAt,
) -> Result<Vec<PointChunk>, ConvertError> {
    let path = &header.path;
    let whole = |found: String, expected: &str| {
        ConvertError::malformed(path, InFile::Whole, found, expected)
    };
    let Ok((info, _)) = CopcInfo::read_from_prefix(record) else {
        let found = format!("a record of COPC of {} bytes", record.len());
        return Err(whole(found, "160"));
    };
    let tree = Octree::of(&info, header, part).ok_or_else(|| {
        whole(
            "an octree of COPC without extent or spacing".to_owned(),
            "finite numbers above 0",
        )
    })?;
    let mut pages = vec![(info.root.get(), info.root_size.get())];
    let (mut left, mut points) = (header.size, 0_u64);
    let mut chunks = Vec::new();
    while !pages.is_empty() {
        let (mut ranges, mut together) = (Vec::new(), 0_u64);
        while let Some((at, size)) = pages.pop_if(|(_, size)| {
            let fits = together.checked_add(*size).is_some_and(|all| all <= MOST);
            ranges.is_empty() || ranges.len() < PAGES && fits
        }) {
            let end = at.checked_add(size).filter(|end| *end <= header.size);
            let Some(end) = end.filter(|_| size.is_multiple_of(ENTRY)) else {
                let found = format!("a page of the hierarchy of {size} bytes");
                let expected = "entries of 32 bytes inside the file";
                return Err(bad(path, at, found, expected));
            };
            if size > MOST {
                let (place, what) = (InFile::Byte(at), "bytes of a page of the hierarchy");
                return Err(ConvertError::limit(path, place, what, MOST));
            }
            left = left.checked_sub(size).ok_or_else(|| {
                let found = "pages of the hierarchy that are longer than the file";
                let expected = "pages that are each referred to once";
                bad(path, at, found, expected)
            })?;
            ranges.push(at..end);
            together += size;
        }
        let read = read_ranges(file, &ranges).map_err(|error| ConvertError::io(path, error))?;
        for (range, page) in ranges.iter().zip(&read) {
            let at = range.start;
            let entries = <[CopcEntry]>::ref_from_bytes(page)
                .map_err(|_| bad(path, at, "the end of the file", "a page of the hierarchy"))?;
            for (number, entry) in entries.iter().enumerate() {
                let place = at.saturating_add(number as u64 * ENTRY);
                if !tree.wants(entry).map_err(|found| {
                    bad(
                        path,
                        place,
                        found,
                        format!("levels up to {DEEPEST}, nodes inside the octree"),
                    )
                })? {
                    continue;
                }
                let (size, count) = (entry.size.get(), entry.points.get());
                let (Ok(size), true) = (u64::try_from(size), count >= -1) else {
                    let found = format!("a node of {count} points and {size} bytes");
                    return Err(bad(
                        path,
                        place,
                        found,
                        "none below 0, or -1 points for a page",
                    ));
                };
                let at = entry.at.get();
                let Ok(count) = u64::try_from(count) else {
                    pages.push((at, size));
                    continue;
                };
                if count == 0 {
                    continue;
                }
                let inside = at >= header.first
                    && at.checked_add(size).is_some_and(|end| end <= header.size);
                if !inside || size == 0 {
                    let found = format!("a chunk of {size} bytes from byte {at}");
                    return Err(bad(path, place, found, "one among the points"));
                }
                if size > MOST || count.saturating_mul(header.length as u64) > MOST {
                    let place = InFile::Byte(place);
                    return Err(ConvertError::limit(path, place, "bytes of a chunk", MOST));
                }
                points = points.saturating_add(count);
                if points > header.points {
                    let found = format!("{points} points in nodes");
                    let expected = format!("at most {}, as the header states", header.points);
                    return Err(bad(path, place, found, expected));
                }
                chunks.push(PointChunk {
                    at,
                    bytes: size,
                    points: count,
                });
            }
        }
    }
    chunks.sort_unstable_by_key(|chunk| chunk.at);
    Ok(chunks)
}

/// The bytes of ranges inside a file; a server gets all requests at the same time.
pub(super) fn read_ranges(file: &dyn ReadAt, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
    let read = ranges.iter().map(|range| {
        let length = usize::try_from(range.end.saturating_sub(range.start));
        let length = length.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(vec![0; length])
    });
    let mut read = read.collect::<io::Result<Vec<_>>>()?;
    let parts = ranges.iter().zip(&mut read);
    let parts = parts.map(|(range, out)| (range.start, out.as_mut_slice()));
    file.read_all(&mut parts.collect::<Vec<_>>())?;
    Ok(read)
}

impl<'p> Octree<'p> {
    /// The octree; `None` if its numbers are invalid.
    fn of(info: &CopcInfo, header: &LasHeader, part: &'p FilePart) -> Option<Self> {
        let (half, spacing) = (info.half.get(), info.spacing.get());
        let centre = info.centre.map(|one| one.get());
        let is_finite = centre
            .iter()
            .chain([&half, &spacing])
            .all(|one| one.is_finite());
        if !is_finite || half <= 0.0 || spacing <= 0.0 {
            return None;
        }
        let deepest = part.resolution.map_or(DEEPEST, |resolution| {
            (0..DEEPEST)
                .find(|level| spacing / 2_f64.powi(*level) <= resolution)
                .unwrap_or(DEEPEST)
        });
        Some(Self {
            centre,
            half,
            step: header.scale.map(|scale| scale.abs() / 2.0),
            deepest,
            part,
        })
    }

    /// Whether a node, or a node below it, may have points of the part.
    ///
    /// # Errors
    ///
    /// A text about the invalid key of the node.
    fn wants(&self, entry: &CopcEntry) -> Result<bool, String> {
        let level = entry.level.get();
        let node = entry.node.map(|one| one.get());
        let nodes = 1_i64.checked_shl(level.unsigned_abs()).unwrap_or(0);
        let fits = |one: &i32| (0..nodes).contains(&i64::from(*one));
        if !(0..=DEEPEST).contains(&level) || !node.iter().all(fits) {
            return Err(format!("the node {node:?} of level {level}"));
        }
        if level > self.deepest {
            return Ok(false);
        }
        let edge = 2.0 * self.half / 2_f64.powi(level);
        let axes = self.centre.iter().zip(node).zip(self.step);
        let bounds = axes.map(|((centre, node), step)| {
            let low = centre - self.half + f64::from(node) * edge;
            (low - step, low + edge + step)
        });
        Ok(self.part.meets(bounds))
    }
}
