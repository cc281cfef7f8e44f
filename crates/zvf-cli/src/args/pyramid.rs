//! `zvf pyramid`.

use clap::{Args, ValueEnum};

/// `zvf pyramid`
#[derive(Debug, Args)]
#[command(after_help = "\
Without --factors levels are chosen by the data: each 4 to 8 times smaller than the finer one, until about 10000 vertices are
left (--levels-until says others). Points and lines: every so many-th along a curve that fills space, so that a level is as
dense as level 0 wherever one looks. Others: simplified by the method below; where that would leave few vertices of each object,
whole objects are left out, evenly by place and length. Chunks grow with levels, so that they hold about as many vertices as those
of level 0.

With --factors a level has bins so many times as large as the finer one's: --factors 2,2,4 makes levels 1, 2 and 3 with bins of 2, 4 and
16 times the size of level 0's. These fit the data: about as large as the median step between neighbouring vertices, or so that
they hold one or two points; --bin-shape says others. All levels appear at once when
everything is written; an interrupted run leaves the store as it was, and --clear-leftovers removes what it left, or finishes
what counts already.

Levels that are there are touched only if --add, --replace, --refresh or --remove asks for it, and change at once as well.

Methods:
  density    real vertices are kept, with attributes, objects, groups and links. Points: one a bin. Lines: one for each pair of
             bins that its ends lie in. Polylines and streamlines: simplified, with their ends. Graphs and skeletons:
             connected vertices of a bin become one, edges stay. Meshes: vertices of a bin become one.
             The error bound says how far anything moved at most.
  reference  as the Python package does: the vertices of a bin become one at their mean; vertex attributes, groups and
             links are lost

A level that is hardly smaller than the finer one, or more than 32 times smaller, is a warning.

Examples:
  zvf pyramid cells.zarrvectors
  zvf pyramid cells.zarrvectors --factors 2,2,2
  zvf pyramid tracts.zarrvectors --factors 2 --sparsity 4 --levels-until 100000
  zvf pyramid brain.zarrvectors --factors 2,2 --method reference --seed 7 --cross-links explicit --cross-depth 2
  zvf pyramid cells.zarrvectors --add --factors 4
  zvf edit cells.zarrvectors delete 7 && zvf pyramid cells.zarrvectors --refresh
  zvf pyramid cells.zarrvectors --replace --factors 3,3 --bin-shape 2,2,2
  zvf pyramid cells.zarrvectors --remove")]
pub(crate) struct PyramidArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// How many times as large bins become from level to level, one number a level [default: levels that fit the data]
    #[arg(long, value_name = "F,F,..", value_delimiter = ',')]
    pub(crate) factors: Vec<f64>,
    /// Adds further levels above the existing ones, by their method and with their links between levels
    #[arg(long, requires = "factors", conflicts_with_all = ["method", "cross_links", "cross_depth", "bin_shape"])]
    pub(crate) add: bool,
    /// Replaces the existing coarse levels by new ones, in one change
    #[arg(long, conflicts_with = "add")]
    pub(crate) replace: bool,
    /// Rebuilds existing levels with the options they were made with, if edits left them out of date
    #[arg(long, conflicts_with_all = ["add", "replace", "remove", "factors", "sparsity", "method", "seed", "levels_until",
        "chunk_scale", "bin_shape", "cross_links", "cross_depth"])]
    pub(crate) refresh: bool,
    /// Removes all coarse levels, and the links between levels
    #[arg(long, conflicts_with_all = ["add", "replace", "factors", "sparsity", "method", "seed", "levels_until", "chunk_scale",
        "bin_shape", "cross_links", "cross_depth"])]
    pub(crate) remove: bool,
    /// Bins of level 0, for a store that declares none: sizes that divide the chunk [default: some that fit the data; the chunk
    /// for the reference method]
    #[arg(
        long,
        value_name = "X,Y,..",
        value_delimiter = ',', value_parser = super::common::size,
        requires = "factors"
    )]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// One of how many objects is kept from level to level, drawn at random [default: 1, all of them]
    #[arg(long, value_name = "G,..", value_delimiter = ',', requires = "factors")]
    pub(crate) sparsity: Vec<f64>,
    /// How levels are made [default: density]
    #[arg(long, value_enum, value_name = "METHOD")]
    pub(crate) method: Option<MethodArg>,
    /// The seed of what is drawn: the same seed keeps the same objects
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Adds levels with the last factor until one has at most N vertices, or no fewer than the one before it; without --factors:
    /// how many vertices are left about in the last level [default: 10000 without --factors]
    #[arg(long, value_name = "N")]
    pub(crate) levels_until: Option<u64>,
    /// Growth of chunks from level to level: a number, or one for each axis as in 2x2x1 [default: so that they have
    /// about as many vertices as those of level 0; 1 for the reference method]
    #[arg(long, value_name = "K,..", value_delimiter = ',', value_parser = scale, requires = "factors")]
    pub(crate) chunk_scale: Vec<Scale>,
    /// Links from every vertex to its representative: none, that way only, or both ways [default: explicit for the
    /// reference method, none else]
    #[arg(long, value_enum, value_name = "STORED")]
    pub(crate) cross_links: Option<CrossArg>,
    /// Over how many levels these links go; -1: over all
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_hyphen_values = true
    )]
    pub(crate) cross_depth: i64,
    /// Removes what an interrupted run left, or finishes what counts already
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// Factors of chunk sizes; a single one is for all axes.
#[derive(Debug, Clone)]
pub(crate) struct Scale(pub(crate) Vec<u32>);

fn scale(text: &str) -> std::result::Result<Scale, String> {
    let numbers: Option<Vec<u32>> = text.split('x').map(|one| one.parse().ok()).collect();
    numbers
        .filter(|numbers| !numbers.contains(&0))
        .map(Scale)
        .ok_or_else(|| format!("found {text:?}, expected a number, or one an axis as in 2x2x1"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    Density,
    Reference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CrossArg {
    None,
    Implicit,
    Explicit,
}
