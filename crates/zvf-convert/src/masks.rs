//! Masks: voxels of a volume as regions of a store.

use futures::future::BoxFuture;
use zvf_meta::{Affine, Axis};
use zvf_query::Region;
use zvf_store::{IoOptions, Store};
use zvf_volume::{AxisUse, Volume, VolumePlacement};

use crate::regions::{MaskSource, refused};
use crate::{ConvertError, SourceHeader, stated_affine};

/// The voxels of a volume as a region of one store, with notes for the user. A position belongs to the element that contains it, and the volume
/// is placed, as when it is sampled with order nearest: units are converted, and positions that are stored in TrackVis voxel millimetres are
/// converted to scanner millimetres.
///
/// # Cost
///
/// The volume is read once, 64 MiB at a time; for the memory of the region see [`Region::mask`].
///
/// # Errors
///
/// Misuse: a volume of more than three axes in space, or of several times or channels; ranges without a label that occurs; a volume of zeros; axes,
/// units or a frame that do not fit. Limit: more runs than a mask can have. I/O and malformed volumes.
pub fn mask_region<'a>(
    store: &'a Store,
    source: &'a MaskSource,
    io: &'a IoOptions,
) -> BoxFuture<'a, Result<(Region, Vec<String>), ConvertError>> {
    Box::pin(async move {
        let name = source.volume.as_str();
        let wrong = |found: String, expected: &str| Err(ConvertError::usage(name, found, expected));
        let placed = PlacedVolume::open(store, name, source.affine.as_deref(), io).await?;
        let shape = &placed.shape;
        if !(1..=3).contains(&shape.len()) {
            return wrong(
                format!("{} axes in space", shape.len()),
                "a volume of 1 to 3",
            );
        }
        let count = shape
            .iter()
            .try_fold(1_u64, |all, one| all.checked_mul(*one));
        let most = Region::MOST_MASK_ELEMENTS;
        if count.is_none_or(|count| count > most) {
            return wrong(
                format!("a volume of {shape:?} elements"),
                &format!("at most {most}: a coarser level of the image may do"),
            );
        }
        let axes = names(store.root().axes(), &placed.picked);
        let runs =
            placed
                .volume
                .runs_of_labels(&placed.uses, &source.labels, Region::MOST_MASK_RUNS);
        let runs = runs.await.map_err(|error| match error {
            zvf_volume::VolumeError::Misuse { what } => zvf_volume::VolumeError::Misuse {
                what: format!("{name}: {what}"),
            },
            error => error,
        })?;
        let region = Region::mask(&axes, shape, &placed.to_world, &runs);
        let region = region.map_err(|error| refused(name, &error))?;
        Ok((region, placed.remarks))
    })
}

/// A volume, placed in the coordinates of a store.
pub(crate) struct PlacedVolume {
    pub(crate) volume: Volume,
    pub(crate) uses: Vec<AxisUse>,
    /// Elements along the axes in space.
    pub(crate) shape: Vec<u64>,
    /// The map from indices of elements to stored positions, on the picked axes.
    pub(crate) to_world: Affine,
    pub(crate) picked: Vec<usize>,
    pub(crate) remarks: Vec<String>,
}

impl PlacedVolume {
    pub(crate) async fn open(
        store: &Store,
        name: &str,
        affine: Option<&str>,
        io: &IoOptions,
    ) -> Result<Self, ConvertError> {
        let volume = Volume::open(name, io).await?;
        let info = volume.info();
        let world = store.root().axes();
        let uses = volume.axis_uses(None, world.len())?;
        let extents = info.shape.iter().zip(&uses);
        let extents = extents.filter(|(_, one)| **one == AxisUse::Space);
        let shape: Vec<u64> = extents.map(|(extent, _)| *extent).collect();
        let stated = affine.map(|text| stated_affine(text, shape.len()));
        let placed = VolumePlacement::new(&volume, &uses, stated.transpose()?.as_ref(), world)?;
        let mut remarks = placed.remarks;
        remarks.extend(info.notes.iter().cloned());
        let to_world = in_frame(store, placed.to_world, &placed.picked, &mut remarks).await?;
        Ok(Self {
            volume,
            uses,
            shape,
            to_world,
            picked: placed.picked,
            remarks,
        })
    }
}

/// Some elements of an array as a region of one store; see [`mask_region`]. `to_world` maps indices to the axes of space of the store, in
/// the order and units of these axes (for tractograms, to scanner millimetres). Each run is the first element and the count of consecutive
/// elements; the last axis varies fastest.
///
/// # Errors
///
/// Misuse: another number of axes; a frame that does not fit; the errors of [`Region::mask`].
pub fn mask_of_runs<'a>(
    store: &'a Store,
    shape: &'a [u64],
    to_world: Affine,
    runs: &'a [(u64, u64)],
) -> BoxFuture<'a, Result<Region, ConvertError>> {
    Box::pin(async move {
        let world = store.root().axes();
        let picked = VolumePlacement::in_order(world, shape.len());
        if picked.len() != shape.len() {
            let found = format!("an array of {} axes", shape.len());
            let expected = format!("as many as the store has: {}", world.len());
            return Err(ConvertError::usage("mask", found, expected));
        }
        let to_world = in_frame(store, to_world, &picked, &mut Vec::new()).await?;
        Ok(Region::mask(
            &names(world, &picked),
            shape,
            &to_world,
            runs,
        )?)
    })
}

fn names<'a>(world: &'a [Axis], picked: &[usize]) -> Vec<&'a str> {
    let axes = picked.iter().filter_map(|at| world.get(*at));
    axes.map(|axis| axis.name.as_str()).collect()
}

/// The map to stored positions. If the store has a tractogram, `to_world` maps to scanner millimetres.
async fn in_frame(
    store: &Store,
    to_world: Affine,
    picked: &[usize],
    remarks: &mut Vec<String>,
) -> Result<Affine, ConvertError> {
    const PLACE: &str = "the frame of the positions";
    let Some(frame) = SourceHeader::of_store(store).await? else {
        return Ok(to_world);
    };
    if let Some(found) = frame.problem() {
        return Err(ConvertError::usage(
            format!("{}: {PLACE}", frame.place()),
            found,
            "rasmm or voxelmm, and maps that agree, so that a volume can be placed among them",
        ));
    }
    let Some(to_rasmm) = frame.to_rasmm()? else {
        return Ok(to_world);
    };
    if picked != [0, 1, 2] {
        return Err(ConvertError::usage(
            "mask",
            "axes other than x, y and z",
            "x, y and z, the axes of positions in voxel millimetres",
        ));
    }
    remarks.push(
        "positions are stored as voxelmm: the volume was placed among them by the affine of the header"
            .to_owned(),
    );
    let back = to_rasmm.inverse();
    let back =
        back.map_err(|error| ConvertError::usage(PLACE, error.what, "a map with an inverse"))?;
    Ok(back.after(&to_world))
}
