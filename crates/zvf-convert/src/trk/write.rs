//! TRK: a header of 1000 bytes and little-endian float32 points, with scalars of points and properties of streamlines.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use arrow_schema::{DataType, Schema};
use serde_json::Value;
use zerocopy::little_endian::{F32, I16, I32};
use zerocopy::{FromZeros, IntoBytes};

use super::layout::{NAME, NAMES, TrkHead};

use crate::export::chains::{Numeric, ObjectVisitor, SelectedObjects};
use crate::export::job::ExportState;
use crate::export::schemas::attribute;
use crate::frame::Space;
use crate::numbers::{check_finite, rounded, single};
use crate::{ConvertError, Format, InFile};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let (mut objects, query) = SelectedObjects::read(job).await?;
    let left = fit(&mut objects.properties);
    job.not_kept(
        "attributes of objects beyond the ten names of 19 bytes that a header has",
        left.iter().map(String::as_str),
    );
    let mut file = job.create()?;
    file.write_all(TrkHead::new_zeroed().as_bytes())
        .map_err(|error| job.failed(error))?;
    let mut out = TrkWriter {
        file,
        path: job.path,
        objects: &objects,
        scalars: Vec::new(),
        left: Vec::new(),
        row: Vec::new(),
        inexact: false,
        double: false,
        rounded: Vec::new(),
    };
    objects.visit(job, query, &mut out).await?;
    let TrkWriter {
        mut file,
        scalars,
        left,
        inexact,
        double,
        rounded,
        ..
    } = out;
    let Ok(count) = i32::try_from(objects.lengths.len()) else {
        let limit = u64::from(i32::MAX.unsigned_abs());
        return Err(ConvertError::limit(
            job.path,
            InFile::Whole,
            "streamlines",
            limit,
        ));
    };
    let head = header(job, &scalars, &objects.properties, count)?;
    let done = std::io::Seek::rewind(&mut file)
        .and_then(|()| file.write_all(head.as_bytes()))
        .and_then(|()| file.flush());
    done.map_err(|error| job.failed(error))?;
    job.not_kept(
        "attributes of vertices beyond the ten names of 19 bytes that a header has",
        left.iter().map(String::as_str),
    );
    // Mapped positions are always rounded.
    if inexact && (job.map.is_none() || double) {
        job.note("positions were rounded to float32");
    }
    if !rounded.is_empty() {
        job.note(format!(
            "attributes were rounded to float32: {}",
            rounded.join(", ")
        ));
    }
    Ok(())
}

/// Removes columns that do not fit into ten names of twenty bytes; returns their names.
fn fit(columns: &mut Vec<Numeric>) -> Vec<String> {
    let (mut left, mut kept) = (Vec::new(), 0_usize);
    columns.retain(|column| {
        let fits = kept < NAMES && field(column).is_some();
        if fits {
            kept = kept.saturating_add(1);
        } else {
            left.push(column.name.clone());
        }
        fits
    });
    left
}

/// A name of 20 bytes; for several columns, their number follows the terminating zero.
fn field(column: &Numeric) -> Option<[u8; NAME]> {
    let mut bytes = attribute(&column.name).as_bytes().to_vec();
    if bytes.is_empty() || bytes.contains(&0) || column.width == 0 {
        return None;
    }
    if column.width > 1 {
        bytes.push(0);
        bytes.extend(column.width.to_string().bytes());
    }
    // The last byte is the terminating zero.
    if bytes.len() >= NAME {
        return None;
    }
    bytes.resize(NAME, 0);
    bytes.try_into().ok()
}

/// The number of values of all columns together, and the names of the columns.
fn names(columns: &[Numeric]) -> Result<(I16, [[u8; NAME]; NAMES]), ConvertError> {
    let width: usize = columns.iter().map(|column| column.width).sum();
    let Ok(width) = i16::try_from(width) else {
        let found = format!("{width} numbers");
        let expected = format!("at most {}: leave attributes out", i16::MAX);
        return Err(ConvertError::usage("TRK attributes", found, expected));
    };
    let mut names = [[0; NAME]; NAMES];
    let fields = columns.iter().filter_map(field);
    for (name, field) in names.iter_mut().zip(fields) {
        *name = field;
    }
    Ok((I16::new(width), names))
}

