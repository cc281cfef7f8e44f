//! One benchmark job: the query it asks, and the files that hold its answer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use zvf_query::{BBox, Column, Query, Select, Table};
use zvf_store::Store;

/// World size of a chunk of both stores, along every axis.
const SIDE: f64 = 10.0;

/// Chunks along every axis.
const CHUNKS: i64 = 10;

/// One line from the driver.
pub(crate) struct Job {
    name: String,
    variant: String,
    bbox: Option<BBox>,
    object: Option<i64>,
}

impl Job {
    /// Takes a line apart: `JOB VARIANT [LO HI | ID]`.
    pub(crate) fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let name = words.next().context("no job")?.to_owned();
        let variant = words.next().context("no variant")?.to_owned();
        let rest: Vec<&str> = words.collect();
        let (bbox, object) = match rest.as_slice() {
            [] => (None, None),
            [id] => (None, Some(id.parse()?)),
            [low, high] => (Some(BBox::parse(&format!("{low}:{high}"))?), None),
            _ => bail!("too many arguments in {line}"),
        };
        Ok(Self {
            name,
            variant,
            bbox,
            object,
        })
    }

    /// How it is run: `warm`, `open`, `floor1`, `floor2`.
    pub(crate) fn variant(&self) -> &str {
        &self.variant
    }

    /// Whether it asks the store of points.
    pub(crate) fn is_of_points(&self) -> bool {
        self.name.starts_with("points")
    }

    fn query(&self) -> Query {
        let select = if self.name == "lines-box" {
            Select::Objects
        } else {
            Select::Vertices
        };
        Query {
            bbox: self.bbox.clone(),
            objects: self.object.map(|id| vec![id]),
            select,
            ..Query::default()
        }
    }

    /// Asks the query and takes every batch; returns the number of vertices.
    pub(crate) async fn run(&self, store: &Store) -> Result<u64> {
        let mut answer = zvf_query::query(store, self.query()).await?;
        let mut vertices = 0;
        while let Some((table, batch)) = answer.next().await? {
            if table == Table::Vertices {
                vertices += std::hint::black_box(&batch).num_rows() as u64;
            }
        }
        Ok(vertices)
    }

    /// The files that hold the answer: cells of the chunks concerned, and the object index where objects are.
    pub(crate) async fn files(&self, store: &Store, url: &str) -> Result<Vec<PathBuf>> {
        let level = Path::new(url).join("0");
        let mut files = Vec::new();
        let families: &[&str] = if self.is_of_points() {
            &[
                "vertices",
                "vertex_attributes/intensity",
                "vertex_attributes/label",
            ]
        } else {
            files.push(level.join("object_index/object_ids/c/0"));
            files.push(level.join("object_index/manifests/c/0"));
            &["vertices", "vertex_fragments"]
        };
        for chunk in self.chunks(store).await? {
            for family in families {
                let mut path = level.join(family).join("c");
                path.extend(chunk.iter().map(ToString::to_string));
                files.push(path);
            }
        }
        Ok(files)
    }

    /// Chunks that the box meets, and those of the whole objects of the answer.
    async fn chunks(&self, store: &Store) -> Result<BTreeSet<Vec<i64>>> {
        let mut chunks = BTreeSet::new();
        if self.object.is_none() {
            let span = |axis: usize| match &self.bbox {
                Some(bbox) => (cell(bbox.lo().get(axis)), cell(bbox.hi().get(axis))),
                None => (0, CHUNKS - 1),
            };
            let [x, y, z] = [0, 1, 2].map(span);
            for i in x.0..=x.1 {
                for j in y.0..=y.1 {
                    chunks.extend((z.0..=z.1).map(|k| vec![i, j, k]));
                }
            }
        }
        if self.object.is_some() || self.name == "lines-box" {
            let query = Query {
                columns: vec![Column::Chunk],
                ..self.query()
            };
            let mut answer = zvf_query::query(store, query).await?;
            while let Some((table, batch)) = answer.next().await? {
                if table == Table::Vertices {
                    let list = batch.column(0).as_fixed_size_list();
                    let numbers = list.values().as_primitive::<Int64Type>();
                    let from = list.offset() * 3;
                    chunks.extend(
                        numbers.values()[from..from + 3 * list.len()]
                            .chunks(3)
                            .map(<[i64]>::to_vec),
                    );
                }
            }
        }
        Ok(chunks)
    }
}

/// Chunk number of a coordinate.
fn cell(coordinate: Option<&f64>) -> i64 {
    let number = (coordinate.copied().unwrap_or(0.0) / SIDE).floor();
    // Within the grid, and therefore exact.
    number.clamp(0.0, 9.0) as i64
}
