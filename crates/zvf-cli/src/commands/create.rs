//! `zvf create`: a new store without any vertex.

use serde_json::json;
use zvf_write::{AttributeSpec, Axis, NumberType, StoreSpec, StoreWriter};

use crate::args::CreateArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::{print_json, print_text};

/// Runs `zvf create`.
///
/// # Errors
///
/// Usage: arguments that contradict each other, or an address that is in use; I/O.
pub(crate) fn run(args: &CreateArgs, context: &mut Context<'_>) -> Result<()> {
    let spec = spec(args)?;
    let write = context.write_options(args.clear_leftovers);
    let writer = context.wait(StoreWriter::create(&args.store, spec.clone(), write))??;
    context.wait(writer.finish())??;
    let names = |list: &[AttributeSpec]| -> Vec<String> {
        list.iter().map(|one| one.name.clone()).collect()
    };
    if context.common.json {
        return print_json(&json!({
            "store": args.store,
            "version": spec.target.version(),
            "kind": spec.kind.name(),
            "axes": spec.axes.iter().map(|axis| &axis.name).collect::<Vec<_>>(),
            "bounds": spec.bounds.as_ref().map(|(low, high)| [low, high]),
            "position_type": spec.positions.to_string(),
            "chunk_shape": spec.chunk_shape,
            "bin_shape": spec.bin_shape,
            "vertex_attributes": names(&spec.vertex_attributes),
            "object_attributes": names(&spec.object_attributes),
        }));
    }
    print_text(&format!(
        "{}: {}, empty, positions {}\n",
        args.store, spec.kind, spec.positions
    ))
}

fn spec(args: &CreateArgs) -> Result<StoreSpec> {
    let mut spec = StoreSpec::new(*args.kind.value(), args.chunk_shape.clone());
    if let Some(names) = &args.axes {
        spec = spec.with_axes(names.iter().map(Axis::named).collect());
    }
    if let Some(unit) = &args.unit {
        let factors = zvf_convert::set_units(&mut spec.axes, unit)?;
        if factors.iter().any(|factor| *factor != 1.0) {
            return Err(CliError::usage(format!(
                "--unit: found {unit:?}, expected a unit without a number: there are no positions to multiply"
            )));
        }
    }
    zvf_convert::check_axes(&spec.axes)?;
    let bounds = args.bounds.value();
    spec.bounds = Some((bounds.lo().to_vec(), bounds.hi().to_vec()));
    spec.positions = NumberType::from_name(&args.dtype).ok_or_else(|| {
        CliError::usage(format!(
            "--dtype: found {:?}, expected a number type such as float32",
            args.dtype
        ))
    })?;
    spec.bin_shape.clone_from(&args.bin_shape);
    spec.shard_shape.clone_from(&args.shard_shape);
    spec.objects |= args.with_objects;
    if let Some(width) = args.link_width {
        spec = spec.with_link_width(width);
    }
    for text in &args.attributes {
        spec = spec.with_vertex_attribute(attribute("--attribute", text)?);
    }
    for text in &args.object_attributes {
        spec = spec.with_object_attribute(attribute("--object-attribute", text)?);
    }
    spec.compression = args.codec.clone();
    spec.target = args.target.into();
    Ok(spec)
}

/// `NAME:TYPE`, `NAME:TYPE:3` or `NAME:TYPE:r,g,b`.
fn attribute(flag: &str, text: &str) -> Result<AttributeSpec> {
    let wrong = || {
        CliError::usage(format!(
            "{flag}: found {text:?}, expected NAME:TYPE or NAME:TYPE:CHANNELS"
        ))
    };
    let mut parts = text.splitn(3, ':');
    let name = parts
        .next()
        .filter(|name| !name.is_empty())
        .ok_or_else(wrong)?;
    let spec = match parts.next().ok_or_else(wrong)? {
        "category" => AttributeSpec::category(name),
        "text" => AttributeSpec::text(name),
        number => AttributeSpec::number(name, NumberType::from_name(number).ok_or_else(wrong)?),
    };
    Ok(match parts.next() {
        None => spec,
        Some(channels) => match channels.parse::<usize>() {
            Ok(count) => spec.with_channels(count),
            Err(_) => spec.with_channel_names(channels.split(',')),
        },
    })
}
