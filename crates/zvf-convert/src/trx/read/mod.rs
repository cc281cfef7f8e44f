//! TRX: streamlines as raw arrays in an archive, with `header.json` beside them, and groups.

mod arrays;
mod columns;
mod groups;
mod open;

use std::ops::Range;
use std::path::PathBuf;

use serde_json::{Value, json};
use zvf_write::{AttributeSpec, AttributeType, Batch, JsonObject, Kind, ObjectTable};

use crate::Format;
use crate::error::{ConvertError, InFile};
use crate::found::{FirstPass, Stated, draft};
use crate::frame::{self, Space};
use crate::ids;
use crate::numbers::floats;
use crate::options::Options;
use crate::records::values;
use crate::shape::VertexExtent;
use crate::sink::Sink;
use columns::TrxArray;
use groups::TrxGroups;
use open::{Open, next};

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Trx {
    files: Vec<PathBuf>,
    /// The ids of the streamlines of each file.
    ids: Vec<Range<i64>>,
    options: Options,
    /// Attributes of points, of streamlines.
    columns: [Vec<TrxArray>; 2],
}

impl Trx {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, FirstPass), ConvertError> {
        let mut extent = VertexExtent::new(3);
        let (mut counts, mut notes) = (Vec::with_capacity(files.len()), Vec::new());
        let mut known: Option<Open> = None;
        let mut groups = TrxGroups::default();
        for file in files {
            options.check_stop()?;
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
                    InFile::Whole,
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
                            InFile::Whole,
                            found,
                            "a finite number",
                        ));
                    }
                    extent.add(position);
                }
                if extent.count() > options.limits.vertices {
                    let limit = options.limits.vertices;
                    return Err(ConvertError::limit(file, InFile::Whole, "vertices", limit));
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
                        InFile::Whole,
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
        let found = FirstPass {
            extent,
            objects: counts.iter().sum(),
            links: 0,
            spec,
            frame: Some(stated(&header, options.space.unwrap_or_default())),
            stated: Stated::Units,
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
        let mut groups = TrxGroups::default();
        for (file, ids) in self.files.iter().zip(&self.ids) {
            let open = Open::new(file, &self.options)?;
            let first = ids.start;
            groups.add(file, &open, first, &self.options)?;
            let changed = || ConvertError::file_changed(file, "other arrays");
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

fn specs(columns: &[Vec<TrxArray>; 2]) -> [Vec<AttributeSpec>; 2] {
    columns
        .each_ref()
        .map(|list| list.iter().filter_map(TrxArray::spec).collect())
}

/// The voxel grid of the header.
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

/// The voxel grid of the header, with the frame in which positions are stored.
fn stated(header: &Value, space: Space) -> Value {
    let mut members = voxels(header);
    let map = frame::grid("trx", &members).and_then(|grid| grid.to_rasmm());
    frame::state(&mut members, space.of(Format::Trx), map.ok().as_ref());
    Value::Object(members)
}
