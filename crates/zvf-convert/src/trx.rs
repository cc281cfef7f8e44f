//! TRX: streamlines as raw arrays in an archive, with `header.json` beside them, and groups.

mod arrays;
mod groups;

use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use serde_json::{Value, json};
use zvf_write::{AttributeSpec, AttributeType, Batch, JsonObject, Kind, ObjectTable};

use crate::archive::{Archive, Member};
use crate::error::{ConvertError, Place, shown};
use crate::frame::{self, Space};
use crate::ids;
use crate::numbers::floats;
use crate::options::Options;
use crate::records::npy::Header;
use crate::records::values;
use crate::shape::Extent;
use crate::tracks::Bytes;
use crate::{Format, Found, Sink, draft};
use arrays::{array, ends, row};
use groups::Collected;

/// Takes positions, attributes, and how many points of which streamline.
type TakePoints<'a> =
    dyn FnMut(&ArrayRef, &[ArrayRef], &[(usize, usize)]) -> Result<(), ConvertError> + 'a;

/// A `header.json` that is longer is none.
const LONGEST: u64 = 16 << 20;

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Trx {
    files: Vec<PathBuf>,
    /// The ids of the streamlines of each file.
    ids: Vec<Range<i64>>,
    options: Options,
    /// Attributes of points, of streamlines.
    columns: [Vec<Column>; 2],
}

/// An array of numbers.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    name: String,
    member: Member,
    array: Header,
}

impl Column {
    fn spec(&self) -> Option<AttributeSpec> {
        match values::kind(&self.array.column())? {
            (AttributeType::Number(number), channels) => {
                Some(AttributeSpec::number(&self.name, number).with_channels(channels))
            }
            _ => None,
        }
    }
}

impl Column {
    fn is_whole(&self) -> bool {
        self.array.column().is_integer()
    }
}

/// One archive.
#[derive(Debug)]
struct Open {
    archive: Archive,
    header: Value,
    positions: Column,
    /// Where each streamline ends.
    ends: Vec<u64>,
    columns: [Vec<Column>; 2],
    /// Members of groups.
    groups: Vec<Column>,
    /// What is said of groups, by their names.
    said: Vec<(String, Column)>,
    notes: Vec<String>,
}

