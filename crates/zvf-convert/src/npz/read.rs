//! NPZ: NumPy arrays in an archive, by their names.
//!
//! | array | shape | is |
//! |---|---|---|
//! | `positions` | `(N, D)` | positions of the vertices |
//! | `edges` | `(M, 2)`, whole numbers | edges of a graph, by vertices from 0 |
//! | `faces` | `(M, 3)` or `(M, 4)`, whole numbers | faces of a mesh |
//! | `object_id` | `(N,)`, whole numbers | the object that a vertex belongs to |
//! | `axes` | `(D,)`, texts | names of the axes; those of time are `t`, `time` and `frame` |
//! | `units` | `(D,)`, texts | units of the axes, empty where there is none; with it, the file states its axes as exported tables do |
//! | `axis_types` | `(D,)`, texts | types of the axes, beside `units` |
//! | any other | `(N,)` or `(N, C)` | an attribute of vertices |

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};
use zvf_query::numbers::elements;
use zvf_store::Class;
use zvf_write::{Axis, Kind};

use crate::archive::{Archive, ArchiveMember};
use crate::error::{ConvertError, InFile, shown};
use crate::npy::{NpyHeader, NpyRows, read_texts};
use crate::numbers::{floats, whole_number};
use crate::output;
use crate::records::source::{AXES, OBJECT, POSITION, TableSource, TakeBatch, TakeLink};

/// The name of positions in the table.
const POSITIONS: &str = "positions";

/// The names of the arrays with one text for each axis: its name, type and unit.
pub(crate) const OF_AXES: [&str; 3] = ["axes", "axis_types", "units"];

/// An open archive.
#[derive(Debug)]
pub(crate) struct Npz {
    path: PathBuf,
    archive: Archive,
    schema: SchemaRef,
    rows: u64,
    columns: Vec<(ArchiveMember, NpyHeader)>,
    links: Option<(ArchiveMember, NpyHeader, Kind)>,
    notes: Vec<String>,
}

impl Npz {
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let archive = Archive::open(path)?;
        let bad = |found: String, expected: &str| {
            Err(ConvertError::malformed(
                path,
                InFile::Whole,
                found,
                expected,
            ))
        };
        let Some(positions) = archive.find("positions.npy") else {
            return bad("no array positions".to_owned(), "one, (N, D)");
        };
        let positions = header(&archive, positions)?;
        let rows = positions.rows;
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        let (mut links, mut notes, mut metadata) = (None, Vec::new(), HashMap::new());
        let mut of_axes = AxisTexts::default();
        for member in &archive.members {
            let Some(name) = member.name.strip_suffix(".npy") else {
                notes.push(format!("{} is not kept: no array", shown(&member.name)));
                continue;
            };
            if let Some(at) = OF_AXES.iter().position(|known| *known == name) {
                match read_texts(&mut archive.read(member)?) {
                    Ok(texts) => {
                        of_axes.take(at, texts, &positions, &mut notes);
                        continue;
                    }
                    Err(error) if error.class() == Class::Io => return Err(error),
                    Err(_) => {}
                }
            }
            let header = match header(&archive, member) {
                Ok(header) => header,
                Err(error)
                    if error.class() == Class::Io
                        || [POSITIONS, "edges", "faces"].contains(&name) =>
                {
                    return Err(error);
                }
                Err(_) => {
                    notes.push(format!(
                        "array {} is not kept: it does not hold numbers of one or two axes",
                        shown(name)
                    ));
                    continue;
                }
            };
            let kind = match name {
                "edges" => Some(Kind::Graph),
                "faces" => Some(Kind::Mesh),
                _ => None,
            };
            if let Some(kind) = kind {
                let fits = match (kind, header.column()) {
                    (Kind::Graph, DataType::FixedSizeList(item, 2)) => {
                        item.data_type().is_integer()
                    }
                    (Kind::Mesh, DataType::FixedSizeList(item, 3 | 4)) => {
                        item.data_type().is_integer()
                    }
                    _ => false,
                };
                if !fits {
                    return bad(
                        format!("{name} of another shape or type"),
                        "whole numbers, (M, 2) for edges, (M, 3) or (M, 4) for faces",
                    );
                }
                if links.is_some() {
                    return bad("edges and faces".to_owned(), "one of them");
                }
                links = Some((member.clone(), header, kind));
            } else if header.rows == rows {
                if name == "object_id" {
                    metadata.insert(OBJECT.to_owned(), name.to_owned());
                }
                if name == POSITIONS {
                    metadata.insert(POSITION.to_owned(), name.to_owned());
                }
                fields.push(Field::new(name, header.column(), false));
                columns.push((member.clone(), header));
            } else {
                notes.push(format!(
                    "array {} of {} rows is not kept: there are {rows} vertices",
                    shown(name),
                    header.rows
                ));
            }
        }
        of_axes.describe(&mut metadata, &mut notes);
        Ok(Self {
            path: path.to_owned(),
            archive,
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            rows,
            columns,
            links,
            notes,
        })
    }
}

