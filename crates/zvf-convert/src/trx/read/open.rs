//! Opens one TRX archive: reads its header, finds its arrays, and streams its points.

use std::path::Path;

use arrow_array::ArrayRef;
use serde_json::Value;

use super::super::layout::{GROUPS, HEADER, OF_GROUPS, OF_LINES, OF_POINTS, OFFSETS, POSITIONS};
use super::arrays::{array, ends, row};
use super::columns::TrxArray;
use crate::archive::Archive;
use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile, shown};
use crate::options::Options;

/// Receives a batch: positions, attributes, and pairs of a streamline and its number of points in the batch.
type TakePoints<'a> =
    dyn FnMut(&ArrayRef, &[ArrayRef], &[(usize, usize)]) -> Result<(), ConvertError> + 'a;

/// Longest `header.json`.
const LONGEST: u64 = 16 << 20;

/// One open archive.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) archive: Archive,
    pub(super) header: Value,
    pub(super) positions: TrxArray,
    /// The index of the point after each streamline.
    pub(super) ends: Vec<u64>,
    /// Attributes of points (`dpv`) and of streamlines (`dps`).
    pub(super) columns: [Vec<TrxArray>; 2],
    /// Members of groups.
    pub(super) groups: Vec<TrxArray>,
    /// Attributes of groups (`dpg`), each with the name of its group.
    pub(super) group_attributes: Vec<(String, TrxArray)>,
    pub(super) notes: Vec<String>,
}

impl Open {
    pub(super) fn new(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let archive = Archive::open(path)?;
        let bad = |found: String, expected: &str| {
            ConvertError::malformed(path, InFile::Whole, found, expected)
        };
        let Some(head) = archive.find(HEADER) else {
            return Err(bad(
                format!("no {HEADER}"),
                "header.json in the folder of the arrays",
            ));
        };
        if head.size > LONGEST {
            return Err(ConvertError::limit(
                path,
                InFile::Whole,
                format!("bytes of {HEADER}"),
                LONGEST,
            ));
        }
        let size = usize::try_from(head.size).unwrap_or(usize::MAX);
        let text = archive.read(head)?.take_some(size, HEADER)?;
        let header: Value = serde_json::from_slice(&text)
            .map_err(|error| bad(format!("{HEADER}: {error}"), "JSON"))?;
        let mut notes = Vec::new();
        let (mut positions, mut offsets, mut columns) = (None, None, [Vec::new(), Vec::new()]);
        let (mut groups, mut group_attributes) = (Vec::new(), Vec::new());
        for member in &archive.members {
            if member.name.ends_with('/') || member.name == HEADER {
                continue;
            }
            let (folder, file) = member.name.rsplit_once('/').unwrap_or(("", &member.name));
            let group = folder
                .strip_prefix(OF_GROUPS)
                .and_then(|group| group.strip_prefix('/'))
                .filter(|group| !group.is_empty());
            let is = |name| {
                file.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            let place = match folder {
                "" if is(POSITIONS) || is(OFFSETS) => 4,
                OF_POINTS => 0,
                OF_LINES => 1,
                GROUPS => 2,
                _ if group.is_some() => 3,
                _ => {
                    notes.push(format!("{} is not kept", shown(&member.name)));
                    continue;
                }
            };
            let column = if place == 3 {
                row(file, member)
            } else {
                array(file, member)
            };
            let fits = |column: &TrxArray| place != 2 || column.is_whole();
            let column = column.filter(fits).ok_or_else(|| {
                let expected = match place {
                    2 => "NAME.uint32 or another integer type",
                    3 => "NAME.TYPE or NAME.COLUMNS.TYPE, one row of numbers",
                    _ => "NAME.TYPE or NAME.COLUMNS.TYPE, whole rows of numbers",
                };
                bad(
                    format!("{} of {} bytes", shown(&member.name), member.size),
                    expected,
                )
            })?;
            match (columns.get_mut(place), group) {
                (Some(list), _) => list.push(column),
                (None, Some(group)) => group_attributes.push((group.to_owned(), column)),
                (None, None) if place == 2 => groups.push(column),
                (None, None) => {
                    let place = match column.name == POSITIONS {
                        true => &mut positions,
                        false => &mut offsets,
                    };
                    if place.is_some() {
                        let found = format!("a second array of {}", column.name);
                        return Err(bad(found, "one array of each name"));
                    }
                    *place = Some(column);
                }
            }
        }
        let (Some(positions), Some(offsets)) = (positions, offsets) else {
            return Err(bad(
                "no positions or no offsets".to_owned(),
                "positions.3.float32 and offsets.uint64, or other types",
            ));
        };
        let stated = header.get("NB_VERTICES").filter(|stated| !stated.is_null());
        let rows = positions.array.rows;
        if let Some(stated) = stated.filter(|stated| stated.as_u64() != Some(rows)) {
            notes.push(format!(
                "header.json states NB_VERTICES {stated}, but there are {rows} positions: all of them are read"
            ));
        }
        for list in &mut columns {
            list.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let ends = ends(
            path,
            &archive,
            &header,
            &offsets,
            positions.array.rows,
            options,
        )?;
        for (list, rows, what) in [
            (0, positions.array.rows, OF_POINTS),
            (1, ends.len() as u64, OF_LINES),
        ] {
            for column in columns.get(list).into_iter().flatten() {
                if column.array.rows != rows {
                    let found = format!(
                        "{what} {} of {} rows",
                        shown(&column.name),
                        column.array.rows
                    );
                    return Err(bad(found, &format!("{rows}")));
                }
            }
        }
        Ok(Self {
            archive,
            header,
            positions,
            ends,
            columns,
            groups,
            group_attributes,
            notes,
        })
    }

    /// Reads the points in batches of at most `rows` points, and calls `take` with each.
    pub(super) fn points(
        &self,
        rows: usize,
        take: &mut TakePoints<'_>,
    ) -> Result<(), ConvertError> {
        let mut positions = self.archive.read(&self.positions.member)?;
        let [columns, _] = &self.columns;
        let mut open = self.open(columns)?;
        let arrays = columns.iter().chain([&self.positions]);
        let rows = arrays.map(|column| column.array.at_most(rows)).min();
        let rows = rows.unwrap_or(1);
        let (mut at, mut line, total) = (0_u64, 0_usize, self.positions.array.rows);
        while at < total {
            let count = rows
                .max(1)
                .min(usize::try_from(total - at).unwrap_or(usize::MAX));
            let places = self.positions.array.take(&mut positions, count)?;
            let list = next(columns, &mut open, count)?;
            let mut runs = Vec::new();
            let until = at.saturating_add(count as u64);
            while at < until {
                let end = self.ends.get(line).copied().unwrap_or(until);
                let part = end.min(until).saturating_sub(at);
                if part > 0 {
                    runs.push((line, usize::try_from(part).unwrap_or(usize::MAX)));
                }
                at = at.saturating_add(part);
                if end <= at && at < until {
                    line = line.saturating_add(1);
                }
            }
            take(&places, &list, &runs)?;
        }
        Ok(())
    }

    pub(super) fn open(&self, columns: &[TrxArray]) -> Result<Vec<Bytes>, ConvertError> {
        columns
            .iter()
            .map(|column| self.archive.read(&column.member))
            .collect()
    }
}

/// Reads the next rows of some columns.
pub(super) fn next(
    columns: &[TrxArray],
    open: &mut [Bytes],
    rows: usize,
) -> Result<Vec<ArrayRef>, ConvertError> {
    let pairs = columns.iter().zip(open);
    pairs
        .map(|(column, bytes)| column.array.take(bytes, rows))
        .collect()
}
