//! TRX: raw arrays in an archive, not compressed: positions, offsets, attributes of points (`dpv`) and of streamlines (`dps`), groups.

mod groups;

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use arrow_schema::{DataType, Schema};
use serde_json::{Value, json};
use zvf_encode::error::OrBug;

use super::layout::{HEADER, OF_LINES, OF_POINTS, OFFSETS, POSITIONS, ending, file_name};
use crate::archive::ArchiveWriter;
use crate::export::chains::{Numeric, ObjectVisitor, SelectedObjects};
use crate::export::job::ExportState;
use crate::export::schemas::attribute;
use crate::frame::SourceHeader;
use crate::numbers::{check_finite, rounded, shape, whole_number};
use crate::{ConvertError, Format};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let (objects, query) = SelectedObjects::read(job).await?;
    let mut out = TrxWriter {
        path: job.path,
        element: DataType::Float32,
        positions: None,
        scalars: Vec::new(),
        points: 0,
        offsets: vec![0],
        row: Vec::new(),
    };
    objects.visit(job, query, &mut out).await?;
    let TrxWriter {
        element,
        positions,
        scalars,
        points,
        offsets,
        ..
    } = out;
    let mut archive = ArchiveWriter::new(job.create()?);
    let path = job.path;
    let failed = |error: io::Error| ConvertError::io(path, error);
    let header =
        serde_json::to_string_pretty(&header(job.frame.as_deref(), points, objects.lengths.len()));
    let header = header.map_err(|error| failed(error.into()))?;
    archive
        .add(HEADER, &mut header.as_bytes())
        .map_err(failed)?;
    if let Some(file) = positions {
        let name = file_name(
            POSITIONS,
            3,
            ending(&element).or_bug("positions that are not numbers")?,
        );
        spooled(&mut archive, &name, file).map_err(failed)?;
    }
    let offsets: Vec<u8> = offsets
        .iter()
        .flat_map(|offset: &u64| offset.to_le_bytes())
        .collect();
    archive
        .add(&file_name(OFFSETS, 1, "uint64"), &mut offsets.as_slice())
        .map_err(failed)?;
    let mut lost = [Vec::new(), Vec::new()];
    for (column, file, missing) in scalars {
        match member(OF_POINTS, &column) {
            Some(name) => {
                job.written_as_zero(&column.name, missing);
                spooled(&mut archive, &name, file).map_err(failed)?;
            }
            None => lost[0].push(column.name),
        }
    }
    for column in &objects.properties {
        let Some(name) = member(OF_LINES, column) else {
            lost[1].push(column.name.clone());
            continue;
        };
        let mut bytes = Vec::new();
        let mut missing = 0;
        for value in &column.values {
            missing += u64::from(encode(*value, &column.element, &mut bytes));
        }
        job.written_as_zero(&column.name, missing);
        archive.add(&name, &mut bytes.as_slice()).map_err(failed)?;
    }
    groups::write(job, &objects.ids, &mut archive).await?;
    archive.finish().map_err(|error| job.failed(error))?;
    let source = job.frame.as_ref().map(|frame| frame.source.as_str());
    job.framed |= matches!(source, Some("trx" | "trk"));
    let [vertices, lines] = lost;
    job.not_kept(
        "attributes of vertices",
        vertices.iter().map(String::as_str),
    );
    job.not_kept("attributes of objects", lines.iter().map(String::as_str));
    Ok(())
}

/// `header.json`: counts, and the frame as an import recorded it.
fn header(frame: Option<&SourceHeader>, points: u64, lines: usize) -> Value {
    let member = |key: &str| frame.and_then(|frame| frame.get(key));
    let dimensions = frame.and_then(SourceHeader::dimensions);
    let dimensions = dimensions.and_then(|list| {
        let whole = list.map(whole_number);
        whole.into_iter().collect::<Option<Vec<u64>>>()
    });
    let identity = json!([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0]
    ]);
    json!({
        "DIMENSIONS": match (dimensions, member("dimensions")) {
            (Some(dimensions), _) => json!(dimensions),
            // Without the axes of the affine, the dimensions keep their order.
            (None, Some(stated)) => stated.clone(),
            (None, None) => json!([1, 1, 1]),
        },
        "VOXEL_TO_RASMM": member("voxel_to_rasmm").cloned().unwrap_or(identity),
        "NB_VERTICES": points,
        "NB_STREAMLINES": lines,
    })
}

