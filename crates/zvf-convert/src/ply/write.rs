//! PLY: binary, little-endian; vertices with their attributes, then faces or edges.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use zvf_encode::error::OrBug;
use zvf_encode::internal;
use zvf_query::Table;

use crate::export::job::{ALL, BatchReceiver, ExportState};
use crate::export::links::ends;
use crate::export::schemas::{ExportSchemas, attribute};
use crate::numbers::{Floats, numbers_of, rounded, shape};
use crate::output::axis_names;
use crate::{ConvertError, InFile};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    // Owners are written if there are several objects and their ids fit in 32 bits.
    let ids = job.ids().await?.unwrap_or_default();
    let several = ids.len() > 1;
    let told = several && ids.iter().all(|id| i32::try_from(*id).is_ok());
    let mut query = job.rows(told).await?;
    query.outputs = ALL;
    let mut sink = PlyWriter {
        file: job.create()?,
        path: job.path,
        owners: told,
        columns: Vec::new(),
        others: Vec::new(),
        renamed: Vec::new(),
        room: 0,
        width: 0,
        vertices: 0,
        links: 0,
        objects: 0,
        row: Vec::new(),
        schemas: None,
    };
    job.run(query, &mut sink).await?;
    let head = sink.header(sink.vertices, sink.links);
    let PlyWriter {
        mut file,
        columns,
        others,
        renamed,
        room,
        vertices,
        links,
        objects,
        schemas,
        ..
    } = sink;
    // The reserved space is filled by a comment before the last line, end_header.
    let mut head = head.into_bytes();
    let left = room
        .saturating_sub(head.len())
        .saturating_sub("comment \n".len());
    head.extend(format!("comment {}\nend_header\n", " ".repeat(left)).bytes());
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.write_all(&head))
        .and_then(|()| file.flush())
        .map_err(|error| job.failed(error))?;
    (job.done.vertices, job.done.links, job.done.objects) = (vertices, links, objects);
    job.not_kept(
        "attributes of vertices that are not numbers",
        others.iter().map(String::as_str),
    );
    for [name, new] in renamed {
        job.note(format!(
            "{name} is written as {new}: properties need different names of one word in ASCII"
        ));
    }
    for column in &columns {
        if !column.exact {
            job.whole_rounded(&column.name);
        }
        job.written_as_zero(&column.name, column.missing);
    }
    if let Some(schemas) = schemas {
        job.not_kept("attributes of links", schemas.link_attributes());
        job.not_kept("attributes of objects", schemas.object_attributes());
    }
    if !several {
        job.ids_lost(&ids);
    } else if !told {
        job.note("the object of each vertex is not kept: ids are longer than 32 bits");
    }
    Ok(())
}

/// A column of the answer, and the properties of one type that it becomes.
struct PropertyColumn {
    name: String,
    properties: Vec<String>,
    word: &'static str,
    exact: bool,
    missing: u64,
}

impl PropertyColumn {
    /// `owners`: whether a column `object_id` has ids of objects, which fit into 32 bits, and is not an attribute.
    fn new(field: &Field, axes: &[String], owners: bool) -> Option<Self> {
        let (width, element) = shape(field.data_type())?;
        let word = match element {
            DataType::Boolean | DataType::UInt8 => "uchar",
            DataType::Int8 => "char",
            DataType::Int16 => "short",
            DataType::UInt16 => "ushort",
            DataType::Int32 => "int",
            DataType::UInt32 => "uint",
            DataType::Int64 if owners && field.name() == "object_id" => "int",
            DataType::Float16 | DataType::Float32 => "float",
            _ => "double",
        };
        let name = attribute(field.name());
        let properties = if field.name() == "position" {
            let names = ["x", "y", "z", "w"];
            let known = axes.len() == width;
            (0..width)
                .map(|at| match axes.get(at).filter(|_| known) {
                    Some(axis) => axis.clone(),
                    None => names.get(at).copied().unwrap_or("v").to_owned(),
                })
                .collect()
        } else if name == "color" && width == 3 {
            ["red", "green", "blue"].map(str::to_owned).to_vec()
        } else if matches!(field.data_type(), DataType::FixedSizeList(..)) {
            (0..width).map(|at| format!("{name}_{at}")).collect()
        } else {
            vec![name.to_owned()]
        };
        Some(Self {
            name: field.name().clone(),
            properties,
            word,
            exact: true,
            missing: 0,
        })
    }

    fn put(&self, value: f64, row: &mut Vec<u8>) {
        let value = if value.is_nan() && !matches!(self.word, "float" | "double") {
            0.0
        } else {
            value
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the column holds numbers of this type"
        )]
        match self.word {
            "uchar" => row.extend((value as u8).to_le_bytes()),
            "char" => row.extend((value as i8).to_le_bytes()),
            "short" => row.extend((value as i16).to_le_bytes()),
            "ushort" => row.extend((value as u16).to_le_bytes()),
            "int" => row.extend((value as i32).to_le_bytes()),
            "uint" => row.extend((value as u32).to_le_bytes()),
            "float" => row.extend(rounded(value).0.to_le_bytes()),
            _ => row.extend(value.to_le_bytes()),
        }
    }
}

