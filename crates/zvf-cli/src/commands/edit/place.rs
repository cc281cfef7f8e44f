//! Positions of tables on their way into a store: its units, and the map with which it was made.

use zvf_convert::{Options, Placed, StoreFrame};
use zvf_store::Need;
use zvf_write::arrow::stated_axes;

use super::Tables;
use super::table::Table;
use crate::args::PlaceArgs;
use crate::context::Context;
use crate::error::Result;

/// The frame of a store, and the options about the files.
#[derive(Debug)]
pub(super) struct Place {
    frame: StoreFrame,
    given: Options,
}

impl Place {
    /// # Errors
    ///
    /// As the store says.
    pub(super) fn of(store: &str, args: &PlaceArgs, context: &mut Context<'_>) -> Result<Self> {
        let opened = context.open(store, 0, Need::nothing())?;
        let frame = context.wait_at(store, StoreFrame::of_store(&opened))?;
        let mut given = Options::default();
        args.set(&mut given);
        Ok(Self { frame, given })
    }

    /// Options with which files of other formats are read into the store.
    pub(super) fn options(self) -> Options {
        let mut options = self.given;
        options.into = Some(self.frame);
        options
    }

    /// Places new vertices; remarks for people.
    ///
    /// # Errors
    ///
    /// Usage: units that cannot be converted, options that do not fit.
    pub(super) fn new_vertices(&self, tables: &mut Tables) -> Result<Vec<String>> {
        let placed = self
            .frame
            .place_table(&tables.vertices.schema(), &self.given)?;
        Ok(take(&mut tables.vertices, placed))
    }

    /// Converts a table of vertices to the units of the store. A table that states no units is taken to be in the store's.
    ///
    /// # Errors
    ///
    /// Usage: units that cannot be converted.
    pub(super) fn stored_vertices(&self, table: &mut Table) -> Result<Vec<String>> {
        let schema = table.schema();
        if stated_axes(&schema)?.is_none() {
            return Ok(Vec::new());
        }
        let placed = self.frame.place_table(&schema, &Options::default())?;
        Ok(take(table, placed))
    }
}

fn take(table: &mut Table, mut placed: Placed) -> Vec<String> {
    let remarks = std::mem::take(&mut placed.remarks);
    table.place(placed);
    remarks
}
