//! From documents to link families.

use std::sync::Arc;

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::keys::format_delta;
use zvf_meta::{LevelDoc, LinkFamilyDoc, RootDoc};

use super::Tree;
use super::build::MISSING;
use super::plan::Family;
use crate::kv::Question;
use crate::links::{LinkArray, LinkAttribute, LinkFamily};
use crate::{Need, StoreError};

/// Type of a link array whose document does not say.
const MISSING_LINK: DType = DType::little(DTypeKind::I64);

impl Tree {
    /// The link families of a level that are wanted and exist.
    pub(super) fn links(
        &self,
        root: &RootDoc,
        level: u32,
        need: &Need,
        key_rank: usize,
        chunk_shape: &[f64],
        more: &mut Vec<Question>,
    ) -> Result<Vec<LinkFamily>, StoreError> {
        let deltas = self
            .deltas_of(&self.state(), level, need)
            .unwrap_or_default();
        let mut families = Vec::new();
        for delta in deltas {
            let folder = format!("{level}/links/{}", format_delta(delta));
            let key = format!("{folder}/zarr.json");
            let Some(bytes) = self.document(&key) else {
                continue;
            };
            let doc =
                LinkFamilyDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
            let mut family = LinkFamily {
                delta,
                doc,
                width: 0,
                arrays: Vec::new(),
                attributes: Vec::new(),
            };
            // A family without policy reads as empty (13.2).
            let (Some(width), Some(rank)) = (family.doc.link_width, family.doc.sid_ndim) else {
                families.push(family);
                continue;
            };
            if usize::try_from(rank) != Ok(key_rank) {
                return Err(StoreError::malformed(
                    key,
                    format!("sid_ndim is {rank}, expected {key_rank}"),
                ));
            }
            if !(1..=255).contains(&width) {
                return Err(StoreError::malformed(
                    key,
                    format!("link_width is {width}, expected 1 to 255"),
                ));
            }
            family.width = usize::try_from(width).unwrap_or(0);
            let anchor = match delta {
                0 => None,
                _ => Some(Arc::new(self.factors(
                    root,
                    level,
                    delta,
                    key_rank,
                    chunk_shape,
                )?)),
            };
            let segments = self
                .segments_of(&self.state(), level, delta)
                .unwrap_or_default();
            for segment in segments {
                let Some(array) =
                    self.grid(&format!("{folder}/{segment}"), MISSING_LINK, key_rank, more)?
                else {
                    continue;
                };
                let anchor = anchor.clone();
                let array = LinkArray::new(
                    segment,
                    array,
                    delta,
                    &family.doc,
                    family.width,
                    key_rank,
                    anchor,
                )?;
                family.arrays.push(array);
            }
            self.link_attributes(level, need, &mut family, key_rank, more)?;
            families.push(family);
        }
        Ok(families)
    }

    fn link_attributes(
        &self,
        level: u32,
        need: &Need,
        family: &mut LinkFamily,
        key_rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let names = self
            .names_of(&self.state(), level, Family::Link, need)?
            .unwrap_or_default();
        let delta = format_delta(family.delta);
        for name in names {
            let mut arrays = Vec::with_capacity(family.arrays.len());
            let mut failed = None;
            for link in &family.arrays {
                let path = format!("{level}/link_attributes/{name}/{delta}/{}", link.segment());
                match self.grid(&path, MISSING, key_rank, more) {
                    Ok(array) => arrays.push(array),
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(error) = failed {
                self.skip(Family::Link, need, error)?;
                continue;
            }
            let Some(first) = arrays.iter().flatten().next() else {
                continue;
            };
            let attributes = first.attributes();
            let width = match &attributes.row_shape {
                Some(shape) => shape
                    .iter()
                    .try_fold(1u64, |n, c| n.checked_mul(*c))
                    .unwrap_or(u64::MAX),
                None => 1,
            };
            let (dtype, unit) = (first.dtype(), attributes.unit.clone());
            if let Some(other) = arrays.iter().flatten().find(|a| a.dtype() != dtype) {
                let error = StoreError::malformed(
                    other.path(),
                    format!(
                        "dtype is {}, but {} in another array of the attribute",
                        other.dtype(),
                        dtype
                    ),
                );
                self.skip(Family::Link, need, error)?;
                continue;
            }
            family.attributes.push(LinkAttribute {
                name,
                dtype,
                width,
                unit,
                arrays,
            });
        }
        Ok(())
    }

    /// Chunk shapes of this level and the target level as multiples of the root's, with leading ones up to K (13.6).
    fn factors(
        &self,
        root: &RootDoc,
        level: u32,
        delta: i32,
        key_rank: usize,
        chunk_shape: &[f64],
    ) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        let base = &root.zarr_vectors.chunk_shape;
        let factors = |shape: &[f64]| -> Vec<i64> {
            let lead = key_rank.saturating_sub(shape.len());
            let ones = std::iter::repeat_n(1, lead);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float saturates, and a factor below 1 is refused"
            )]
            ones.chain(
                shape
                    .iter()
                    .zip(base)
                    .map(|(own, root)| (own / root).round_ties_even() as i64),
            )
            .collect()
        };
        let source = factors(chunk_shape);
        let target = u32::try_from(i64::from(level) + i64::from(delta)).ok();
        let key = target.map(|t| format!("{t}/zarr.json"));
        let target = match key.as_ref().and_then(|key| self.document(key)) {
            None => source.clone(),
            Some(bytes) => {
                let key = key.unwrap_or_default();
                let doc =
                    LevelDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
                factors(&self.chunk_shape(root, &doc, &key)?)
            }
        };
        Ok((source, target))
    }
}
