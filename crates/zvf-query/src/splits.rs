//! Splits a query into pieces that can run anywhere, with each row in exactly one of them.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use zvf_store::{IoError, Level, Names, Need, Store, StoreError};

use crate::error::OrBug;
use crate::object_ids::ids_of;
use crate::object_relation::resolve;
use crate::plan::chunks::ChunkTable;
use crate::prepare::chain;
use crate::{Answer, ChunkRange, Column, Outputs, PieceOf, Query, QueryError, QuerySpec};
use zvf_store::format::int;

/// The size of the pieces of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// This number of pieces; some are empty if there are fewer chunks or objects.
    Count(u32),
    /// About this number of rows in each, estimated from documents.
    Rows(u64),
    /// About this number of decoded bytes in each, estimated from documents.
    Bytes(u64),
}

/// One piece of a query. It can be serialized, and run by any program with access to the store.
///
/// Queries in chunk order are split by chunk. Their pieces have only the vertex table, because objects and links extend over several pieces. Queries of
/// whole objects are split by id. Their pieces have the objects with their vertices, and links for kinds whose links are inside objects: lines,
/// polylines, streamlines and skeletons. `start` of an object and the ends of a link are rows of the vertex table of the piece.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Split {
    /// Address of the store.
    pub url: String,
    /// The number of the piece, from 0.
    pub number: u32,
    /// The number of pieces.
    pub count: u32,
    /// Rows of the vertex table, estimated from documents; a condition may leave fewer.
    pub rows: u64,
    /// Decoded bytes of these rows.
    pub bytes: u64,
    /// The documents from which the plan is made, with their ETags; without an ETag if the backend has none.
    pub documents: BTreeMap<String, Option<String>>,
    query: QuerySpec,
}

