//! `zvf inspect`.

use clap::{Args, ValueEnum};
use zvf_store::CellKind;

/// `zvf inspect`
#[derive(Debug, Args)]
#[command(after_help = help!("inspect"))]
pub(crate) struct InspectArgs {
    /// A file, or the path or URL of a store when PATH follows
    #[arg(value_name = "FILE|STORE")]
    pub(crate) target: String,
    /// What to show inside the store: an array (with a chunk key or row), an object or a document
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The chunk key or row, unless PATH ends with it
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) key: Option<String>,
    /// Reads the bytes as this kind of blob, whatever they look like
    #[arg(long = "as", value_enum, value_name = "TYPE")]
    pub(crate) blob: Option<BlobArg>,
    /// Components of a chunk key (manifests, links)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) key_rank: Option<u32>,
    /// Columns of a row: axes of vertices, channels of an attribute, endpoints of a link
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) width: Option<u32>,
    /// Element type of rows, e.g. float32, int64, >f4
    #[arg(long, value_name = "DTYPE")]
    pub(crate) dtype: Option<String>,
    /// Link rows begin with a permutation column
    #[arg(long)]
    pub(crate) perm: bool,
    /// Rows shown of each table
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) rows: usize,
}

/// Kinds of blob for the option `--as` of `inspect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BlobArg {
    /// The fragments of one chunk
    FragmentIndex,
    /// The fragments of one object
    Manifest,
    /// Link rows without a header (intra-chunk links)
    Links,
    /// Link rows after a group table (cross-chunk and cross-level links)
    RaggedLinks,
    /// A group table and bytes
    Ragged,
    /// A vlen-bytes chunk: element count, then length and bytes of each
    Vlen,
    /// A shard: inner chunks and the index at its end
    Shard,
    /// Positions
    Vertices,
    /// Rows of an attribute
    Attribute,
    /// Object ids of one group, or of all groups one after another
    Group,
    /// Link records with the chunks of their endpoints, without a header (cross-chunk links before 0.8)
    Records,
    /// Manifests back to back (object index of 0.6)
    Manifests,
    /// Byte offsets of rows
    Offsets,
    /// One byte a row: present or not
    Mask,
    /// Names, one a line
    Names,
    /// Several chunks packed into one; their index is in the document
    #[value(skip)]
    Packed,
    /// A zarr.json document
    Json,
    /// A TET file
    #[cfg(feature = "volumes")]
    Tet,
    /// A Blosc2 frame with a Caterva or b2nd array
    #[cfg(feature = "volumes")]
    Caterva,
}

impl From<CellKind> for BlobArg {
    fn from(kind: CellKind) -> Self {
        match kind {
            CellKind::FragmentIndex => Self::FragmentIndex,
            CellKind::Manifest => Self::Manifest,
            CellKind::Links => Self::Links,
            CellKind::RaggedLinks => Self::RaggedLinks,
            CellKind::Vertices => Self::Vertices,
            CellKind::Group => Self::Group,
            CellKind::Records => Self::Records,
            CellKind::Manifests => Self::Manifests,
            CellKind::Offsets => Self::Offsets,
            CellKind::Mask => Self::Mask,
            CellKind::Names => Self::Names,
            CellKind::Vlen => Self::Vlen,
            CellKind::Packed => Self::Packed,
            _ => Self::Attribute,
        }
    }
}
