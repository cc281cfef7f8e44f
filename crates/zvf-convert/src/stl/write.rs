//! STL: binary triangles by their corners.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use zerocopy::little_endian::{F32, U16, U32};
use zerocopy::{FromZeros, IntoBytes};
use zvf_query::Table;

use super::layout::{StlHead, Triangle};
use crate::export::job::{ALL, BatchReceiver, ExportState};
use crate::export::links::ends;
use crate::export::schemas::ExportSchemas;
use crate::numbers::{Floats, check_finite, positions, rounded};
use crate::{ConvertError, Format, InFile};

/// The text at the start; it must not begin with `solid`, which text files do.
const TITLE: &[u8] = b"binary STL of a Zarr Vectors store";

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let mut query = job.flat(false);
    query.outputs = ALL;
    let mut file = job.create()?;
    let mut head = StlHead::new_zeroed();
    head.title
        .iter_mut()
        .zip(TITLE)
        .for_each(|(byte, letter)| *byte = *letter);
    file.write_all(head.as_bytes())
        .map_err(|error| job.failed(error))?;
    let mut sink = StlWriter {
        file,
        path: job.path,
        limit: job.options.limits.held,
        corners: Vec::new(),
        used: Vec::new(),
        inexact: false,
        faces: 0,
        triangles: 0,
        objects: 0,
        schemas: None,
    };
    job.run(query, &mut sink).await?;
    let Ok(count) = u32::try_from(sink.triangles) else {
        let limit = u64::from(u32::MAX);
        return Err(ConvertError::limit(
            job.path,
            InFile::Whole,
            "triangles",
            limit,
        ));
    };
    let StlWriter {
        mut file,
        corners,
        used,
        inexact,
        faces,
        triangles,
        objects,
        schemas,
        ..
    } = sink;
    head.triangles = U32::new(count);
    file.rewind()
        .and_then(|()| file.write_all(head.as_bytes()))
        .and_then(|()| file.flush())
        .map_err(|error| job.failed(error))?;
    job.done.vertices = corners.len() as u64;
    (job.done.links, job.done.objects) = (triangles, objects);
    if inexact {
        job.note("positions were rounded to float32");
    }
    if triangles > faces {
        job.note(format!(
            "{faces} quads were cut into triangles from their first corner"
        ));
    }
    let loose = used.iter().filter(|used| !**used).count();
    if loose > 0 {
        job.note(format!("{loose} vertices without a face are not kept"));
    }
    if let Some(schemas) = schemas {
        job.tables_lost(&schemas, &[]);
    }
    job.owners_lost(objects);
    Ok(())
}

struct StlWriter<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    limit: u64,
    corners: Vec<[f32; 3]>,
    /// Whether a face has the vertex.
    used: Vec<bool>,
    inexact: bool,
    faces: u64,
    triangles: u64,
    objects: u64,
    schemas: Option<ExportSchemas>,
}

impl StlWriter<'_> {
    fn corner(&mut self, vertex: u64) -> Result<[f32; 3], ConvertError> {
        let at = usize::try_from(vertex).unwrap_or(usize::MAX);
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
        let corner = self.corners.get(at).copied();
        corner.ok_or_else(|| {
            let found = format!("a face with vertex {vertex}");
            let expected = format!("one of {}", self.corners.len());
            ConvertError::malformed(self.path, InFile::Whole, found, expected)
        })
    }

    fn triangle(&mut self, ends: [u64; 3]) -> Result<(), ConvertError> {
        let [a, b, c] = ends;
        let corners = [self.corner(a)?, self.corner(b)?, self.corner(c)?];
        let numbers = corners.concat();
        let numbers: Vec<f64> = numbers.into_iter().map(f64::from).collect();
        check_finite(Format::Stl, &numbers, &DataType::Float32)?;
        let triangle = Triangle {
            normal: normal(&corners).map(F32::new),
            corners: corners.map(|corner| corner.map(F32::new)),
            attribute: U16::new(0),
        };
        self.triangles = self.triangles.saturating_add(1);
        self.file
            .write_all(triangle.as_bytes())
            .map_err(|error| ConvertError::io(self.path, error))
    }
}

/// The unit normal of a triangle; zero for a degenerate one.
fn normal(corners: &[[f32; 3]; 3]) -> [f32; 3] {
    let [a, b, c] = corners.map(|corner| corner.map(f64::from));
    let [ax, ay, az] = a;
    let ([ux, uy, uz], [vx, vy, vz]) = (b, c);
    let (u, v) = ((ux - ax, uy - ay, uz - az), (vx - ax, vy - ay, vz - az));
    let n = [
        u.1 * v.2 - u.2 * v.1,
        u.2 * v.0 - u.0 * v.2,
        u.0 * v.1 - u.1 * v.0,
    ];
    let length = n.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length > 0.0 && length.is_finite() {
        n.map(|value| rounded(value / length).0)
    } else {
        [0.0; 3]
    }
}

impl BatchReceiver for StlWriter<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => {
                let Floats {
                    values: positions,
                    exact,
                } = positions(batch)?;
                self.inexact |= !exact;
                for position in positions.chunks_exact(3) {
                    let mut corner = [0.0; 3];
                    for (slot, &value) in corner.iter_mut().zip(position) {
                        let (near, exact) = rounded(value);
                        *slot = near;
                        self.inexact |= !exact;
                    }
                    self.corners.push(corner);
                    self.used.push(false);
                }
                if self.corners.len() as u64 > self.limit {
                    let what = "vertices of an STL file";
                    return Err(ConvertError::limit(
                        self.path,
                        InFile::Whole,
                        what,
                        self.limit,
                    ));
                }
            }
            Table::Links => {
                let (ends, width) = ends(batch)?;
                for face in ends.values().chunks(width.max(1)) {
                    self.faces = self.faces.saturating_add(1);
                    if let Some((&first, rest)) = face.split_first() {
                        for pair in rest.windows(2) {
                            if let &[second, third] = pair {
                                self.triangle([first, second, third])?;
                            }
                        }
                    }
                }
            }
            Table::Objects => {
                self.objects = self.objects.saturating_add(batch.num_rows() as u64);
            }
        }
        Ok(())
    }
}
