//! The attribute that splits chunks in addition to positions. The rank of its value is part of the chunk key, so a row with another value is in another
//! chunk.

use serde_json::Value;
use zvf_meta::space::Grid;

use super::edit::Edit;
use super::ops::{self, Spot};
use super::state::EditState;
use zvf_encode::batches::{Corners, Unkeyed};
use zvf_encode::error::OrBug;
use zvf_encode::{Batch, Values, WriteError, documents};
use zvf_format::int::wide;

impl EditState {
    /// The name of the attribute.
    fn key(&self) -> Option<&str> {
        let one = self.spec.chunk_by.as_ref();
        one.map(|one| one.attribute.name.as_str())
    }

    /// The first component of the chunk key: the rank of the value.
    pub(super) fn lead(&self, slot: u32) -> Result<Option<i64>, WriteError> {
        if self.keys.is_none() {
            return Ok(None);
        }
        let lead = self.coord(slot)?.first().copied();
        Ok(Some(lead.or_bug("a chunk without a key")?))
    }

    /// The values, by rank; `None` if chunks are split only by position.
    pub(super) fn listed(&self) -> Option<&[Value]> {
        Some(self.keys.as_ref()?.values())
    }

    /// Whether there are values that the level does not list yet.
    pub(super) fn is_wider(&self) -> bool {
        let known = self.level.doc().chunk_attribute_values.as_ref();
        self.listed().map(<[Value]>::len) != known.map(Vec::len)
    }

    /// The grid of the level over its bounds.
    pub(super) fn grid(&self, bounds: &Corners) -> Result<Grid, WriteError> {
        let grid = documents::grid(bounds, &self.spec.chunk_shape)?;
        Ok(match self.listed() {
            Some(values) => grid.with_bins(wide(values.len())),
            None => grid,
        })
    }

    /// Adds the new values of a batch. Missing values are reported when rows are placed.
    pub(super) fn learn(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let given = batch.attributes.iter();
        let column = given
            .into_iter()
            .find(|(name, _)| Some(&**name) == self.key());
        match column {
            Some((_, values)) => self.ranks(values).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The ranks of values; new values get ranks after the existing ones.
    fn ranks(&mut self, values: &Values) -> Result<Vec<i64>, WriteError> {
        let name = self.key().or_bug("keys of no attribute")?.to_owned();
        let keys = self.keys.as_mut().or_bug("keys of no attribute")?;
        let learnt = keys.learn(values)?;
        learnt.and_then(|()| keys.codes(values)).map_err(
            |Unkeyed {
                 row,
                 found,
                 expected,
             }| {
                let what = match row {
                    Some(row) => format!("vertex attribute {name}, row {row}"),
                    None => format!("vertex attribute {name}"),
                };
                WriteError::input(what, found, expected)
            },
        )
    }
}

impl Edit {
    /// Whether the attribute of this name splits chunks.
    pub(super) fn is_key(&self, name: &str) -> bool {
        self.state.key() == Some(name)
    }

    /// Sets the values in the array of the attribute, if it is also stored in an array.
    fn set_array(&mut self, spots: &[Spot], values: &Values) -> Result<(), WriteError> {
        let mut arrays = self.state.spec.vertex_attributes.iter();
        let Some(at) = arrays.position(|one| self.is_key(&one.name)) else {
            return Ok(());
        };
        let one = self.state.spec.vertex_attributes.get(at);
        let one = one.or_bug(format_args!("no vertex attribute {at}"))?;
        // These values have the type of the keys.
        let bytes = ops::column_bytes("vertex attribute", one, values, spots.len());
        let bytes = bytes.or_bug("values that are keys, but not of their type")?;
        self.state.set_values(at + 1, spots, &bytes)
    }

    /// Sets values of the attribute: the vertices move to the chunks of these values.
    pub(super) async fn set_key(
        &mut self,
        spots: Vec<Spot>,
        values: &Values,
    ) -> Result<(), WriteError> {
        if values.len() != spots.len() {
            let key = self.state.key().or_bug("keys of no attribute")?;
            let what = format!("vertex attribute {key}");
            let found = format!("{} values", values.len());
            return Err(WriteError::input(what, found, spots.len().to_string()));
        }
        self.load_spots(&spots).await?;
        let mut to = Vec::with_capacity(spots.len());
        for (rank, spot) in self.state.ranks(values)?.into_iter().zip(&spots) {
            let mut chunk = self.state.coord(spot.0)?.to_vec();
            if let Some(lead) = chunk.first_mut() {
                *lead = rank;
            }
            to.push(self.state.slot(&chunk)?);
        }
        self.set_array(&spots, values)?;
        self.relocate(&spots, &to, None).await
    }
}
