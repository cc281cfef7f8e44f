//! `zvf create`.

use clap::Args;
use zvf_jobs::{Corners, KindName, NewVersion};
use zvf_write::{Compression, ShardShape};

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
    /// Path or URL of the new store; it must not exist
    pub(crate) store: String,
    /// The geometry: point_cloud, line, polyline, streamline, graph, skeleton or mesh
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: KindName,
    /// Size of a chunk on each axis
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = zvf_jobs::parse_size, required = true)]
    pub(crate) chunk_shape: Vec<f64>,
    /// Lowest and highest corner that vertices may have, both ends included; components in axis order
    #[arg(long, value_name = "LO:HI", allow_hyphen_values = true)]
    pub(crate) bounds: Corners,
    /// Size of a bin on each axis: a whole part of the chunk's
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = zvf_jobs::parse_size)]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// Names of the axes; t, time and frame are of type time [default: x,y,z,w, as many as the chunk has]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) axes: Option<Vec<String>>,
    /// Unit of all axes of space, e.g. micrometer, um, nm; t=second is that of one axis
    #[arg(long, value_name = "UNIT,..")]
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
    /// How chunks are compressed: auto (the codec of each array follows its data), none, zstd,
    /// zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over shuffled bytes: faster to read and write),
    /// or a list of Zarr codecs in JSON
    #[arg(long, value_name = "CODEC", default_value = "auto")]
    pub(crate) codec: Compression,
    /// Chunks of a shard along each axis; none: every chunk is a file of its own
    #[arg(long, value_name = "X,Y,..|none", default_value = "none")]
    pub(crate) shard_shape: ShardShape,
    /// Version of the format
    #[arg(long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
    pub(crate) target: NewVersion,
    /// Removes what an interrupted command left at STORE; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}