/// The member name of an array; `None` if it would name another file or a number would not round-trip.
fn member(folder: &str, column: &Numeric) -> Option<String> {
    let (name, ending) = (attribute(&column.name), ending(&column.element)?);
    let file = file_name(name, column.width, ending);
    (groups::plain(name) && column.exact).then(|| format!("{folder}/{file}"))
}

fn spooled<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    name: &str,
    mut file: BufWriter<File>,
) -> io::Result<()> {
    file.flush()?;
    let file = file.get_mut();
    file.rewind()?;
    archive.add(name, file)
}

/// Appends a number in the type in which it was stored. Returns whether it is a missing whole number, which is written as 0.
fn encode(value: f64, element: &DataType, out: &mut Vec<u8>) -> bool {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the column holds numbers of this type; a missing one is 0"
    )]
    match element {
        DataType::Boolean | DataType::UInt8 => out.extend((value as u8).to_le_bytes()),
        DataType::Int8 => out.extend((value as i8).to_le_bytes()),
        DataType::Int16 => out.extend((value as i16).to_le_bytes()),
        DataType::Int32 => out.extend((value as i32).to_le_bytes()),
        DataType::Int64 => out.extend((value as i64).to_le_bytes()),
        DataType::UInt16 => out.extend((value as u16).to_le_bytes()),
        DataType::UInt32 => out.extend((value as u32).to_le_bytes()),
        DataType::UInt64 => out.extend((value as u64).to_le_bytes()),
        DataType::Float16 => out.extend(zvf_store::nearest_f16(value).to_le_bytes()),
        DataType::Float32 => out.extend(rounded(value).0.to_le_bytes()),
        _ => out.extend(value.to_le_bytes()),
    }
    value.is_nan() && !element.is_floating()
}

struct TrxWriter<'a> {
    path: &'a Path,
    /// Number type of positions.
    element: DataType,
    positions: Option<BufWriter<File>>,
    /// Attributes of points, their files, and the number of missing whole numbers.
    scalars: Vec<(Numeric, BufWriter<File>, u64)>,
    points: u64,
    offsets: Vec<u64>,
    row: Vec<u8>,
}

impl ObjectVisitor for TrxWriter<'_> {
    fn scalars(&mut self, schema: &Schema, scalars: &[Numeric]) -> Result<(), ConvertError> {
        let failed = |error| ConvertError::io(self.path, error);
        let field = schema.field_with_name("position").ok();
        self.element = match field.and_then(|field| shape(field.data_type())) {
            Some((_, float @ (DataType::Float16 | DataType::Float32))) => float.clone(),
            _ => DataType::Float64,
        };
        let spool = || tempfile::tempfile().map(|file| BufWriter::with_capacity(1 << 16, file));
        self.positions = Some(spool().map_err(failed)?);
        for column in scalars {
            self.scalars
                .push((column.empty(), spool().map_err(failed)?, 0));
        }
        Ok(())
    }

    fn begin(&mut self, points: u64) -> Result<(), ConvertError> {
        let next = self
            .offsets
            .last()
            .copied()
            .unwrap_or(0)
            .saturating_add(points);
        self.offsets.push(next);
        Ok(())
    }

    fn point(
        &mut self,
        position: &[f64],
        scalars: &[Numeric],
        row: usize,
    ) -> Result<(), ConvertError> {
        let failed = |error| ConvertError::io(self.path, error);
        check_finite(Format::Trx, position, &self.element)?;
        self.points = self.points.saturating_add(1);
        self.row.clear();
        for value in position {
            encode(*value, &self.element, &mut self.row);
        }
        if let Some(file) = &mut self.positions {
            file.write_all(&self.row).map_err(failed)?;
        }
        for (column, (known, file, missing)) in scalars.iter().zip(&mut self.scalars) {
            known.exact &= column.exact;
            self.row.clear();
            for value in column.row(row) {
                *missing += u64::from(encode(*value, &column.element, &mut self.row));
            }
            file.write_all(&self.row).map_err(failed)?;
        }
        Ok(())
    }

    fn end(&mut self, _: usize) -> Result<(), ConvertError> {
        Ok(())
    }
}
