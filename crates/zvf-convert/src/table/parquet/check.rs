//! Checks what the Parquet reader assumes about the footer. `pages.rs` checks the pages.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use parquet::file::metadata::ParquetMetaData;

use super::thrift::{I32, LIST, STRUCT, ThriftReader};
use crate::error::{ConvertError, InFile, shown};

/// Most bytes of a footer.
const LONGEST: u64 = 256 << 20;
/// Most levels of nested groups of columns.
const DEEPEST: usize = 32;
/// The field of the footer with the schema; the field of a schema element with the number of its children.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Checks that the footer exists, that its lists are not longer than it, and that the schema is a tree.
pub(super) fn footer(path: &Path, mut file: &File) -> Result<(), ConvertError> {
    let io = |error| ConvertError::io(path, error);
    let bad = |at: u64, found: &str, expected: &str| {
        Err(ConvertError::malformed(
            path,
            InFile::Byte(at),
            found,
            expected,
        ))
    };
    let length = file.metadata().map_err(io)?.len();
    let mut magic = [0; 4];
    let begins = length >= 12 && {
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        file.read_exact(&mut magic).map_err(io)?;
        magic == *b"PAR1"
    };
    if !begins {
        return bad(
            0,
            "other first bytes",
            "\"PAR1\": a Parquet file, not encrypted",
        );
    }
    let end = length.saturating_sub(8);
    let mut tail = [0; 8];
    file.seek(SeekFrom::Start(end)).map_err(io)?;
    file.read_exact(&mut tail).map_err(io)?;
    let [size @ .., b'P', b'A', b'R', b'1'] = tail else {
        return bad(end.saturating_add(4), "other last bytes", "\"PAR1\"");
    };
    let size = u64::from(u32::from_le_bytes(size));
    let Some(start) = end.checked_sub(size).filter(|start| *start >= 4) else {
        return bad(
            end,
            "a footer that does not fit into the file",
            "a shorter footer",
        );
    };
    if size > LONGEST {
        let what = "bytes of a footer";
        return Err(ConvertError::limit(
            path,
            InFile::Byte(start),
            what,
            LONGEST,
        ));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(io)?;
    file.take(size).read_to_end(&mut bytes).map_err(io)?;
    match is_tree(&bytes) {
        Some(true) => Ok(()),
        Some(false) => bad(
            start,
            "a schema that is not a tree",
            "a tree of columns and groups",
        ),
        None => bad(start, "bytes that cannot be decoded", "a footer of Parquet"),
    }
}

/// Parses a footer; returns whether its schema is a tree, `None` if the footer is malformed.
fn is_tree(bytes: &[u8]) -> Option<bool> {
    let mut walk = ThriftReader::new(bytes);
    let (mut last, mut tree) = (0, false);
    while let Some((field, kind)) = walk.field(&mut last)? {
        if field == SCHEMA && kind == LIST {
            tree = schema(&mut walk)?;
        } else {
            walk.skip(kind)?;
        }
    }
    Some(tree)
}

/// Parses the schema, and returns whether it has one root, and for each group the stated number of children.
fn schema(walk: &mut ThriftReader<'_>) -> Option<bool> {
    let (kind, count) = walk.list()?;
    if kind != STRUCT {
        return None;
    }
    // The number of children that each open group still lacks.
    let mut open: Vec<u64> = vec![1];
    let mut tree = true;
    for _ in 0..count {
        let (mut last, mut children) = (0, 0);
        while let Some((field, kind)) = walk.field(&mut last)? {
            if field == CHILDREN && kind == I32 {
                children = walk.int()?;
            } else {
                walk.skip(kind)?;
            }
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        match open.last_mut() {
            Some(left) => *left = left.saturating_sub(1),
            None => tree = false,
        }
        match u64::try_from(children) {
            Ok(0) => {}
            Ok(children) if children <= count as u64 && open.len() < DEEPEST => open.push(children),
            _ => return Some(false),
        }
    }
    Some(tree && open.iter().all(|left| *left == 0))
}

/// Checks the positions of the requested columns, and that their encoding is supported.
pub(super) fn columns(
    path: &Path,
    file: &File,
    metadata: &ParquetMetaData,
    wanted: &[usize],
) -> Result<(), ConvertError> {
    let length = file
        .metadata()
        .map_err(|error| ConvertError::io(path, error))?
        .len();
    let schema = metadata.file_metadata().schema_descr();
    for (leaf, column) in schema.columns().iter().enumerate() {
        if !wanted.contains(&schema.get_column_root_idx(leaf)) {
            continue;
        }
        let name = || shown(&column.path().string());
        let bad = |found: String, expected: &str| {
            Err(ConvertError::malformed(
                path,
                InFile::Whole,
                found,
                expected,
            ))
        };
        if column.max_rep_level() > 1 || column.max_def_level() > 3 {
            let found = format!("column {}, of lists in lists or in groups", name());
            let expected = "plain columns, or lists of numbers: leave it out with --exclude";
            return bad(found, expected);
        }
        for (number, group) in metadata.row_groups().iter().enumerate() {
            let Some(chunk) = group.columns().get(leaf) else {
                return bad(
                    format!("row group {number} without column {}", name()),
                    "all columns",
                );
            };
            let start = chunk
                .dictionary_page_offset()
                .unwrap_or(chunk.data_page_offset());
            let start = u64::try_from(start).ok();
            let end = start.zip(u64::try_from(chunk.compressed_size()).ok());
            let end = end.and_then(|(start, size)| start.checked_add(size));
            if end.is_none_or(|end| end > length) || group.num_rows() < 0 {
                let found = format!(
                    "column {} of row group {number} outside of the file",
                    name()
                );
                return bad(found, "a range inside the file");
            }
        }
    }
    Ok(())
}
