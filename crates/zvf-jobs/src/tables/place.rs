//! Converts positions of tables to the units of a store, and applies the map of the import that made the store.

use futures::FutureExt;
use futures::future::BoxFuture;
use zvf_convert::{Options, PositionConversion, StoreFrame};
use zvf_store::Store;
use zvf_write::arrow::stated_axes;

use super::both::EditTables;
use super::table::EditTable;
use crate::PlaceOptions;
use crate::error::Result;

/// The frame of a store, and the options for positions in files.
#[derive(Debug)]
pub(crate) struct EditPlace {
    frame: StoreFrame,
    given: Options,
}

impl EditPlace {
    /// Reads the frame of a store.
    ///
    /// # Errors
    ///
    /// The errors of the store.
    pub(crate) fn of<'a>(
        store: &'a Store,
        options: &'a PlaceOptions,
    ) -> BoxFuture<'a, Result<Self>> {
        async move {
            let frame = StoreFrame::of_store(store).await?;
            let mut given = Options::default();
            options.apply(&mut given);
            Ok(Self { frame, given })
        }
        .boxed()
    }

    /// The options to read files that are not tables into the store.
    #[must_use]
    pub(crate) fn options(&self) -> Options {
        let mut options = self.given.clone();
        options.into = Some(self.frame.clone());
        options
    }

    /// Converts the positions of new vertices; returns notes for the user.
    ///
    /// # Errors
    ///
    /// Usage: units that cannot be converted, options that do not fit.
    pub(crate) fn new_vertices(&self, tables: &mut EditTables) -> Result<Vec<String>> {
        let placed = self
            .frame
            .place_table(&tables.vertices.schema(), &self.given)?;
        Ok(take(&mut tables.vertices, placed))
    }

    /// A note if the tables state no frame and the options do not map positions; `None` if the store has no frame.
    pub(crate) fn unstated_frame(&self, tables: &EditTables) -> Option<String> {
        let given = &self.given;
        let mapped = given.unit.is_some() || given.scale.is_some() || given.affine.is_some();
        let schema = tables.vertices.schema();
        self.frame.unstated_by(&schema).filter(|_| !mapped)
    }

    /// Converts a table of vertices to the units of the store. If the table states no units, its positions are assumed to be in the units of the
    /// store; if the import that made the store mapped positions, a note states that the positions of the table are not mapped.
    ///
    /// # Errors
    ///
    /// Usage: units that cannot be converted.
    pub(crate) fn stored_vertices(&self, table: &mut EditTable) -> Result<Vec<String>> {
        let schema = table.schema();
        let placed = self.frame.place_table(&schema, &Options::default());
        if stated_axes(&schema)?.is_some() {
            return Ok(take(table, placed?));
        }
        let mapped = placed.is_ok_and(|placed| placed.map.is_some());
        let note = format!(
            "{}: positions are read in the frame of the store; `append` would map them like the import of the store",
            table.name()
        );
        Ok(mapped.then_some(note).into_iter().collect())
    }
}

fn take(table: &mut EditTable, mut placed: PositionConversion) -> Vec<String> {
    let remarks = std::mem::take(&mut placed.remarks);
    table.place(placed);
    remarks
}