impl Open {
    fn new(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let archive = Archive::open(path)?;
        let bad = |found: String, expected: &str| {
            ConvertError::malformed(path, Place::Whole, found, expected)
        };
        let Some(head) = archive.find("header.json") else {
            return Err(bad(
                "no header.json".to_owned(),
                "one, with arrays beside it",
            ));
        };
        if head.size > LONGEST {
            return Err(ConvertError::limit(
                path,
                Place::Whole,
                "bytes of header.json",
                LONGEST,
            ));
        }
        let size = usize::try_from(head.size).unwrap_or(usize::MAX);
        let text = archive.read(head)?.take_some(size, "header.json")?;
        let header: Value = serde_json::from_slice(&text)
            .map_err(|error| bad(format!("header.json: {error}"), "JSON"))?;
        let mut notes = Vec::new();
        let (mut positions, mut offsets, mut columns) = (None, None, [Vec::new(), Vec::new()]);
        let (mut groups, mut said) = (Vec::new(), Vec::new());
        for member in &archive.members {
            if member.name.ends_with('/') || member.name == "header.json" {
                continue;
            }
            let (folder, file) = member.name.rsplit_once('/').unwrap_or(("", &member.name));
            let group = folder
                .strip_prefix("dpg/")
                .filter(|group| !group.is_empty());
            let place = match folder {
                "" if file.starts_with("positions.") || file.starts_with("offsets.") => 4,
                "dpv" => 0,
                "dps" => 1,
                "groups" => 2,
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
            let fits = |column: &Column| place != 2 || column.is_whole();
            let column = column.filter(fits).ok_or_else(|| {
                let expected = match place {
                    2 => "NAME.uint32, or of other whole numbers",
                    3 => "NAME.TYPE or NAME.COLUMNS.TYPE, one row of numbers",
                    _ => "NAME.TYPE or NAME.COLUMNS.TYPE, of whole rows of numbers",
                };
                bad(
                    format!("{} of {} bytes", shown(&member.name), member.size),
                    expected,
                )
            })?;
            match (columns.get_mut(place), group) {
                (Some(list), _) => list.push(column),
                (None, Some(group)) => said.push((group.to_owned(), column)),
                (None, None) if place == 2 => groups.push(column),
                (None, None) if column.name == "positions" => positions = Some(column),
                (None, None) => offsets = Some(column),
            }
        }
        let (Some(positions), Some(offsets)) = (positions, offsets) else {
            return Err(bad(
                "no positions or no offsets".to_owned(),
                "positions.3.float32 and offsets.uint64, or of other types",
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
            (0, positions.array.rows, "dpv"),
            (1, ends.len() as u64, "dps"),
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
            said,
            notes,
        })
    }

    /// Hands the points over: columns of a batch, and how many points of which streamline.
    fn points(&self, rows: usize, take: &mut TakePoints<'_>) -> Result<(), ConvertError> {
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

    fn open(&self, columns: &[Column]) -> Result<Vec<Bytes>, ConvertError> {
        columns
            .iter()
            .map(|column| self.archive.read(&column.member))
            .collect()
    }
}

/// The next rows of some columns.
fn next(
    columns: &[Column],
    open: &mut [Bytes],
    rows: usize,
) -> Result<Vec<ArrayRef>, ConvertError> {
    let pairs = columns.iter().zip(open);
    pairs
        .map(|(column, bytes)| column.array.take(bytes, rows))
        .collect()
}

impl Trx {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, Found), ConvertError> {
        let mut extent = Extent::new(3);
        let (mut counts, mut notes) = (Vec::with_capacity(files.len()), Vec::new());
        let mut known: Option<Open> = None;
        let mut groups = Collected::default();
        for file in files {
            let open = Open::new(file, options)?;
            groups.add(file, &open, 0, options)?;
            counts.push(open.ends.len() as u64);
            for note in &open.notes {
                if !notes.contains(note) {
                    notes.push(note.clone());
                }
            }
            let spec = values::kind(&open.positions.array.column());
            if !matches!(spec, Some((AttributeType::Number(number), 3)) if number.is_float()) {
                let found = format!("positions of {}", open.positions.array.column());
                return Err(ConvertError::malformed(
                    file,
                    Place::Whole,
                    found,
                    "three floats a point",
                ));
            }
            open.points(options.batch, &mut |places, _, _| {
                for position in floats(places).values.chunks_exact(3) {
                    if let Some(value) = position.iter().find(|value| !value.is_finite()) {
                        let found = format!("{value} as a coordinate");
                        return Err(ConvertError::malformed(
                            file,
                            Place::Whole,
                            found,
                            "a finite number",
                        ));
                    }
                    extent.add(position);
                }
                if extent.count() > options.limits.vertices {
                    let limit = options.limits.vertices;
                    return Err(ConvertError::limit(file, Place::Whole, "vertices", limit));
                }
                Ok(())
            })?;
            if let Some(first) = &known {
                let same = [
                    ("header", voxels(&first.header) == voxels(&open.header)),
                    (
                        "types",
                        first.positions.array.column() == open.positions.array.column()
                            && specs(&first.columns) == specs(&open.columns),
                    ),
                ];
                if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
                    let expected = format!("the {what} of the first file");
                    return Err(ConvertError::malformed(
                        file,
                        Place::Whole,
                        format!("other {what}"),
                        expected,
                    ));
                }
            } else {
                known = Some(open);
            }
        }
        let Some(Open {
            header,
            positions,
            columns,
            ..
        }) = known
        else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        notes.extend(groups.finish().1);
        let number = match values::kind(&positions.array.column()) {
            Some((AttributeType::Number(number), _)) => number,
            _ => zvf_write::NumberType::F32,
        };
        let mut spec = draft(kind, &["x", "y", "z"], number).with_unit("millimeter");
        [spec.vertex_attributes, spec.object_attributes] = specs(&columns);
        let found = Found {
            extent,
            objects: counts.iter().sum(),
            links: 0,
            spec,
            frame: Some(stated(&header, options.space.unwrap_or_default())),
            stated: true,
            notes,
        };
        let reader = Self {
            files: files.to_vec(),
            ids: ids::ranges(options.ids, files, &counts)?,
            options: options.clone(),
            columns,
        };
        Ok((reader, found))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut groups = Collected::default();
        for (file, ids) in self.files.iter().zip(&self.ids) {
            let open = Open::new(file, &self.options)?;
            let first = ids.start;
            groups.add(file, &open, first, &self.options)?;
            let changed = || {
                let expected = "what was there when the file was looked at";
                ConvertError::malformed(file, Place::Whole, "other arrays", expected)
            };
            let same = open.ends.len() as u64 == ids.start.abs_diff(ids.end);
            if specs(&open.columns) != specs(&self.columns) || !same {
                return Err(changed());
            }
            let id = |line: usize| first.saturating_add(i64::try_from(line).unwrap_or(i64::MAX));
            let [points, lines] = &open.columns;
            open.points(self.options.batch, &mut |places, list, runs| {
                let runs: Vec<(i64, usize)> =
                    runs.iter().map(|(line, rows)| (id(*line), *rows)).collect();
                let mut batch =
                    Batch::new(values::values(places).ok_or_else(changed)?).with_object_runs(runs);
                for (column, values) in points.iter().zip(list) {
                    batch = batch
                        .with_attribute(&column.name, values::values(values).ok_or_else(changed)?);
                }
                Ok(sink.batch(&batch)?)
            })?;
            let rows = lines
                .iter()
                .map(|line| line.array.at_most(self.options.batch));
            let rows = rows.min().unwrap_or(self.options.batch).max(1);
            let mut rest = open.open(lines)?;
            let mut done = 0;
            while done < open.ends.len() {
                let count = rows.min(open.ends.len() - done);
                let list = next(lines, &mut rest, count)?;
                let mut table = ObjectTable::new((done..done + count).map(id).collect::<Vec<_>>());
                for (column, values) in lines.iter().zip(&list) {
                    table = table
                        .with_attribute(&column.name, values::values(values).ok_or_else(changed)?);
                }
                sink.objects(&table)?;
                done += count;
            }
        }
        match groups.finish().0 {
            Some(groups) => Ok(sink.groups(&groups)?),
            None => Ok(()),
        }
    }
}

fn specs(columns: &[Vec<Column>; 2]) -> [Vec<AttributeSpec>; 2] {
    columns
        .each_ref()
        .map(|list| list.iter().filter_map(Column::spec).collect())
}

/// What the header states of the voxels.
fn voxels(header: &Value) -> JsonObject {
    let mut members = JsonObject::new();
    members.insert("source".to_owned(), json!("trx"));
    members.insert("space".to_owned(), json!("rasmm"));
    members.insert(
        "voxel_to_rasmm".to_owned(),
        json!(header.get("VOXEL_TO_RASMM")),
    );
    members.insert("dimensions".to_owned(), json!(header.get("DIMENSIONS")));
    members
}

/// The same, with the frame in which positions are stored.
fn stated(header: &Value, space: Space) -> Value {
    let mut members = voxels(header);
    let map = frame::grid("trx", &members).and_then(|grid| grid.to_rasmm());
    frame::state(&mut members, space.of(Format::Trx), map.ok().as_ref());
    Value::Object(members)
}
