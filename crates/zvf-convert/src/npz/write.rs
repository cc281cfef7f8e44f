//! NPZ: uncompressed arrays, with the names that an import reads; see `read.rs`.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use zvf_query::Table;
use zvf_query::numbers::elements;
use zvf_write::Axis;

use crate::ConvertError;
use crate::archive::ArchiveWriter;
use crate::export::chained;
use crate::export::job::{ALL, BatchReceiver, ExportState};
use crate::export::schemas::{ExportSchemas, attribute};
use crate::npz::read::OF_AXES;
use crate::numbers::{rows_without_value, shape};
use crate::output::npy::header;
use crate::output::raw::{descr, write_raw};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let objects = job.ids().await?;
    let ids = objects.is_some();
    let mut query = job.rows(ids).await?;
    query.outputs = ALL;
    query.outputs.links = !chained(job.kind);
    let mut sink = NpzWriter {
        path: job.path,
        arrays: Vec::new(),
        links: None,
        others: Vec::new(),
        vertices: 0,
        objects: 0,
        schemas: None,
    };
    job.run(query, &mut sink).await?;
    let NpzWriter {
        arrays,
        links,
        others,
        vertices,
        objects,
        schemas,
        ..
    } = sink;
    job.done.links = links.as_ref().map_or(0, |links| links.rows);
    (job.done.vertices, job.done.objects) = (vertices, objects);
    let taken: Vec<String> = arrays.iter().map(|array| array.name.clone()).collect();
    let mut archive = ArchiveWriter::new(job.create()?);
    for mut array in arrays.into_iter().chain(links) {
        let done = array.finish(&mut archive);
        done.map_err(|error| job.failed(error))?;
        job.written_as_zero(&array.name, array.missing);
        if array.marks > 0 {
            let (marks, name) = (array.marks, &array.name);
            job.note(format!(
                "{marks} missing values of {name} are written as NaT (-9223372036854775808)"
            ));
        }
    }
    let lost = write_axes(job.store.root().axes(), &taken, &mut archive);
    let lost = lost.map_err(|error| job.failed(error))?;
    archive.finish().map_err(|error| job.failed(error))?;
    if let Some(name) = lost {
        job.note(format!(
            "names and units of the axes are not kept: an attribute is named {name}"
        ));
    }
    job.not_kept(
        "attributes of vertices that are not numbers, or have the name of another array",
        others.iter().map(String::as_str),
    );
    if let Some(schemas) = schemas {
        job.not_kept("attributes of links", schemas.link_attributes());
        job.not_kept("attributes of objects", schemas.object_attributes());
    }
    Ok(())
}

/// Writes names, units and types (unless the names imply them) of the axes as arrays of texts. If an attribute has the name of such an array, writes
/// nothing and returns the name.
fn write_axes<W: Write + Seek>(
    axes: &[Axis],
    taken: &[String],
    archive: &mut ArchiveWriter<W>,
) -> io::Result<Option<&'static str>> {
    let is_taken = |name: &&&str| taken.iter().any(|taken| taken == **name);
    if let Some(name) = OF_AXES.iter().find(is_taken) {
        return Ok(Some(name));
    }
    let typed = |axis: &Axis| axis.kind() != Axis::named(&axis.name).kind();
    let types = axes.iter().any(typed);
    let texts = |name: &str| -> Vec<&str> {
        let texts = axes.iter().map(|axis| match name {
            "axes" => axis.name.as_str(),
            "units" => axis.unit.as_deref().unwrap_or_default(),
            _ => axis.kind(),
        });
        texts.collect()
    };
    for name in OF_AXES
        .iter()
        .filter(|name| types || **name != "axis_types")
    {
        let texts = texts(name);
        let longest = texts.iter().map(|text| text.chars().count()).max();
        let longest = longest.unwrap_or_default().max(1);
        let mut bytes = header(&format!("<U{longest}"), &format!("({},)", texts.len()), 64)?;
        for text in texts {
            let codes = text.chars().map(u32::from).chain(std::iter::repeat(0));
            bytes.extend(codes.take(longest).flat_map(u32::to_le_bytes));
        }
        archive.add(&format!("{name}.npy"), &mut bytes.as_slice())?;
    }
    Ok(None)
}

