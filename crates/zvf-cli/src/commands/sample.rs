//! `zvf sample`: the value of a volume at every vertex becomes a vertex attribute.

use serde_json::json;
use zvf_convert::{Frame, stated_affine};
use zvf_edit::ColumnEdit;
use zvf_meta::Affine;
use zvf_store::Store;
use zvf_volume::{AxisUse, Counts, Order, Sampler, Volume, VolumePlacement};
use zvf_write::{AttributeSpec, NumberType};

use crate::args::{OrderArg, SampleArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

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
    let world = opened.root().axes();
    let uses = volume.axis_uses(Some(&args.index), world.len());
    let uses = uses.map_err(of_volume)?;
    let rank = uses.iter().filter(|one| **one == AxisUse::Space).count();
    let stated = args.affine.as_deref();
    let stated = stated.map(|text| stated_affine(text, rank)).transpose();
    let stated = stated.map_err(|error| CliError::from(error).at("--affine"))?;
    let matched = VolumePlacement::new(&volume, &uses, stated.as_ref(), world);
    let matched = matched.map_err(of_volume)?;
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
        Sampler::new(volume.clone(), uses, &matched.to_world, order).map_err(of_volume)?;
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
