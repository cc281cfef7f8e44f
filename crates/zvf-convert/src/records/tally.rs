//! Counts the vertices and objects of all files in the first pass.

use std::collections::HashSet;
use std::path::Path;

use zvf_write::Kind;

use crate::error::{ConvertError, InFile, shown};
use crate::ids::IdMap;
use crate::options::Options;
use crate::shape::VertexExtent;

/// Vertices and objects that were counted.
#[derive(Debug)]
pub(crate) struct VertexTally {
    pub(crate) extent: VertexExtent,
    /// The largest allowed number of vertices.
    most: u64,
    /// Whether the rows of an object must be consecutive.
    chain: bool,
    /// The ids of the objects in the store.
    pub(crate) ids: HashSet<i64>,
    map: IdMap,
    /// The current file.
    file: usize,
    last: Option<i64>,
    /// The column of objects, as error messages name it.
    column: String,
}

impl VertexTally {
    pub(crate) fn new(axes: usize, linked: Option<Kind>, map: IdMap, options: &Options) -> Self {
        let kind = kind_of(options, linked);
        Self {
            extent: VertexExtent::new(axes),
            most: options.limits.vertices,
            chain: matches!(kind, Kind::Polyline | Kind::Streamline),
            ids: HashSet::new(),
            map,
            file: 0,
            last: None,
            column: match &options.object_column {
                Some(name) => format!("column {}", shown(name)),
                None => "the column of objects".to_owned(),
            },
        }
    }

    /// Fails if there are more vertices than allowed.
    pub(crate) fn check(&self, file: &Path, place: InFile) -> Result<(), ConvertError> {
        match self.extent.count() > self.most {
            true => Err(ConvertError::limit(file, place, "rows", self.most)),
            false => Ok(()),
        }
    }

    /// Begins a file; `file` is its index.
    pub(crate) fn begin(&mut self, file: usize) {
        self.file = file;
        self.last = None;
    }

    /// Counts the object of a row; the error has the texts after `found` and `expected`.
    pub(crate) fn object(&mut self, id: i64) -> Result<(), (String, String)> {
        if self.last != Some(id) && !self.ids.insert(self.map.id(self.file, id)?) && self.chain {
            let expected = format!(
                "the rows of an object one after another: sort the rows by {}",
                self.column
            );
            return Err((
                format!("rows of object {id} before and after those of others"),
                expected,
            ));
        }
        self.last = Some(id);
        Ok(())
    }
}

/// The requested kind, else the one that links imply, else points.
pub(crate) fn kind_of(options: &Options, linked: Option<Kind>) -> Kind {
    let usual = options.linked().and_then(|kinds| kinds.first().copied());
    let kind = options.kind.or(linked).or(usual);
    kind.unwrap_or(Kind::PointCloud)
}