/// An array that is being written: its numbers are collected in a temporary file, because the header needs their count.
struct NpzArray {
    name: String,
    column: String,
    descr: &'static str,
    /// Numbers of a row; `None` for an array of one axis.
    width: Option<usize>,
    rows: u64,
    missing: u64,
    /// Missing dates and times, which are written as NaT.
    marks: u64,
    file: BufWriter<File>,
}

impl NpzArray {
    fn new(name: &str, column: &str, kind: &DataType) -> io::Result<Option<Self>> {
        let Some((width, element)) = shape(kind) else {
            return Ok(None);
        };
        let Some(descr) = descr(element) else {
            return Ok(None);
        };
        Ok(Some(Self {
            name: name.to_owned(),
            column: column.to_owned(),
            descr,
            width: matches!(kind, DataType::FixedSizeList(..)).then_some(width),
            rows: 0,
            missing: 0,
            marks: 0,
            file: BufWriter::with_capacity(1 << 16, tempfile::tempfile()?),
        }))
    }

    fn take(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let Some(column) = batch.column_by_name(&self.column) else {
            return Ok(());
        };
        if *elements(column).0.data_type() == DataType::Int64 {
            let gone = rows_without_value(batch, &self.column).map_err(io::Error::other)?;
            let marked = gone.iter().filter(|row| !column.is_null(**row)).count();
            self.marks = self.marks.saturating_add(marked as u64);
        }
        self.rows = self.rows.saturating_add(column.len() as u64);
        let (items, _) = elements(column);
        let float = matches!(
            items.data_type(),
            DataType::Float16 | DataType::Float32 | DataType::Float64
        );
        if !float {
            self.missing = self.missing.saturating_add(column.null_count() as u64);
        }
        write_raw(&mut self.file, filled(&items, column).as_ref())
    }

    fn finish<W: Write + Seek>(&mut self, archive: &mut ArchiveWriter<W>) -> io::Result<()> {
        let shape = match self.width {
            None => format!("({},)", self.rows),
            Some(width) => format!("({}, {width})", self.rows),
        };
        let head = header(self.descr, &shape, 64)?;
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        archive.add(
            &format!("{}.npy", self.name),
            &mut head.as_slice().chain(file),
        )
    }
}

/// The numbers with missing values replaced: by NaN for floats, else by 0.
fn filled(items: &ArrayRef, column: &ArrayRef) -> ArrayRef {
    if column.null_count() == 0 && items.null_count() == 0 {
        return ArrayRef::clone(items);
    }
    crate::numbers::without_nulls(items, column, 0)
}

struct NpzWriter<'a> {
    path: &'a Path,
    arrays: Vec<NpzArray>,
    links: Option<NpzArray>,
    others: Vec<String>,
    vertices: u64,
    objects: u64,
    schemas: Option<ExportSchemas>,
}

impl BatchReceiver for NpzWriter<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        let failed = |error| ConvertError::io(self.path, error);
        for field in schemas.vertices.fields() {
            let column = field.name().as_str();
            let name = match column {
                "position" => "positions",
                // Names of other arrays.
                "attribute:object_id" | "positions" | "edges" | "faces" => "",
                other => attribute(other),
            };
            let usable = !name.is_empty() && !name.contains(['/', '\\']);
            let array = if usable {
                NpzArray::new(name, column, field.data_type()).map_err(failed)?
            } else {
                None
            };
            match array {
                Some(array) => self.arrays.push(array),
                None => self.others.push(attribute(column).to_owned()),
            }
        }
        let links = schemas
            .links
            .as_ref()
            .and_then(|links| links.field_with_name("vertices").ok());
        if let Some(field) = links {
            let edges = shape(field.data_type()).is_some_and(|(width, _)| width == 2);
            let name = if edges { "edges" } else { "faces" };
            self.links = NpzArray::new(name, "vertices", field.data_type()).map_err(failed)?;
        }
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        let failed = |error| ConvertError::io(self.path, error);
        match table {
            Table::Vertices => {
                self.vertices = self.vertices.saturating_add(batch.num_rows() as u64);
                for array in &mut self.arrays {
                    array.take(batch).map_err(failed)?;
                }
            }
            Table::Links => {
                if let Some(links) = &mut self.links {
                    links.take(batch).map_err(failed)?;
                }
            }
            Table::Objects => {
                self.objects = self.objects.saturating_add(batch.num_rows() as u64);
            }
        }
        Ok(())
    }
}
