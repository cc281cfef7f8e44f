//! Tables: a row a vertex.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use zvf_query::Table;
use zvf_store::{Names, Need, TypedArray};
use zvf_write::Kind;

use super::{Batches, Job, Schemas, VERTICES, attribute, chained};
use crate::output::{ArrowWriter, CsvWriter, NpyWriter, Rows, TableWriter};
use crate::{ConvertError, Format};

pub(super) async fn write(job: &mut Job<'_>) -> Result<(), ConvertError> {
    let objects = job.store.kind() != Kind::PointCloud || has_objects(job).await?;
    let with_ids = objects && job.format != Format::Npy;
    let grouped = if chained(job.kind) {
        job.by_object(with_ids).await?
    } else {
        None
    };
    let mut query = match grouped {
        Some(query) => query,
        None => job.flat(with_ids),
    };
    query.outputs = VERTICES;
    if job.format == Format::Npy {
        query.attributes = Names::None;
    }
    let mut sink = Rowwise {
        format: job.format,
        delimiter: job.options.delimiter.unwrap_or(b','),
        path: job.path,
        file: Some(job.create()?),
        writer: None,
        rows: 0,
        kept: Vec::new(),
    };
    job.run(query, &mut sink).await?;
    let Rowwise {
        writer, rows, kept, ..
    } = sink;
    if let Some(writer) = writer {
        writer.finish().map_err(|error| job.failed(error))?;
    }
    job.done.vertices = rows;
    lost(job, &kept).await
}

/// Whether points belong to objects.
async fn has_objects(job: &Job<'_>) -> Result<bool, ConvertError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let level = job.store.level(job.options.query.level, &need).await?;
    Ok(level.object_index().is_some())
}

/// Names what a table of vertices has no place for.
async fn lost(job: &mut Job<'_>, kept: &[String]) -> Result<(), ConvertError> {
    let need = Need {
        vertex_attributes: Names::All,
        object_attributes: Names::All,
        objects: true,
        ..Need::nothing()
    };
    let level = job.store.level(job.options.query.level, &need).await?;
    let names = |list: &[TypedArray]| -> Vec<String> {
        list.iter().map(|array| array.name().to_owned()).collect()
    };
    let objects = names(level.object_attributes());
    job.not_kept("attributes of objects", objects.iter().map(String::as_str));
    if job.format == Format::Npy {
        let vertices = level.vertex_attributes().iter();
        let vertices: Vec<&str> = vertices
            .map(|attribute| attribute.name.as_str())
            .filter(|name| !kept.iter().any(|kept| kept == name))
            .collect();
        job.not_kept("attributes of vertices", vertices.into_iter());
        if level.object_index().is_some() {
            job.note("which object a vertex belongs to is not kept");
        }
    }
    if !chained(job.kind) && job.kind != Kind::PointCloud {
        job.note("links are not kept: a table has a row a vertex");
    }
    Ok(())
}

struct Rowwise<'a> {
    format: Format,
    delimiter: u8,
    path: &'a Path,
    file: Option<BufWriter<File>>,
    writer: Option<Box<dyn TableWriter>>,
    rows: u64,
    kept: Vec<String>,
}

impl Rowwise<'_> {
    fn begin(&mut self, schema: &Schema) -> Result<Box<dyn TableWriter>, ConvertError> {
        let failed = |error: io::Error| ConvertError::io(self.path, error);
        let Some(file) = self.file.take() else {
            return Err(failed(io::Error::other("a second answer")));
        };
        Ok(match self.format {
            Format::Npy => {
                let rows = Rows::of(schema)?;
                Box::new(NpyWriter::new(file, rows).map_err(failed)?)
            }
            Format::Arrow => Box::new(ArrowWriter::new(file, schema).map_err(failed)?),
            _ => {
                let writer = CsvWriter::with_delimiter(file, schema, self.delimiter);
                Box::new(writer.map_err(failed)?)
            }
        })
    }
}

impl Batches for Rowwise<'_> {
    fn schemas(&mut self, schemas: &Schemas) -> Result<(), ConvertError> {
        let names = schemas.vertices.fields().iter();
        self.kept = names
            .map(|field| attribute(field.name()).to_owned())
            .collect();
        self.writer = Some(self.begin(&schemas.vertices)?);
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        if table != Table::Vertices {
            return Ok(());
        }
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        match &mut self.writer {
            Some(writer) => writer
                .write(batch)
                .map_err(|error| ConvertError::io(self.path, error)),
            None => Ok(()),
        }
    }
}
