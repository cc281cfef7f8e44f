//! TCK: a text header, then triplets of floats; three NaN end a streamline, three infinities the file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use arrow_schema::{DataType, Schema};
use serde_json::Value;
use zvf_store::Names;

use crate::export::chains::{Numeric, ObjectVisitor, SelectedObjects};
use crate::export::job::ExportState;
use crate::numbers::{check_finite, rounded, single};
use crate::{ConvertError, Format};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let (objects, mut query) = SelectedObjects::read(job).await?;
    let names: Vec<&str> = objects
        .properties
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    job.not_kept("attributes of objects", names.into_iter());
    if !matches!(query.attributes, Names::None) {
        let names = job.vertex_attributes().await?;
        job.not_kept("attributes of vertices", names.iter().map(String::as_str));
        query.attributes = Names::None;
    }
    let heads = [false, true].map(|double| header(job, objects.lengths.len(), double));
    let mut out = TckWriter {
        file: job.create()?,
        path: job.path,
        heads,
        double: false,
        row: Vec::new(),
    };
    objects.visit(job, query, &mut out).await?;
    out.put([f64::INFINITY; 3])?;
    out.file.flush().map_err(|error| job.failed(error))?;
    Ok(())
}

/// The header. If the source was a TCK file, it has the members of that header.
fn header(job: &mut ExportState<'_>, count: usize, double: bool) -> Vec<u8> {
    let frame = job.frame.clone();
    let mut text = String::from("mrtrix tracks\n");
    if let Some(frame) = frame.filter(|frame| frame.source == "tck") {
        let headers = frame.get("headers").and_then(Value::as_array);
        let first = headers.and_then(|headers| headers.first());
        for (key, value) in first.and_then(Value::as_object).into_iter().flatten() {
            let values: Vec<&Value> = match value {
                Value::Array(list) => list.iter().collect(),
                one => vec![one],
            };
            for value in values.into_iter().filter_map(Value::as_str) {
                text.push_str(&format!("{key}: {value}\n"));
            }
        }
        if headers.is_some_and(|headers| headers.len() > 1) {
            job.note("the header is that of the first of the files that the store was made from");
        }
        job.framed = true;
    }
    let kind = if double { "Float64LE" } else { "Float32LE" };
    text.push_str(&format!("datatype: {kind}\ncount: {count}\nfile: . "));
    // The header contains its own length as text.
    let mut digits = 1_usize;
    let place = loop {
        let place = text
            .len()
            .saturating_add(digits)
            .saturating_add("\nEND\n".len());
        if place.to_string().len() <= digits {
            break place;
        }
        digits = digits.saturating_add(1);
    };
    text.push_str(&format!("{place}\nEND\n"));
    let mut bytes = text.into_bytes();
    bytes.resize(place, b'\n');
    bytes
}

struct TckWriter<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    /// The header for float32, and the header for float64.
    heads: [Vec<u8>; 2],
    double: bool,
    row: Vec<u8>,
}

impl TckWriter<'_> {
    fn put(&mut self, point: [f64; 3]) -> Result<(), ConvertError> {
        self.row.clear();
        for value in point {
            if self.double {
                self.row.extend(value.to_le_bytes());
            } else {
                self.row.extend(rounded(value).0.to_le_bytes());
            }
        }
        self.file
            .write_all(&self.row)
            .map_err(|error| ConvertError::io(self.path, error))
    }
}

impl ObjectVisitor for TckWriter<'_> {
    fn scalars(&mut self, schema: &Schema, _: &[Numeric]) -> Result<(), ConvertError> {
        self.double = !single(schema, "position");
        let [single, double] = &self.heads;
        let head = if self.double { double } else { single };
        self.file
            .write_all(head)
            .map_err(|error| ConvertError::io(self.path, error))
    }

    fn begin(&mut self, _: u64) -> Result<(), ConvertError> {
        Ok(())
    }

    fn point(&mut self, position: &[f64], _: &[Numeric], _: usize) -> Result<(), ConvertError> {
        let mut point = [0.0; 3];
        for (slot, &value) in point.iter_mut().zip(position) {
            *slot = value;
        }
        let element = if self.double {
            DataType::Float64
        } else {
            DataType::Float32
        };
        check_finite(Format::Tck, &point, &element)?;
        self.put(point)
    }

    fn end(&mut self, _: usize) -> Result<(), ConvertError> {
        self.put([f64::NAN; 3])
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufWriter;

    use super::TckWriter;
    use crate::export::chains::ObjectVisitor;

    #[test]
    fn positions_that_are_marks_of_the_format_are_refused() {
        let path = tempfile::NamedTempFile::new().unwrap();
        for (double, far) in [(false, 1e300), (true, f64::INFINITY)] {
            let mut out = TckWriter {
                file: BufWriter::new(path.reopen().unwrap()),
                path: path.path(),
                heads: [Vec::new(), Vec::new()],
                double,
                row: Vec::new(),
            };
            out.point(&[1.0, 2.0, 3.0], &[], 0).unwrap();
            for position in [[f64::NAN; 3], [1.0, f64::NAN, 1.0], [far; 3]] {
                let error = out.point(&position, &[], 0).unwrap_err().to_string();
                assert!(error.contains("finite as float"), "{error}");
            }
        }
    }
}