impl Query {
    /// Splits the query into pieces so that every row of its answer is in exactly one of them.
    ///
    /// # Cost
    ///
    /// The documents of the level; for objects also the table of ids. Conditions on objects are evaluated first, at their cost in a
    /// query.
    ///
    /// # Errors
    ///
    /// Misuse: a limit, because its rows are unknown before they are read; [`Query::within`]; a target of 0. Limit: more than 2^20 pieces by count (pieces by rows or
    /// bytes become larger instead). The errors of [`query`](crate::query) for levels and objects that do not exist.
    pub fn splits<'a>(
        &'a self,
        store: &'a Store,
        target: Target,
    ) -> BoxFuture<'a, Result<Vec<Split>, QueryError>> {
        Box::pin(async move {
            if self.limit.is_some() {
                return Err(QueryError::misuse(
                    "a query with a limit has no splits: the rows within a limit are known only when they are read",
                ));
            }
            if self.within.is_some() {
                return Err(QueryError::misuse(
                    "a query within given chunks has no splits: the chunks are not part of a split",
                ));
            }
            if matches!(
                target,
                Target::Count(0) | Target::Rows(0) | Target::Bytes(0)
            ) {
                return Err(QueryError::misuse(
                    "found splits of size 0, expected at least 1",
                ));
            }
            if let Target::Count(count) = target
                && u64::from(count) > MOST
            {
                let place = crate::Place::default();
                return Err(QueryError::limit(place, "splits", u64::from(count), MOST));
            }
            if let Some(found) = self.of_objects(store).await? {
                return found.splits(store, target).await;
            }
            let need = Need {
                vertex_attributes: self.attributes.clone(),
                objects: true,
                ..Need::default()
            };
            let levels = chain(store, self.level, self.own_level_only, &need).await?;
            let pieces = if self.is_by_object() {
                self.by_object(&levels, target).await?
            } else {
                self.by_chunk(&levels, target)
            };
            let documents = tags(store, &levels);
            let count = u32::try_from(pieces.len()).ok().or_bug("too many pieces")?;
            let split = |(number, (asked, rows)): (u32, (QuerySpec, u64))| Split {
                url: store.url().to_owned(),
                number,
                count,
                rows,
                bytes: rows.saturating_mul(row_bytes(&levels)),
                documents: documents.clone(),
                query: asked,
            };
            Ok((0..).zip(pieces).map(split).collect())
        })
    }

    /// One piece of the query.
    ///
    /// # Errors
    ///
    /// As [`splits`](Self::splits); [`IoError::SourceChanged`]: the piece has the tag of another state of the store.
    pub fn piece<'a>(
        &'a self,
        store: &'a Store,
        piece: PieceOf,
    ) -> BoxFuture<'a, Result<Self, QueryError>> {
        Box::pin(async move {
            piece.check(store)?;
            let splits = self.splits(store, Target::Count(piece.count)).await?;
            let found = splits.iter().find(|one| one.number == piece.number);
            let found = found.ok_or_else(|| {
                let count = splits.len();
                QueryError::misuse(format!(
                    "split: found {piece}, expected one of {count} pieces"
                ))
            })?;
            let budget = self.memory_budget;
            Ok(Self {
                memory_budget: budget,
                ..found.query()?
            })
        })
    }

    /// The query with conditions on objects replaced by ids; `None` if there are none.
    async fn of_objects(&self, store: &Store) -> Result<Option<Self>, QueryError> {
        let found = resolve(store, self.clone(), &mut Vec::new()).await?;
        let changed = found.filter != self.filter
            || found.objects != self.objects
            || found.relation != self.relation
            || found.passing != self.passing;
        Ok(changed.then_some(found))
    }

    fn by_chunk(&self, levels: &[Level], target: Target) -> Vec<(QuerySpec, u64)> {
        let range = self.chunks.clone().unwrap_or_default();
        // The chunks that the query reads, of all levels, by coordinate.
        let mut chunks: Vec<(Vec<i64>, u64)> = Vec::new();
        for level in levels {
            let presence = level.vertices().presence();
            let per = rows_of(level) / int::wide(presence.len()).max(1);
            let table = ChunkTable::new(level.key_rank(), presence.iter());
            for chunk in table.iter().flat_map(ChunkTable::iter) {
                if range.contains(chunk) {
                    chunks.push((chunk.to_vec(), per));
                }
            }
        }
        chunks.sort();
        // Several levels of a chain may have chunks with the same coordinate.
        chunks.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0 };
            same
        });
        let rows = chunks.iter().map(|(_, rows)| *rows).sum();
        let count = pieces(target, rows, row_bytes(levels));
        let bound = |number: usize| chunks.len().saturating_mul(number) / count.max(1);
        // `None` if the query reads no chunk at all.
        let coord = |number: usize| Some(chunks.get(bound(number))?.0.clone());
        let piece = |number: usize| {
            let next = number.saturating_add(1);
            let own = chunks.get(bound(number)..bound(next)).unwrap_or(&[]);
            let mut asked = self.spec();
            // The first and the last piece end where the query does, so that every chunk is in a piece.
            let (from, until) = (number > 0, next < count);
            asked.chunks = Some(ChunkRange {
                from: coord(number)
                    .filter(|_| from)
                    .or_else(|| range.from.clone()),
                until: coord(next)
                    .filter(|_| until)
                    .or_else(|| range.until.clone()),
            });
            asked.tables = Outputs {
                vertices: true,
                links: false,
                objects: false,
            };
            (asked, own.iter().map(|(_, rows)| *rows).sum())
        };
        (0..count).map(piece).collect()
    }

    async fn by_object(
        &self,
        levels: &[Level],
        target: Target,
    ) -> Result<Vec<(QuerySpec, u64)>, QueryError> {
        let mut all = ids_of(levels, self.level).await?;
        let rows: u64 = levels.iter().map(rows_of).sum();
        let per = rows.div_ceil(int::wide(all.len()).max(1));
        if let Some(asked) = &self.objects {
            all.clone_from(asked);
        } else if self.groups.is_some() {
            all.sort_unstable();
        }
        let rows = per.saturating_mul(int::wide(all.len()));
        let count = pieces(target, rows, row_bytes(levels));
        let inside = matches!(
            levels.first().map(|level| level.store().kind()),
            Some(
                zvf_store::meta::Kind::Line
                    | zvf_store::meta::Kind::Polyline
                    | zvf_store::meta::Kind::Streamline
                    | zvf_store::meta::Kind::Skeleton
            )
        );
        let bound = |number: usize| all.len().saturating_mul(number) / count.max(1);
        let piece = |number: usize| {
            let ids = all.get(bound(number)..bound(number.saturating_add(1)));
            let ids = ids.unwrap_or(&[]);
            let mut asked = self.spec();
            asked.objects = Some(ids.to_vec().into());
            asked.tables.links &= inside;
            (asked, per.saturating_mul(int::wide(ids.len())))
        };
        Ok((0..count).map(piece).collect())
    }
}

