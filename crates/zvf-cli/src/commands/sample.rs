//! `zvf sample`: the value of a volume at every vertex becomes a vertex attribute.

use std::path::Path;

use serde_json::json;
use zvf_convert::{Frame, parse_affine, read_affine};
use zvf_edit::ColumnEdit;
use zvf_meta::{Affine, Axis, StatedAffine, map_of_axes};
use zvf_store::Store;
use zvf_volume::{AxisInfo, AxisUse, Counts, Order, Sampler, Volume, VolumeInfo, affine_of_axes};
use zvf_write::{AttributeSpec, NumberType};

use crate::args::{OrderArg, SampleArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// The axes of positions that the affine of an image file leads to.
const WORLD: [&str; 3] = ["x", "y", "z"];

/// How the axes of a volume and of a store belong together.
struct Match {
    uses: Vec<AxisUse>,
    to_world: Affine,
    /// The axes of the store that the map leads to.
    picked: Vec<usize>,
    /// Remarks about conversions of units.
    remarks: Vec<String>,
}

/// Runs `zvf sample`.
///
/// # Errors
///
/// Usage: axes that do not fit, a name that is taken, a store that cannot be edited; as store and volume say.
pub(crate) fn run(args: &SampleArgs, context: &mut Context<'_>) -> Result<()> {
    let (store, options) = (args.store.as_str(), context.options());
    let of_volume = |error: zvf_volume::VolumeError| CliError::from(error).at(&args.volume);
    let of_store = |error: zvf_write::WriteError| CliError::from(error).at(store);
    let volume = context
        .wait(Volume::open(&args.volume, &options.io))?
        .map_err(of_volume)?;
    let opened = context.wait_at(store, Store::open_with(store, options.clone()))?;
    let matched = matched(args, volume.info(), opened.root().axes())?;
    for remark in matched.remarks.iter().chain(&volume.info().notes) {
        context.remark(remark);
    }
    let frame = match args.keep_frame {
        true => None,
        false => context.wait_at(store, Frame::of_store(&opened))?,
    };
    let to_rasmm = frame.as_ref().map(Frame::to_rasmm).transpose();
    let to_rasmm = to_rasmm
        .map_err(|error| CliError::from(error).at(store))?
        .flatten();
    if to_rasmm.is_some() {
        context.remark("positions are stored as voxelmm: they were converted to scanner millimetres by the affine of the header");
    }
    let element = volume.info().element.number;
    let order = match (args.order, element.map(Order::usual)) {
        (Some(OrderArg::Nearest), _) => Order::Nearest,
        (Some(OrderArg::Linear), _) | (None, None | Some(Order::Linear)) => Order::Linear,
        (None, Some(Order::Nearest)) => {
            let text = element.map_or_else(String::new, |one| one.to_string());
            context.remark(&format!(
                "elements are {text}, which may be labels: the nearest one is taken; --order linear gives values between them"
            ));
            Order::Nearest
        }
    };
    let mut sampler =
        Sampler::new(volume.clone(), matched.uses, &matched.to_world, order).map_err(of_volume)?;
    if let Some(outside) = args.outside {
        sampler = sampler.with_outside(outside).map_err(of_volume)?;
    }
    let number = NumberType::from_name(&sampler.dtype().to_string());
    let number = number.ok_or_else(|| {
        CliError::usage(format!("values of {} cannot be stored", sampler.dtype()))
    })?;
    let spec = AttributeSpec::number(args.name.as_str(), number);
    let progress = context.progress("vertices");
    let write = context.write_options(false);
    let done = context.wait(async {
        let mut column = ColumnEdit::open(store, spec, args.replace, write)
            .await
            .map_err(of_store)?;
        let places = Places {
            to_rasmm,
            picked: matched.picked,
        };
        let filled = fill(&mut column, &sampler, &places, |n| progress.add(n)).await;
        match filled {
            Ok(filled) => {
                let summary = column.commit().await.map_err(of_store)?;
                Ok((filled, summary))
            }
            Err(error) => {
                // The first error is reported.
                let _ = column.abandon().await;
                Err(match error {
                    Failed::Store(error) => of_store(error),
                    Failed::Volume(error) => of_volume(error),
                })
            }
        }
    })?;
    let (filled, summary) = done?;
    if filled.vertices > 0 && filled.outside == filled.vertices {
        context.warn(&["every vertex lies outside of the volume: is the affine right?".to_owned()]);
    }
    if context.common.json {
        return print_json(&json!({
            "store": store,
            "volume": args.volume,
            "attribute": args.name,
            "dtype": sampler.dtype().to_string(),
            "order": match order {
                Order::Nearest => "nearest",
                Order::Linear => "linear",
            },
            "notes": matched.remarks,
            "vertices": filled.vertices,
            "outside": filled.outside,
            "chunks": summary.chunks,
            "put": summary.put,
            "removed": summary.removed,
            "read": {
                "chunks": filled.counts.chunks,
                "blocks": filled.counts.blocks,
                "bytes": filled.counts.bytes,
                "requests": filled.counts.requests,
            },
        }));
    }
    print_text(&format!(
        "{store}: attribute {} of {} for {}, {} of them outside of the volume\n",
        args.name,
        sampler.dtype(),
        counted(filled.vertices, "vertex"),
        count(filled.outside),
    ))
}

/// Counts over the values of all chunks.
#[derive(Debug, Clone, Copy, Default)]
struct Filled {
    vertices: u64,
    outside: u64,
    counts: Counts,
}

enum Failed {
    Store(zvf_write::WriteError),
    Volume(zvf_volume::VolumeError),
}

/// How a place in the world follows from a stored position.
struct Places {
    to_rasmm: Option<Affine>,
    /// The axes of the store that the volume has.
    picked: Vec<usize>,
}

impl Places {
    fn of(&self, row: &[f64], out: &mut Vec<f64>) {
        let mut mapped = [0.0; 3];
        let row = match &self.to_rasmm {
            Some(map) if row.len() == mapped.len() => {
                map.apply(row, &mut mapped);
                &mapped
            }
            _ => row,
        };
        let axes = self.picked.iter();
        out.extend(axes.map(|&axis| row.get(axis).copied().unwrap_or(f64::NAN)));
    }
}

async fn fill(
    column: &mut ColumnEdit,
    sampler: &Sampler,
    to_places: &Places,
    told: impl Fn(u64),
) -> std::result::Result<Filled, Failed> {
    let mut filled = Filled::default();
    while let Some(chunk) = column.next().await.map_err(Failed::Store)? {
        let mut places = Vec::new();
        for row in chunk.positions.chunks_exact(chunk.dims.max(1)) {
            to_places.of(row, &mut places);
        }
        let sampled = sampler.sample(&places).await.map_err(Failed::Volume)?;
        let vertices = u64::try_from(chunk.count()).unwrap_or(u64::MAX);
        filled.vertices = filled.vertices.saturating_add(vertices);
        filled.outside = filled.outside.saturating_add(sampled.outside);
        filled.counts.add(sampled.counts);
        column
            .put_bytes(sampled.bytes)
            .await
            .map_err(Failed::Store)?;
        told(vertices);
    }
    Ok(filled)
}

fn matched(args: &SampleArgs, info: &VolumeInfo, world: &[Axis]) -> Result<Match> {
    let names: Vec<&str> = world.iter().map(|axis| axis.name.as_str()).collect();
    let uses = uses(args, info, names.len())?;
    let space: Vec<&AxisInfo> = info
        .axes
        .iter()
        .zip(&uses)
        .filter(|(_, one)| **one == AxisUse::Space)
        .map(|(axis, _)| axis)
        .collect();
    let told = |what: String| CliError::usage(what).at(&args.volume);
    if info.affine.is_some() && args.affine.is_none() && space.len() != WORLD.len() {
        return Err(told(
            "the affine of the image maps its axes i, j and k together: --index is for others"
                .to_owned(),
        ));
    }
    // By name, if the store has every axis name of the volume, or of the positions that its affine leads to.
    let of_world = info.affine.as_ref().map(|_| WORLD.map(Some).to_vec());
    let wanted =
        of_world.unwrap_or_else(|| space.iter().map(|axis| axis.name.as_deref()).collect());
    let by_name: Option<Vec<usize>> = wanted
        .iter()
        .map(|wanted| names.iter().position(|name| Some(*name) == *wanted))
        .collect();
    let (mut picked, order) = match by_name.filter(|_| args.affine.is_none()) {
        Some(found) if info.affine.is_some() => (found, (0..space.len()).collect()),
        Some(found) => {
            let mut picked = found.clone();
            picked.sort_unstable();
            picked.dedup();
            let place = |axis: &usize| picked.iter().position(|one| one == axis).unwrap_or(0);
            let order: Vec<usize> = found.iter().map(place).collect();
            (picked, order)
        }
        // In order: axes of space, if there are as many.
        None => {
            let of_space = world.iter().enumerate().filter(|(_, axis)| axis.is_space());
            let of_space: Vec<usize> = of_space.map(|(at, _)| at).collect();
            let picked = match of_space.len() == space.len() {
                true => of_space,
                false => (0..names.len()).collect(),
            };
            (picked, (0..space.len()).collect())
        }
    };
    if picked.len() != space.len() {
        return Err(told(format!(
            "{} axes in space, the store has {} ({}): --index AXIS=N fixes those that are not in space",
            space.len(),
            names.len(),
            names.join(", ")
        )));
    }
    picked.truncate(space.len());
    let to: Vec<Axis> = picked
        .iter()
        .filter_map(|at| world.get(*at).cloned())
        .collect();
    let mut remarks = Vec::new();
    let to_world = match &args.affine {
        Some(text) => {
            let stated = affine(text, space.len()).map_err(|error| error.at("--affine"))?;
            let units = to.iter().map(|_| stated.unit.map(str::to_owned)).collect();
            match stated.source {
                Some(_) => converted("--affine", &stated.affine, units, &to, &mut remarks)?,
                None => stated.affine,
            }
        }
        None if let Some(stated) = &info.affine => {
            let units = to.iter().map(|_| stated.unit.map(str::to_owned)).collect();
            if let Some(source) = &stated.source {
                remarks.push(format!("{}: places are those of the {source}", args.volume));
            }
            converted(&args.volume, &stated.affine, units, &to, &mut remarks)?
        }
        None => {
            // By axis of the store.
            let mut units = vec![None; to.len()];
            let mut placed = false;
            for (axis, row) in space.iter().zip(&order) {
                if let Some(slot) = units.get_mut(*row) {
                    *slot = axis.place.and(axis.unit.clone());
                }
                placed |= axis.place.is_some();
            }
            let map = affine_of_axes(&space, &order);
            match placed {
                true => converted(&args.volume, &map, units, &to, &mut remarks)?,
                false => map,
            }
        }
    };
    Ok(Match {
        uses,
        to_world,
        picked,
        remarks,
    })
}

/// Converts a map in the units of an image to one in the units of the store. `units`: the unit of the image along each axis of the store.
///
/// # Errors
///
/// Usage: a unit that cannot be converted to that of the store.
fn converted(
    image: &str,
    map: &Affine,
    units: Vec<Option<String>>,
    to: &[Axis],
    remarks: &mut Vec<String>,
) -> Result<Affine> {
    let axes = to.iter().zip(units);
    let from: Vec<Axis> = axes
        .map(|(axis, unit)| Axis {
            unit,
            ..axis.clone()
        })
        .collect();
    let last = map_of_axes(&from, to).map_err(|why| {
        CliError::usage(format!(
            "units: {why} in the store; --affine with rows of numbers says where elements are"
        ))
        .at(image)
    })?;
    let list = |axes: &[Axis]| {
        let mut units: Vec<&str> = axes
            .iter()
            .filter_map(|axis| axis.unit.as_deref())
            .collect();
        units.dedup();
        units.join(", ")
    };
    if !last.is_identity() {
        let (found, own) = (list(&from), list(to));
        remarks.push(format!(
            "{image} states places in {found}: they were converted to {own}, the unit of the store"
        ));
        return Ok(last.after(map));
    }
    let lacks = |one: &[Axis], other: &[Axis]| {
        let mut pairs = one.iter().zip(other);
        pairs.any(|(one, other)| one.unit.is_none() && other.unit.is_some())
    };
    if lacks(&from, to) {
        remarks.push(format!(
            "{image} states no unit: places are taken to be in {}, as positions of the store",
            list(to)
        ));
    } else if lacks(to, &from) {
        remarks.push(format!(
            "the store states no unit: positions are taken to be in {}, as places of {image}",
            list(&from)
        ));
    }
    Ok(map.clone())
}

/// Which axes of the volume are in space, and the index on the others.
fn uses(args: &SampleArgs, info: &VolumeInfo, dims: usize) -> Result<Vec<AxisUse>> {
    let mut uses: Vec<AxisUse> = info
        .axes
        .iter()
        .zip(info.shape.iter())
        .map(|(axis, extent)| match axis.kind.as_deref() {
            None | Some("space") => Ok(AxisUse::Space),
            Some(_) if *extent == 1 => Ok(AxisUse::Index(0)),
            Some(kind) => {
                let name = axis.name.as_deref().unwrap_or("?");
                if args.index.iter().any(|(one, _)| one == name) {
                    return Ok(AxisUse::Index(0));
                }
                Err(CliError::usage(format!(
                    "axis {name} ({kind}) has {extent} indices: say which one with --index {name}=N"
                ))
                .at(&args.volume))
            }
        })
        .collect::<Result<_>>()?;
    for (axis, index) in &args.index {
        let named = info
            .axes
            .iter()
            .position(|one| one.name.as_deref() == Some(axis));
        let at = named.or_else(|| axis.parse().ok());
        match at.and_then(|at| uses.get_mut(at)) {
            Some(slot) => *slot = AxisUse::Index(*index),
            None => {
                return Err(
                    CliError::usage(format!("--index {axis}={index}: no such axis"))
                        .at(&args.volume),
                );
            }
        }
    }
    // Axes of one element that are more than the store has.
    let space = |uses: &[AxisUse]| uses.iter().filter(|one| **one == AxisUse::Space).count();
    for at in (0..uses.len()).rev() {
        if space(&uses) > dims
            && info.shape.get(at) == Some(&1)
            && let Some(slot) = uses.get_mut(at)
        {
            *slot = AxisUse::Index(0);
        }
    }
    Ok(uses)
}

/// Numbers by rows, or a file with them, or an image.
fn affine(text: &str, rank: usize) -> Result<StatedAffine> {
    let path = Path::new(text);
    if path.exists() {
        return Ok(read_affine(path, rank)?);
    }
    let affine = parse_affine(text, rank)
        .map_err(|why| CliError::usage(format!("{why}, and no file {text:?}")))?;
    Ok(StatedAffine::of_numbers(affine))
}
