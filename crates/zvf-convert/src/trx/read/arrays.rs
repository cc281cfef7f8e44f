//! Parses the names of members, and the ends of streamlines.

use std::path::Path;

use serde_json::Value;

use super::super::layout::{number_type, parts};
use super::columns::TrxArray;
use crate::archive::{Archive, ArchiveMember};
use crate::error::{ConvertError, InFile};
use crate::npy::NpyHeader;
use crate::numbers::floats;
use crate::options::Options;

/// Parses the name of a member, such as `fa.float32` or `color.3.uint8`; `None` if it is not of this form, or if the size does not fit.
pub(super) fn array(file: &str, member: &ArchiveMember) -> Option<TrxArray> {
    let (_, name, width, word) = parts(file)?;
    Some(TrxArray {
        name: name.to_owned(),
        member: member.clone(),
        array: NpyHeader::raw(number_type(word)?, width, member.size)?,
    })
}

/// Like [`array`], for an array that is one row.
pub(super) fn row(file: &str, member: &ArchiveMember) -> Option<TrxArray> {
    let mut column = array(file, member)?;
    if column.array.rows != 1 {
        let (rest, _, _, word) = parts(file)?;
        // Without a stated width, all numbers belong to one row.
        let columns = usize::try_from(column.array.rows).ok()?;
        column.array = NpyHeader::raw(number_type(word)?, Some(columns), member.size)?;
        (rest == column.name && column.array.rows == 1).then_some(())?;
    }
    Some(column)
}

/// The end of each streamline, which is the start of the next one. A file may omit the last end.
pub(super) fn ends(
    path: &Path,
    archive: &Archive,
    header: &Value,
    offsets: &TrxArray,
    points: u64,
    options: &Options,
) -> Result<Vec<u64>, ConvertError> {
    let bad = |found: String, expected: &str| {
        Err(ConvertError::malformed(
            path,
            InFile::Whole,
            found,
            expected,
        ))
    };
    let count = offsets.array.rows;
    if count > options.limits.held {
        return Err(ConvertError::limit(
            path,
            InFile::Whole,
            "streamlines of a file",
            options.limits.held,
        ));
    }
    let mut bytes = archive.read(&offsets.member)?;
    let column = offsets
        .array
        .take(&mut bytes, usize::try_from(count).unwrap_or(usize::MAX))?;
    let stated = header.get("NB_STREAMLINES").and_then(Value::as_u64);
    let mut starts: Vec<u64> = Vec::new();
    for start in floats(&column).values {
        let start = crate::numbers::whole_number(start).filter(|start| *start <= points);
        let rises = starts
            .last()
            .is_none_or(|last| start.is_some_and(|start| start >= *last));
        let Some(start) = start.filter(|start| rises && (!starts.is_empty() || *start == 0)) else {
            return bad(
                format!("offset {}, which is out of order", starts.len()),
                "offsets that begin at 0, never fall, and do not exceed the number of points",
            );
        };
        starts.push(start);
    }
    // If there is one offset more than streamlines, the last one is the number of points.
    let closed = match stated {
        Some(stated) if stated == count => false,
        Some(stated) if stated.checked_add(1) == Some(count) => true,
        Some(stated) => {
            return bad(
                format!("{count} offsets"),
                &format!("{stated}, as NB_STREAMLINES states, or one more"),
            );
        }
        None => count > 0 && starts.last() == Some(&points) && points > 0,
    };
    if starts.is_empty() && points > 0 {
        return bad(
            "no offsets".to_owned(),
            &format!("the first point of each streamline, for {points} points"),
        );
    }
    if closed && starts.last() != Some(&points) {
        return bad(
            "another last offset".to_owned(),
            &format!("{points}, the number of points"),
        );
    }
    if !closed {
        starts.push(points);
    }
    Ok(starts.into_iter().skip(1).collect())
}
