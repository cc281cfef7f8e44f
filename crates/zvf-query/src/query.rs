//! The description of a query.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures::future::BoxFuture;
use zvf_store::meta::{Axis, Refinement};
use zvf_store::{Names, Need, Store};

use crate::{BBox, Filter, ObjectPlaces, ObjectRelation, QueryError, Region};

/// A query of one level of a store. All conditions combine with *and*; the default selects all of level 0.
///
/// ```
/// use zvf_query::{BBox, Query};
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// let query = Query { bbox: Some(BBox::parse("0,0,0:10,10,10")?), limit: Some(1000), ..Query::default() };
/// assert_eq!(query.level, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    /// Level number; 0 is full resolution.
    pub level: u32,
    /// Box in world coordinates, inclusive on both sides.
    pub bbox: Option<BBox>,
    /// A region of space; combined with a box by intersection.
    pub region: Option<Region>,
    /// Whole objects by their relation to box and region; replaces [`select`](Self::select). A condition on vertices must then be true for at least
    /// one vertex of the object, anywhere; with [`ObjectRelation::Touching`] for one inside.
    pub relation: Option<ObjectRelation>,
    /// A condition on objects by their relations to several regions. Combined with a box or a region, it selects the rows of these objects there.
    pub passing: Option<ObjectPlaces>,
    /// Object ids, in the order of the answer. A repeated id repeats its output.
    pub objects: Option<Vec<i64>>,
    /// Group numbers: the union of their members, ids ascending.
    pub groups: Option<Vec<u64>>,
    /// Condition on vertices and objects.
    pub filter: Option<Filter>,
    /// Largest number of vertices.
    pub limit: Option<u64>,
    /// Whether the limit may cut the last object of an answer of whole objects ([`Select::Objects`], [`relation`](Self::relation)) at a row. By default,
    /// such an answer ends with the last object that fits.
    pub limit_cuts_objects: bool,
    /// The rows that a match adds to the answer.
    pub select: Select,
    /// Vertex attributes of the answer.
    pub attributes: Names,
    /// Columns of the vertex table, in this order. Empty: position, then the attributes.
    pub columns: Vec<Column>,
    /// Without [`columns`](Self::columns): also `object_id`, if the level has an object index.
    pub owners: bool,
    /// Whether only the level's own data is read. An additive level (`refinement: "add"`) stores only what the next coarser level lacks; by default
    /// a query reads the complete content, from the level and the levels that complete it.
    pub own_level_only: bool,
    /// Whether missing ids are skipped instead of refused.
    pub ignore_missing: bool,
    /// Tables of the answer.
    pub outputs: Outputs,
    /// Only rows of these chunks, of every level that is read. Used by [`splits`](Self::splits); only for the vertex table, and not for whole objects.
    pub chunks: Option<ChunkRange>,
    /// Chunks that may have rows for the caller, in lexicographic order. Others are skipped, as by a box; all are read if rows are found outside
    /// the chunks of their keys (trap T12). Only for the vertex table, and not for whole objects.
    /// See [`chunk_boxes`](crate::chunk_boxes).
    pub within: Option<Arc<Vec<Vec<i64>>>>,
    /// Largest number of rows of one record batch. Default 65 536.
    pub batch_rows: usize,
    /// Decoded bytes in memory at once. Default 64 MiB. Further memory is small compared to the answer: row numbers of partly kept chunks, fragment
    /// indexes, and manifests. Rows that whole objects need later are written to a temporary file.
    pub memory_budget: u64,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            level: 0,
            bbox: None,
            region: None,
            relation: None,
            passing: None,
            objects: None,
            groups: None,
            filter: None,
            limit: None,
            limit_cuts_objects: false,
            select: Select::Vertices,
            attributes: Names::All,
            columns: Vec::new(),
            owners: false,
            own_level_only: false,
            ignore_missing: false,
            outputs: Outputs::default(),
            chunks: None,
            within: None,
            batch_rows: 1 << 16,
            memory_budget: 64 << 20,
        }
    }
}

/// The rows that a match adds to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Select {
    /// The rows that satisfy every condition.
    #[default]
    Vertices,
    /// Whole objects with at least one row that satisfies every condition.
    Objects,
    /// Whole chunks that intersect the box; with a filter, only chunks with at least one row that satisfies it.
    Chunks,
}

impl Select {
    /// The name in text forms.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vertices => "vertices",
            Self::Objects => "objects",
            Self::Chunks => "chunks",
        }
    }
}

impl FromStr for Select {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let all = [Self::Vertices, Self::Objects, Self::Chunks];
        let found = all.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            QueryError::misuse(format!(
                "select: found {text:?}, expected vertices, objects or chunks"
            ))
        })
    }
}

impl Query {
    /// Whether rows are selected by the objects or groups that they belong to, and by no other condition. Then the object of each row is known, and
    /// the owner column is read only for a list of all objects that share a row.
    pub(crate) fn is_by_id_alone(&self) -> bool {
        let by_id = self.objects.is_some() || self.groups.is_some();
        by_id && !self.has_conditions()
    }