impl Split {
    /// The query of the piece.
    ///
    /// # Errors
    ///
    /// Misuse: a piece that was changed and is invalid.
    pub fn query(&self) -> Result<Query, QueryError> {
        if self.query.chunks.is_none() && self.query.objects.is_none() {
            return Err(QueryError::misuse(
                "split: found neither chunks nor objects, expected those of a piece",
            ));
        }
        self.query.plain()
    }

    /// The same piece with other columns of the vertex table; empty: position, then all attributes.
    #[must_use]
    pub fn with_columns(mut self, columns: &[Column]) -> Self {
        self.query.attributes = Names::All;
        self.query.columns = columns.to_vec();
        self
    }

    /// The same piece without the tables of links and objects.
    #[must_use]
    pub fn vertices_only(mut self) -> Self {
        self.query.tables = Outputs {
            vertices: true,
            links: false,
            objects: false,
        };
        self
    }

    /// Runs the piece.
    ///
    /// # Errors
    ///
    /// The store changed after the split: [`IoError::SourceChanged`]. The errors of [`query`](crate::query).
    pub fn run<'a>(&'a self, store: &'a Store) -> BoxFuture<'a, Result<Answer, QueryError>> {
        Box::pin(async move {
            let query = self.query()?;
            let need = Need {
                objects: true,
                ..Need::default()
            };
            let levels = chain(store, query.level, query.own_level_only, &need).await?;
            let now = tags(store, &levels);
            for (key, tag) in &self.documents {
                let same = match now.get(key) {
                    Some(now) => now.is_none() || tag.is_none() || now == tag,
                    None => false,
                };
                if !same {
                    let text = |tag: Option<&Option<String>>| match tag {
                        Some(Some(tag)) => format!("tag {tag}"),
                        Some(None) => "no tag".to_owned(),
                        None => "not there".to_owned(),
                    };
                    return Err(QueryError::Store(StoreError::Io(IoError::SourceChanged {
                        key: key.clone(),
                        first: text(Some(tag)),
                        now: text(now.get(key)),
                    })));
                }
            }
            crate::query(store, query).await
        })
    }
}

/// The documents of the root and of levels with their tags.
fn tags(store: &Store, levels: &[Level]) -> BTreeMap<String, Option<String>> {
    let mut wanted: Vec<String> = vec!["zarr.json".to_owned(), ".zattrs".to_owned()];
    for level in levels {
        wanted.push(format!("{}/zarr.json", level.number()));
        wanted.push(format!("{}/.zattrs", level.number()));
    }
    let documents = store.documents().into_iter();
    documents.filter(|(key, _)| wanted.contains(key)).collect()
}

pub(crate) fn rows_of(level: &Level) -> u64 {
    match level.doc().vertex_count {
        // Some writers leave the count at zero.
        0 => int::wide(level.vertices().presence().len()).saturating_mul(4096),
        count => count,
    }
}

/// Bytes of a row of the vertex table.
fn row_bytes(levels: &[Level]) -> u64 {
    let Some(level) = levels.first() else {
        return 1;
    };
    let position = level.vertices().dtype().size().saturating_mul(level.dims());
    let attributes = level.vertex_attributes().iter().map(|attribute| {
        let width = attribute.declared_width.unwrap_or(1);
        width.saturating_mul(int::wide(attribute.dtype.size()))
    });
    int::wide(position).saturating_add(attributes.fold(0, u64::saturating_add))
}

/// Most pieces of one query.
const MOST: u64 = 1 << 20;

fn pieces(target: Target, rows: u64, row_bytes: u64) -> usize {
    let count = match target {
        Target::Count(count) => u64::from(count),
        Target::Rows(most) => rows.div_ceil(most.max(1)),
        Target::Bytes(most) => rows.saturating_mul(row_bytes).div_ceil(most.max(1)),
    };
    usize::try_from(count.clamp(1, MOST)).unwrap_or(usize::MAX)
}
