//! `zvf create`: a new store without any vertex.

use clap::Args;
use serde_json::json;
use zvf_write::{AttributeSpec, Axis, Compression, Kind, NumberType, StoreSpec, StoreWriter};

use crate::args::TargetArg;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::{print_json, print_text};

/// `zvf create`
#[derive(Debug, Args)]
#[command(after_help = "\
The store has one level, no vertex and no object. What cannot be changed later is said now: kind, axes, bounds, chunks and types.
NAME:TYPE is an attribute: int8 to int64, uint8 to uint64, float16 to float64, bool, or category (texts out of few; for objects: text).
NAME:TYPE:3 has three channels, NAME:TYPE:r,g,b has three with names.

Examples:
  zvf create spots.zarrvectors --kind point_cloud --chunk-shape 100,100,100 --bounds 0,0,0:1000,1000,500
  zvf create tracts.zarrvectors --kind streamline --chunk-shape 32,32,32 --bounds -90,-126,-72:90,90,108 --unit millimeter \\
      --attribute fa:float32 --attribute color:uint8:r,g,b --object-attribute bundle:text
  zvf create plane.zarrvectors --kind graph --axes y,x --chunk-shape 64,64 --bounds 0,0:512,512 --dtype float64 --codec none")]
pub(crate) struct CreateArgs {
    /// Path or URL of the new store; nothing may lie there
    pub(crate) store: String,
    /// The geometry: point_cloud, line, polyline, streamline, graph, skeleton or mesh
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: String,
    /// Size of a chunk on each axis
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', required = true)]
    pub(crate) chunk_shape: Vec<f64>,
    /// Lowest and highest corner that vertices may have, both ends included; components in axis order
    #[arg(long, value_name = "LO:HI", allow_hyphen_values = true)]
    pub(crate) bounds: String,
    /// Size of a bin on each axis: a whole part of the chunk's
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// Names of the axes [default: x,y,z,w, as many as the chunk has]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) axes: Option<Vec<String>>,
    /// Unit of all axes, e.g. micrometer
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// Number type of positions
    #[arg(long, value_name = "DTYPE", default_value = "float32")]
    pub(crate) dtype: String,
    /// Points: each may belong to an object (all other kinds have objects anyway)
    #[arg(long)]
    pub(crate) with_objects: bool,
    /// An attribute of vertices; may be given several times
    #[arg(long = "attribute", value_name = "NAME:TYPE[:CHANNELS]")]
    pub(crate) attributes: Vec<String>,
    /// An attribute of objects; may be given several times
    #[arg(long = "object-attribute", value_name = "NAME:TYPE[:CHANNELS]")]
    pub(crate) object_attributes: Vec<String>,
    /// Ends of a link: 3 for triangles, 4 for quads
    #[arg(long, value_name = "N")]
    pub(crate) link_width: Option<usize>,
    /// How chunks are compressed: none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc, or a list of Zarr codecs in JSON
    #[arg(long, value_name = "CODEC", default_value = "zstd")]
    pub(crate) codec: Compression,
    /// Chunks of a shard along each axis [default: every chunk is a file of its own]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) shard_shape: Option<Vec<u64>>,
    /// Version of the format
    #[arg(long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
    pub(crate) target: TargetArg,
    /// Removes what an interrupted command left at STORE; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// Runs `zvf create`.
///
/// # Errors
///
/// Usage, for what contradicts itself, or when something lies at the store's place; as the storage says.
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
    let kind = Kind::from_name(&args.kind).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        let names = names.join(", ");
        CliError::usage(format!(
            "--kind: found {:?}, expected one of {names}",
            args.kind
        ))
    })?;
    let mut spec = StoreSpec::new(kind, args.chunk_shape.clone());
    if let Some(names) = &args.axes {
        spec = spec.with_axes(names.iter().map(|name| Axis::new(name, "space")).collect());
    }
    if let Some(unit) = &args.unit {
        spec = spec.with_unit(unit);
    }
    let (low, high) = corners(&args.bounds)?;
    spec.bounds = Some((low, high));
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

/// `LO:HI`, each with commas.
fn corners(text: &str) -> Result<(Vec<f64>, Vec<f64>)> {
    let list = |part: &str| -> Option<Vec<f64>> {
        part.split(',')
            .map(|number| number.trim().parse().ok())
            .collect()
    };
    let found = text.split_once(':');
    let found = found.and_then(|(low, high)| Some((list(low)?, list(high)?)));
    found.ok_or_else(|| {
        CliError::usage(format!(
            "--bounds: found {text:?}, expected LO:HI, numbers between commas"
        ))
    })
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