    /// Whether rows or objects are selected by position or by a condition, not only by the objects, groups or chunks that they belong to.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        self.is_spatial()
            || self.filter.is_some()
            || self.relation.is_some()
            || self.passing.is_some()
    }

    /// The number of rows of a query of a whole level, as the level's document states it. `None` if the query selects rows, if other levels complete
    /// this one, or if the document states no number. Use it only to show progress: some writers never set the number.
    ///
    /// # Errors
    ///
    /// The errors of reading the level's document.
    pub fn stated_rows<'a>(
        &'a self,
        store: &'a Store,
    ) -> BoxFuture<'a, Result<Option<u64>, QueryError>> {
        Box::pin(async move {
            let some = self.has_conditions()
                || self.objects.is_some()
                || self.groups.is_some()
                || self.limit.is_some()
                || self.chunks.is_some()
                || self.within.is_some();
            if some {
                return Ok(None);
            }
            let level = store.level(self.level, &Need::nothing()).await?;
            let doc = level.doc();
            let alone = self.own_level_only || doc.refinement == Refinement::Replace;
            Ok(Some(doc.vertex_count).filter(|rows| alone && *rows > 0))
        })
    }

    /// Whether rows or objects are selected by position: by a box or a region.
    #[must_use]
    pub fn is_spatial(&self) -> bool {
        self.bbox.is_some() || self.region.is_some()
    }

    /// A box around the intersection of box and region, in a store with these axes; `None` without either.
    ///
    /// # Errors
    ///
    /// Misuse: a region that does not fit the axes.
    pub fn around(&self, axes: &[Axis]) -> Result<Option<BBox>, QueryError> {
        let Some(region) = &self.region else {
            return Ok(self.bbox.clone());
        };
        region.bind(axes)?.bounds(self.bbox.as_ref()).map(Some)
    }
}

/// Consecutive chunks in lexicographic order: from `from`, up to and without `until`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChunkRange {
    /// The first coordinate; `None`: unbounded.
    pub from: Option<Vec<i64>>,
    /// The coordinate after the last one; `None`: unbounded.
    pub until: Option<Vec<i64>>,
}

impl ChunkRange {
    /// Whether a chunk is in the range.
    pub fn contains(&self, chunk: &[i64]) -> bool {
        self.from.as_deref().is_none_or(|from| from <= chunk)
            && self.until.as_deref().is_none_or(|until| chunk < until)
    }
}

/// Tables of the answer. Default: all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outputs {
    /// The vertex table.
    pub vertices: bool,
    /// The link table, if the geometry has links.
    pub links: bool,
    /// The object table, if the level has an object index.
    pub objects: bool,
}

impl Default for Outputs {
    fn default() -> Self {
        Self {
            vertices: true,
            links: true,
            objects: true,
        }
    }
}

/// A column of the vertex table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Column {
    /// `position`: world coordinates, `FixedSizeList<T, D>` of the stored number type.
    Position,
    /// `chunk`: absolute coordinate of the row's chunk, `FixedSizeList<Int64, K>`.
    Chunk,
    /// `row`: number of the row in its chunk's buffer, `UInt64`.
    Row,
    /// `fragment`: lowest fragment of the chunk that contains the row, `UInt64`; null if none does.
    Fragment,
    /// `object_id`: the object (results by object), else the row's first owner, `Int64`; null if no object owns it.
    ObjectId,
    /// `object_ids`: every owner, in object-row order, `List<Int64>`.
    ObjectIds,
    /// All attributes that [`Query::attributes`] selects, by name.
    Attributes,
    /// The attribute of this name. If there is none, the axis of this name, as numbers of the stored type. If there is neither and the name is `geometry`,
    /// the position as a point in well-known binary: type `Binary` with the extension type `geoarrow.wkb`; x, y and z as float64, of stores with two or
    /// three axes of space; null if a coordinate is not a number.
    Attribute(String),
}

impl FromStr for Column {
    type Err = QueryError;

    /// `position`, `chunk`, `row`, `fragment`, `object_id`, `object_ids`, `attributes`; any other text, or the text after `attribute:`, is the name
    /// of an attribute, else of an axis, else `geometry`.
    fn from_str(text: &str) -> Result<Self, QueryError> {
        Ok(match text {
            "position" => Self::Position,
            "chunk" => Self::Chunk,
            "row" => Self::Row,
            "fragment" => Self::Fragment,
            "object_id" => Self::ObjectId,
            "object_ids" => Self::ObjectIds,
            "attributes" => Self::Attributes,
            "" => {
                return Err(QueryError::misuse(
                    "columns: found an empty name, expected some of position, chunk, row, fragment, object_id, object_ids, attributes \
                     and names of attributes",
                ));
            }
            other => Self::Attribute(other.strip_prefix("attribute:").unwrap_or(other).to_owned()),
        })
    }
}

impl fmt::Display for Column {
    /// Writes the form that `from_str` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Position => "position",
            Self::Chunk => "chunk",
            Self::Row => "row",
            Self::Fragment => "fragment",
            Self::ObjectId => "object_id",
            Self::ObjectIds => "object_ids",
            Self::Attributes => "attributes",
            Self::Attribute(name) => return write!(f, "attribute:{name}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_words_or_attributes() {
        assert_eq!("row".parse::<Column>().unwrap(), Column::Row);
        assert_eq!(
            "fa".parse::<Column>().unwrap(),
            Column::Attribute("fa".into())
        );
        assert_eq!(
            "attribute:row".parse::<Column>().unwrap(),
            Column::Attribute("row".into())
        );
        assert!("".parse::<Column>().is_err());
    }

    #[test]
    fn a_range_has_its_first_chunk_and_not_its_end() {
        let range = ChunkRange {
            from: Some(vec![0, 5]),
            until: Some(vec![1, 0]),
        };
        assert!(range.contains(&[0, 5]) && range.contains(&[0, 9]));
        assert!(!range.contains(&[0, 4]) && !range.contains(&[1, 0]));
        assert!(ChunkRange::default().contains(&[-3]));
    }
}
