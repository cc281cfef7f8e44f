//! Compares vertices that belong to no object, and their links, in stores with objects.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use zvf_store::{Need, Store};

use super::hashes::{self, RowSets, hash};
use super::{Comparison, Pair, add, ids, schemas, text, whole_level};
use crate::error::OrBug;
use crate::prepare::may_be_unowned;
use crate::{Query, QueryError, Table, numbers};

impl Pair<'_> {
    /// Compares vertices that belong to no object by their values, and links of such vertices by the values of all ends. Does nothing if the kind of a
    /// store does not allow such vertices. Does nothing if a store has no object index, either: all its vertices are compared by their values elsewhere.
    pub(super) async fn unowned(&mut self, found: &mut Comparison) -> Result<(), QueryError> {
        for (_, store) in self.stores {
            if !may_be_unowned(store.kind()) || !has_objects(store, self.level).await? {
                return Ok(());
            }
        }
        let (mut vertices, mut links) = (RowSets::new(), RowSets::new());
        let mut first = true;
        loop {
            let mut answers = Vec::new();
            for (of, store) in self.stores {
                let all = Query {
                    objects: None,
                    ..whole_level(store, self.level).await?
                };
                answers.push((of, crate::query(store, all).await?));
            }
            // Differences between the columns were already reported with the vertices of objects.
            let mut ignored = Comparison::default();
            let of_vertices = schemas(&answers, Table::Vertices);
            let mut columns = self.columns(&mut ignored, "vertices", &of_vertices);
            // The `object_id` of a vertex that several objects share is the id of the first object, which depends on the order of the objects.
            columns.retain(|name| name != "object_id");
            let links_of = schemas(&answers, Table::Links);
            let mut of_links = self.columns(&mut ignored, "links", &links_of);
            of_links.retain(|name| name != "vertices");
            for (of, mut answer) in answers {
                // For each row, the hash of the values of the vertex, and whether the vertex belongs to no object.
                let mut ends: Vec<(u64, bool)> = Vec::new();
                while let Some((table, batch)) = answer.next().await? {
                    if table == Table::Vertices {
                        let values = hashes::rows(&batch, &columns)?.into_iter();
                        for (row, (values, id)) in values.zip(ids(&batch)?).enumerate() {
                            ends.push((values, id.is_none()));
                            if id.is_none() {
                                vertices.add(of, hash(&values), || {
                                    (String::new(), text(&batch, row, &columns))
                                })?;
                            }
                        }
                    } else if table == Table::Links {
                        let column = batch.column_by_name("vertices");
                        let (items, width) =
                            numbers::elements(column.or_bug("links without vertices")?);
                        let items = items.as_primitive_opt::<UInt64Type>();
                        let items = items.or_bug("links of no rows")?.values();
                        let values = hashes::rows(&batch, &of_links)?;
                        let rows = items.chunks(width.max(1)).zip(values).enumerate();
                        for (row, (rows, values)) in rows {
                            let own = rows
                                .iter()
                                .map(|row| ends.get(usize::try_from(*row).ok()?).copied());
                            let own = own.collect::<Option<Vec<(u64, bool)>>>();
                            let own = own.or_bug("a link of rows that are not returned")?;
                            if own.iter().any(|(_, unowned)| *unowned) {
                                links.add(of, hash(&(own, values)), || {
                                    (String::new(), text(&batch, row, &["vertices".to_owned()]))
                                })?;
                            }
                        }
                    }
                }
            }
            if !first || vertices.same() && links.same() {
                break;
            }
            vertices.begin_second_pass();
            links.begin_second_pass();
            first = false;
        }
        add(&mut found.vertices, vertices.counts());
        add(&mut found.links, links.counts());
        if !vertices.same() {
            found.rows(vertices, self.level, "vertices of no object")?;
        }
        if !links.same() {
            found.rows(
                links,
                self.level,
                "links of vertices of no object, by rows of its vertex table",
            )?;
        }
        Ok(())
    }
}

/// Whether a level has an object index.
async fn has_objects(store: &Store, level: u32) -> Result<bool, QueryError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let level = store.level(level, &need).await?;
    Ok(level.object_index().is_some())
}
