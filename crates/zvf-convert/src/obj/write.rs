//! OBJ: vertices, then faces or edges.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use zvf_encode::error::OrBug;
use zvf_encode::internal;
use zvf_query::Table;

use crate::export::job::{ALL, BatchReceiver, ExportState};
use crate::export::links::ends;
use crate::export::schemas::ExportSchemas;
use crate::numbers::{Floats, check_finite, floats, positions, put_all, shape, single};
use crate::{ConvertError, Format};

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let mut query = job.rows(false).await?;
    query.outputs = ALL;
    let mut sink = ObjWriter {
        file: job.create()?,
        path: job.path,
        text: String::new(),
        single: [true; 2],
        color: None,
        exact: true,
        vertices: 0,
        links: 0,
        objects: 0,
        schemas: None,
    };
    job.run(query, &mut sink).await?;
    let ObjWriter {
        mut file,
        vertices,
        links,
        objects,
        schemas,
        color,
        exact,
        ..
    } = sink;
    if !exact {
        job.whole_rounded("position");
    }
    file.flush().map_err(|error| job.failed(error))?;
    (job.done.vertices, job.done.links, job.done.objects) = (vertices, links, objects);
    if let Some(schemas) = schemas {
        let kept: Vec<&str> = color.as_deref().into_iter().collect();
        job.tables_lost(&schemas, &kept);
    }
    job.owners_lost(objects);
    Ok(())
}

struct ObjWriter<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    text: String,
    /// Whether positions, and colours, are written with the digits of float32.
    single: [bool; 2],
    color: Option<String>,
    /// Whether float64 represents every coordinate exactly.
    exact: bool,
    vertices: u64,
    links: u64,
    objects: u64,
    schemas: Option<ExportSchemas>,
}

impl ObjWriter<'_> {
    fn vertices(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        let Floats {
            values: positions,
            exact,
        } = positions(batch)?;
        self.exact &= exact;
        check_finite(Format::Obj, &positions, &DataType::Float64)?;
        let colors = match &self.color {
            Some(name) => {
                let column = batch.column_by_name(name);
                floats(column.or_bug("vertices without their colours")?).values
            }
            None => Vec::new(),
        };
        if let Some(bad) = colors.iter().find(|one| !one.is_finite()) {
            let expected = "finite colours: --attributes chooses the attributes of the file";
            return Err(ConvertError::usage("color", bad.to_string(), expected));
        }
        internal!(
            colors.is_empty() || colors.len() == positions.len(),
            "{} numbers of colours, {} of positions",
            colors.len(),
            positions.len()
        );
        // Yields nothing if there are no colours.
        let mut colors = colors.chunks(3);
        let [single, shade] = self.single;
        for position in positions.chunks(3) {
            self.text.push('v');
            put_all(&mut self.text, position, single);
            put_all(&mut self.text, colors.next().unwrap_or_default(), shade);
            self.text.push('\n');
        }
        self.vertices = self.vertices.saturating_add(batch.num_rows() as u64);
        Ok(())
    }

    fn links(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        let (ends, width) = ends(batch)?;
        let word = if width == 2 { 'l' } else { 'f' };
        for link in ends.values().chunks(width.max(1)) {
            self.text.push(word);
            for end in link {
                self.text.push_str(&format!(" {}", end.saturating_add(1)));
            }
            self.text.push('\n');
        }
        self.links = self.links.saturating_add(batch.num_rows() as u64);
        Ok(())
    }
}

impl BatchReceiver for ObjWriter<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        let color = schemas.vertices.field_with_name("color").ok();
        let color =
            color.filter(|field| shape(field.data_type()).is_some_and(|(width, _)| width == 3));
        self.color = color.map(|field| field.name().clone());
        self.single = ["position", "color"].map(|name| single(&schemas.vertices, name));
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => self.vertices(batch)?,
            Table::Links => self.links(batch)?,
            Table::Objects => {
                self.objects = self.objects.saturating_add(batch.num_rows() as u64);
            }
        }
        let done = self.file.write_all(self.text.as_bytes());
        self.text.clear();
        done.map_err(|error| ConvertError::io(self.path, error))
    }
}