/// Makes the names of properties unique ASCII words. If several names become the same word, names of axes and names that already were words are
/// kept, and the others get a prefix. Returns the old and the new name of each change.
fn rename(columns: &mut [PropertyColumn]) -> Vec<[String; 2]> {
    // Headers are ASCII.
    let ascii = |letter: char| if letter.is_ascii() { letter } else { '_' };
    let word = |text: &str| -> String {
        let joined = text.split_whitespace().collect::<Vec<_>>().join("_");
        joined.chars().map(ascii).collect()
    };
    let mut order: Vec<&mut PropertyColumn> = columns.iter_mut().collect();
    order.sort_by_key(|column| {
        let own = attribute(&column.name);
        let is_own = column.properties == [own] && word(own) == own;
        (column.name != "position", !is_own)
    });
    let (mut taken, mut renamed) = (HashSet::new(), Vec::new());
    for property in order.into_iter().flat_map(|column| &mut column.properties) {
        let base = word(property);
        let mut name = base.clone();
        let mut number = 1_u64;
        while !taken.insert(name.clone()) {
            name = match number {
                1 => format!("attribute_{base}"),
                number => format!("attribute_{base}_{number}"),
            };
            number += 1;
        }
        if name != *property {
            renamed.push([std::mem::replace(property, name.clone()), name]);
        }
    }
    renamed
}

struct PlyWriter<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    /// Whether vertices have a column with ids of objects.
    owners: bool,
    columns: Vec<PropertyColumn>,
    others: Vec<String>,
    /// Names that were changed, each with the new one.
    renamed: Vec<[String; 2]>,
    /// Bytes that are reserved for the header, without its last line.
    room: usize,
    /// Ends of a link; 0 without links.
    width: usize,
    vertices: u64,
    links: u64,
    objects: u64,
    row: Vec<u8>,
    schemas: Option<ExportSchemas>,
}

impl PlyWriter<'_> {
    /// The header up to its last line.
    fn header(&self, vertices: u64, links: u64) -> String {
        let mut text = format!("ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\n");
        for column in &self.columns {
            for property in &column.properties {
                text.push_str(&format!("property {} {property}\n", column.word));
            }
        }
        match self.width {
            0 => {}
            2 => text.push_str(&format!(
                "element edge {links}\nproperty int vertex1\nproperty int vertex2\n"
            )),
            _ => text.push_str(&format!(
                "element face {links}\nproperty list uchar int vertex_indices\n"
            )),
        }
        text
    }

    fn vertices(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        let mut lists = Vec::new();
        for column in &mut self.columns {
            let array = batch.column_by_name(&column.name);
            let array = array.or_bug("a column that is gone")?;
            let Floats { values, exact } = numbers_of(batch, &column.name)?;
            internal!(
                values.len() == batch.num_rows().saturating_mul(column.properties.len()),
                "{} values of {} rows",
                values.len(),
                batch.num_rows()
            );
            column.exact &= exact;
            if !matches!(column.word, "float" | "double") {
                column.missing = column.missing.saturating_add(array.null_count() as u64);
            }
            lists.push(values);
        }
        for at in 0..batch.num_rows() {
            for (column, values) in self.columns.iter().zip(&lists) {
                let width = column.properties.len();
                for &value in values.iter().skip(at.saturating_mul(width)).take(width) {
                    column.put(value, &mut self.row);
                }
            }
        }
        self.vertices = self.vertices.saturating_add(batch.num_rows() as u64);
        Ok(())
    }

    fn links(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        let (ends, width) = ends(batch)?;
        for link in ends.values().chunks(width.max(1)) {
            if self.width != 2 {
                let corners = u8::try_from(link.len());
                self.row
                    .push(corners.or_bug("a face of more than 255 corners")?);
            }
            for end in link {
                let Ok(end) = i32::try_from(*end) else {
                    let limit = u64::from(i32::MAX.unsigned_abs());
                    let what = "vertices with links";
                    return Err(ConvertError::limit(self.path, InFile::Whole, what, limit));
                };
                self.row.extend(end.to_le_bytes());
            }
        }
        self.links = self.links.saturating_add(batch.num_rows() as u64);
        Ok(())
    }
}

impl BatchReceiver for PlyWriter<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        let axes = axis_names(&schemas.vertices);
        for field in schemas.vertices.fields() {
            match PropertyColumn::new(field, &axes, self.owners) {
                Some(column) => self.columns.push(column),
                None => self.others.push(attribute(field.name()).to_owned()),
            }
        }
        self.renamed = rename(&mut self.columns);
        let links = schemas
            .links
            .as_ref()
            .and_then(|links| links.field_with_name("vertices").ok());
        self.width = links
            .and_then(|field| shape(field.data_type()))
            .map_or(0, |(width, _)| width);
        self.schemas = Some(schemas.clone());
        let room = self.header(u64::MAX, u64::MAX).len();
        self.room = room.saturating_add("comment \n".len());
        let free = vec![b' '; self.room.saturating_add("end_header\n".len())];
        self.file
            .write_all(&free)
            .map_err(|error| ConvertError::io(self.path, error))
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => self.vertices(batch)?,
            Table::Links => self.links(batch)?,
            Table::Objects => {
                self.objects = self.objects.saturating_add(batch.num_rows() as u64);
            }
        }
        let done = self.file.write_all(&self.row);
        self.row.clear();
        done.map_err(|error| ConvertError::io(self.path, error))
    }
}
