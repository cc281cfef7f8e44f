//! Tables: one row for each vertex and, in a second file, one for each link.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use flate2::Compression;
use flate2::write::GzEncoder;
use zvf_encode::error::OrBug;
use zvf_query::Table;
use zvf_store::{Names, Need, TypedArray};
use zvf_write::Kind;

use crate::export::chained;
use crate::export::job::{BatchReceiver, ExportState, VERTICES, create};
use crate::export::schemas::{ExportSchemas, attribute};
use crate::frame::SourceHeader;
use crate::output::{ArrowWriter, CsvWriter, NpyRowType, NpyWriter, TableWriter};
use crate::{ConvertError, Format};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let objects = job.store.kind() != Kind::PointCloud || has_objects(job).await?;
    let with_ids = objects && job.format != Format::Npy;
    let mut query = job.rows(with_ids).await?;
    query.outputs = VERTICES;
    if job.format == Format::Npy {
        query.attributes = Names::None;
    }
    let vertices = TableFileWriter::new(
        job.path,
        job.format,
        (job.options.delimiter, job.options.gzip),
        job.create()?,
    );
    let framed = [Format::Arrow, Format::Parquet].contains(&job.format);
    let frame = job
        .frame
        .clone()
        .filter(|frame| framed && frame.is_tractogram());
    job.framed = frame.is_some();
    let mut links = None;
    if let Some(file) = &job.options.links {
        query.outputs.links = true;
        let opened = create(&file.path).map_err(|error| ConvertError::io(&file.path, error))?;
        links = Some(TableFileWriter::new(
            &file.path,
            file.format,
            (file.delimiter, file.gzip),
            opened,
        ));
    }
    let mut sink = Rowwise {
        vertices,
        links,
        frame,
        kept: Vec::new(),
        link_attributes: Vec::new(),
    };
    job.run(query, &mut sink).await?;
    let Rowwise {
        vertices,
        links,
        kept,
        link_attributes,
        ..
    } = sink;
    job.done.vertices = vertices.finish()?;
    let with_links = links.is_some();
    if let Some(links) = links {
        let format = links.format;
        job.done.links = links.finish()?;
        if format == Format::Npy {
            let names = link_attributes.iter().map(String::as_str);
            job.not_kept("attributes of links", names);
        }
    }
    lost(job, &kept, with_links).await
}

/// Whether points belong to objects.
async fn has_objects(job: &ExportState<'_>) -> Result<bool, ConvertError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let level = job.store.level(job.options.query.level, &need).await?;
    Ok(level.object_index().is_some())
}

/// Adds notes on data that a vertex table cannot hold.
async fn lost(job: &mut ExportState<'_>, kept: &[String], links: bool) -> Result<(), ConvertError> {
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
            job.note("the object of each vertex is not kept");
        }
    }
    if !links && !chained(job.kind) && job.kind != Kind::PointCloud {
        job.note("links are not kept: a table has one row for each vertex");
    }
    Ok(())
}

/// Writes one table.
struct TableFileWriter<'a> {
    path: &'a Path,
    format: Format,
    delimiter: u8,
    gzip: bool,
    file: Option<BufWriter<File>>,
    writer: Option<Box<dyn TableWriter + Send>>,
    rows: u64,
}

impl<'a> TableFileWriter<'a> {
    fn new(
        path: &'a Path,
        format: Format,
        (delimiter, gzip): (Option<u8>, bool),
        file: BufWriter<File>,
    ) -> Self {
        Self {
            path,
            format,
            delimiter: delimiter.unwrap_or(b','),
            gzip,
            file: Some(file),
            writer: None,
            rows: 0,
        }
    }

    fn begin(&mut self, schema: &Schema, links: bool) -> Result<(), ConvertError> {
        let failed = |error: io::Error| ConvertError::io(self.path, error);
        let file = self.file.take().or_bug("a table that is begun twice")?;
        self.writer = Some(match self.format {
            Format::Npy => {
                let rows = if links {
                    NpyRowType::of_links(schema)?
                } else {
                    NpyRowType::of(schema)?
                };
                Box::new(NpyWriter::new(file, rows).map_err(failed)?)
            }
            Format::Arrow => Box::new(ArrowWriter::new(file, schema).map_err(failed)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                Box::new(crate::output::ParquetWriter::new(file, schema).map_err(failed)?)
            }
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(ConvertError::not_built(self.path)),
            _ if self.gzip => {
                let file = GzEncoder::new(file, Compression::default());
                let writer = CsvWriter::with_delimiter(file, schema, self.delimiter);
                Box::new(GzipCsvWriter(writer.map_err(failed)?))
            }
            _ => {
                let writer = CsvWriter::with_delimiter(file, schema, self.delimiter);
                Box::new(writer.map_err(failed)?)
            }
        });
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        match &mut self.writer {
            Some(writer) => writer
                .write(batch)
                .map_err(|error| ConvertError::io(self.path, error)),
            None => Ok(()),
        }
    }

    /// Completes the file; returns the number of rows.
    fn finish(self) -> Result<u64, ConvertError> {
        if let Some(writer) = self.writer {
            let done = writer.finish();
            done.map_err(|error| ConvertError::io(self.path, error))?;
        }
        Ok(self.rows)
    }
}

/// Writes separated values to a file compressed with gzip.
struct GzipCsvWriter(CsvWriter<GzEncoder<BufWriter<File>>>);

impl TableWriter for GzipCsvWriter {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.0.write(batch)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.into_inner()?.finish()?.flush()
    }
}

struct Rowwise<'a> {
    vertices: TableFileWriter<'a>,
    links: Option<TableFileWriter<'a>>,
    /// The header that the table of vertices states.
    frame: Option<Arc<SourceHeader>>,
    kept: Vec<String>,
    link_attributes: Vec<String>,
}

impl BatchReceiver for Rowwise<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        let names = schemas.vertices.fields().iter();
        self.kept = names
            .map(|field| attribute(field.name()).to_owned())
            .collect();
        self.link_attributes = schemas.link_attributes().map(str::to_owned).collect();
        match &self.frame {
            Some(frame) => self
                .vertices
                .begin(&frame.in_schema(&schemas.vertices), false)?,
            None => self.vertices.begin(&schemas.vertices, false)?,
        }
        match (&mut self.links, &schemas.links) {
            (Some(links), Some(schema)) => links.begin(schema, true),
            (Some(links), None) => {
                let what = links.path.display().to_string();
                let found = "a level without links";
                Err(ConvertError::usage(what, found, "links"))
            }
            (None, _) => Ok(()),
        }
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match (table, &mut self.links) {
            (Table::Vertices, _) => self.vertices.write(batch),
            (Table::Links, Some(links)) => links.write(batch),
            _ => Ok(()),
        }
    }
}