/// The texts about axes in an archive, in the order of [`OF_AXES`].
#[derive(Debug, Default)]
struct AxisTexts([Option<Vec<String>>; 3]);

impl AxisTexts {
    fn take(
        &mut self,
        at: usize,
        texts: Vec<String>,
        positions: &NpyHeader,
        notes: &mut Vec<String>,
    ) {
        let axes = match positions.column() {
            DataType::FixedSizeList(_, width) => usize::try_from(width).unwrap_or_default(),
            _ => 1,
        };
        let name = OF_AXES.get(at).copied().unwrap_or_default();
        let distinct: HashSet<&String> = texts.iter().collect();
        let names = at == 0;
        if texts.len() != axes {
            notes.push(format!(
                "array {name} of {} texts is not kept: positions have {axes} axes",
                texts.len()
            ));
        } else if names && (distinct.len() < axes || texts.iter().any(String::is_empty)) {
            notes.push(format!(
                "array {name} is not kept: axes need different names that are not empty"
            ));
        } else if let Some(place) = self.0.get_mut(at) {
            *place = Some(texts);
        }
    }

    /// Puts the texts into the metadata of the table.
    fn describe(self, metadata: &mut HashMap<String, String>, notes: &mut Vec<String>) {
        let [names, types, units] = self.0;
        let mut alone = |name: &str, beside: &str| {
            notes.push(format!(
                "array {name} is not kept: there is no array {beside}"
            ));
        };
        let Some(names) = names else {
            metadata.insert(AXES.to_owned(), "[]".to_owned());
            if units.is_some() {
                alone("units", "axes");
            }
            return;
        };
        metadata.insert(AXES.to_owned(), json!(names).to_string());
        let Some(units) = units else {
            if types.is_some() {
                alone("axis_types", "units");
            }
            return;
        };
        let axes = names
            .iter()
            .zip(&units)
            .enumerate()
            .map(|(at, (name, unit))| {
                let given = types.as_ref().and_then(|types| types.get(at));
                let named = Axis::named(name);
                let unit = Some(unit).filter(|unit| !unit.is_empty());
                json!({
                    "name": name,
                    "type": given.map_or_else(|| named.kind(), String::as_str),
                    "unit": unit,
                })
            });
        let axes: Vec<Value> = axes.collect();
        metadata.insert(output::AXES.to_owned(), json!(axes).to_string());
    }
}

/// The header of an array, checked against the size of its member.
fn header(archive: &Archive, member: &ArchiveMember) -> Result<NpyHeader, ConvertError> {
    let mut bytes = archive.read(member)?;
    let header = NpyHeader::read(&mut bytes)?;
    let size = header.row_bytes().and_then(|row| u64::try_from(row).ok());
    let wanted = size.and_then(|row| row.checked_mul(header.rows));
    let wanted = wanted.and_then(|size| size.checked_add(bytes.at()));
    if wanted != Some(member.size) {
        let found = format!("{} of {} bytes", shown(&member.name), member.size);
        return Err(bytes.bad(found, format!("{} rows", header.rows)));
    }
    Ok(header)
}

impl TableSource for Npz {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, batch: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut open = Vec::new();
        for (member, header) in &self.columns {
            open.push(NpyRows::open(header, &mut || self.archive.read(member))?);
        }
        let batch = self.columns.iter().map(|(_, header)| header.at_most(batch));
        let batch = batch.min().unwrap_or(1);
        let mut left = self.rows;
        while left > 0 {
            let count = batch
                .max(1)
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let mut columns = Vec::new();
            for array in &mut open {
                columns.push(array.take(count)?);
            }
            let table = RecordBatch::try_new(Arc::clone(&self.schema), columns);
            let table = table.map_err(|error| {
                ConvertError::malformed(
                    &self.path,
                    InFile::Whole,
                    error.to_string(),
                    "rows of arrays",
                )
            })?;
            take(&table)?;
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }

    fn linked(&self) -> Option<Kind> {
        self.links.as_ref().map(|(_, _, kind)| *kind)
    }

    fn links(&self, take: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        let Some((member, header, _)) = &self.links else {
            return Ok(());
        };
        let mut array = NpyRows::open(header, &mut || self.archive.read(member))?;
        let (mut left, mut ends) = (header.rows, Vec::new());
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(1 << 14);
            let column = array.take(count)?;
            let (_, width) = elements(&column);
            for link in floats(&column).values.chunks(width.max(1)) {
                ends.clear();
                for &end in link {
                    let expected = "the number of a vertex, from 0";
                    let number = whole_number(end);
                    ends.push(number.ok_or_else(|| array.bad(format!("vertex {end}"), expected))?);
                }
                take(&ends, InFile::Whole)?;
            }
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