/// The header, with the frame of the file that the store was made from.
fn header(
    job: &mut ExportState<'_>,
    scalars: &[Numeric],
    properties: &[Numeric],
    count: i32,
) -> Result<TrkHead, ConvertError> {
    // With `keep_frame`, the header of the source is valid only if positions are stored in the frame of the file.
    let kept = !job.options.keep_frame;
    let own = job
        .frame
        .clone()
        .filter(|frame| frame.source == "trk" && (kept || frame.space() == Some(Space::Voxelmm)));
    let own = own.as_deref();
    let number = |key: &str, at: usize, plain: f64| {
        let list = own.and_then(|frame| frame.get(key));
        let number = list.and_then(|list| list.get(at)).and_then(Value::as_f64);
        number.unwrap_or(plain)
    };
    let float = |value: f64| F32::new(rounded(value).0);
    let affine = |row: usize, column: usize| {
        let rows = own.and_then(|frame| frame.get("voxel_to_rasmm"));
        let number = rows.and_then(|rows| rows.get(row)?.get(column)?.as_f64());
        // Without a frame to restore, positions are scanner millimetres. TRK counts from the corner of the first voxel,
        // half a voxel before its centre.
        let plain = match (row == column, column == 3) {
            _ if own.is_some() => 0.0,
            (true, _) => 1.0,
            (false, true) => 0.5,
            (false, false) => 0.0,
        };
        float(number.unwrap_or(plain))
    };
    let order = |key: &str| {
        let order = own.and_then(|frame| frame.get(key)).and_then(Value::as_str);
        let order = order.unwrap_or(if own.is_some() { "" } else { "RAS" });
        let mut letters = [0; 4];
        letters
            .iter_mut()
            .zip(order.bytes())
            .for_each(|(letter, byte)| *letter = byte);
        letters
    };
    let mut head = TrkHead::new_zeroed();
    head.magic = *b"TRACK\0";
    head.dimensions = [0, 1, 2].map(|at| I16::new(short(number("dimensions", at, 1.0))));
    head.voxel_sizes = [0, 1, 2].map(|at| float(number("voxel_sizes", at, 1.0)));
    head.origin = [0, 1, 2].map(|at| float(number("origin", at, 0.0)));
    (head.scalars, head.scalar_names) = names(scalars)?;
    (head.properties, head.property_names) = names(properties)?;
    head.voxel_to_rasmm = [0, 1, 2, 3].map(|row| [0, 1, 2, 3].map(|column| affine(row, column)));
    head.voxel_order = order("voxel_order");
    head.original_voxel_order = order("original_voxel_order");
    head.image_orientation_patient = [(0, 1.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 1.0), (5, 0.0)]
        .map(|(at, plain)| {
            let plain = if own.is_some() { 0.0 } else { plain };
            float(number("image_orientation_patient", at, plain))
        });
    head.count = I32::new(count);
    head.version = I32::new(2);
    head.header_size = I32::new(1000);
    if own.is_some() {
        job.framed = true;
    } else {
        job.note("the file has no header of an image: voxels of 1 mm, placed so that positions are those of the scanner");
        job.framed |= job.frame.is_none();
    }
    Ok(head)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "saturates; the header has 16 bits"
)]
fn short(value: f64) -> i16 {
    value as i16
}

struct TrkWriter<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    objects: &'a SelectedObjects,
    scalars: Vec<Numeric>,
    left: Vec<String>,
    row: Vec<u8>,
    inexact: bool,
    /// Whether positions are stored as float64.
    double: bool,
    /// Attributes with numbers that float32 cannot hold.
    rounded: Vec<String>,
}

impl TrkWriter<'_> {
    fn put(&mut self, value: f64) -> bool {
        let (near, exact) = rounded(value);
        self.row.extend(near.to_le_bytes());
        exact
    }

    fn attribute(&mut self, column: &Numeric, row: usize) {
        let mut exact = column.exact;
        for &value in column.row(row) {
            exact &= self.put(value);
        }
        if !exact && !self.rounded.contains(&column.name) {
            self.rounded.push(column.name.clone());
        }
    }

    fn flush(&mut self) -> Result<(), ConvertError> {
        let done = self.file.write_all(&self.row);
        self.row.clear();
        done.map_err(|error| ConvertError::io(self.path, error))
    }
}

impl ObjectVisitor for TrkWriter<'_> {
    fn scalars(&mut self, schema: &Schema, scalars: &[Numeric]) -> Result<(), ConvertError> {
        self.double = !single(schema, "position");
        self.scalars = scalars.iter().map(Numeric::empty).collect();
        self.left = fit(&mut self.scalars);
        Ok(())
    }

    fn begin(&mut self, points: u64) -> Result<(), ConvertError> {
        let Ok(points) = i32::try_from(points) else {
            let limit = u64::from(i32::MAX.unsigned_abs());
            let what = "points of a streamline";
            return Err(ConvertError::limit(self.path, InFile::Whole, what, limit));
        };
        self.row.extend(points.to_le_bytes());
        self.flush()
    }

    fn point(
        &mut self,
        position: &[f64],
        scalars: &[Numeric],
        row: usize,
    ) -> Result<(), ConvertError> {
        check_finite(Format::Trk, position, &DataType::Float32)?;
        for &value in position {
            self.inexact |= !self.put(value);
        }
        for column in scalars {
            if !self.left.contains(&column.name) {
                self.attribute(column, row);
            }
        }
        self.flush()
    }

    fn end(&mut self, object: usize) -> Result<(), ConvertError> {
        let objects = self.objects;
        for column in &objects.properties {
            self.attribute(column, object);
        }
        self.flush()
    }
}
