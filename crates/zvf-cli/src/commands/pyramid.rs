//! `zvf pyramid`: coarse levels for a store; made, made anew, or removed.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use zvf_write::{
    BaseBins, CrossLevel, Existing, LevelStep, Method, PyramidReport, PyramidSpec, build_pyramid,
    refresh_pyramid, remove_pyramid,
};

use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, counted};
use crate::output::{print_json, print_text};

/// `zvf pyramid`
#[derive(Debug, Args)]
#[command(after_help = "\
A level has bins so many times as large as the finer one's: --factors 2,2,4 makes levels 1, 2 and 3 with bins of 2, 4 and
16 times the size of level 0's. A store without bins gets some that fit the data: about as large as the median step between
neighbouring vertices, or so that they hold one or two points; --bin-shape says others. All levels appear at once when
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

Examples:
  zvf pyramid cells.zarrvectors --factors 2,2,2
  zvf pyramid tracts.zarrvectors --factors 2 --sparsity 4 --levels-until 100000
  zvf pyramid brain.zarrvectors --factors 2,2 --method reference --seed 7 --cross-links explicit --cross-depth 2
  zvf pyramid cells.zarrvectors --add --factors 4
  zvf edit cells.zarrvectors delete 7 && zvf pyramid cells.zarrvectors --refresh
  zvf pyramid cells.zarrvectors --replace --factors 3,3 --bin-shape 2,2,2
  zvf pyramid cells.zarrvectors --remove")]
pub(crate) struct PyramidArgs {
    /// Path or URL of the store
    store: String,
    /// How many times as large bins become from level to level, one number a level
    #[arg(
        long,
        value_name = "F,F,..",
        value_delimiter = ',',
        required_unless_present_any = ["refresh", "remove"]
    )]
    factors: Vec<f64>,
    /// Puts further levels on top of those that are there, by their method and with their links between levels
    #[arg(long, conflicts_with_all = ["method", "cross_links", "cross_depth", "bin_shape"])]
    add: bool,
    /// Removes the coarse levels that are there and makes new ones, in one change
    #[arg(long, conflicts_with = "add")]
    replace: bool,
    /// Makes the levels that are there anew, as they were made, if edits left them out of date
    #[arg(long, conflicts_with_all = ["add", "replace", "remove", "factors", "sparsity", "method", "seed", "levels_until",
        "chunk_scale", "bin_shape", "cross_links", "cross_depth"])]
    refresh: bool,
    /// Removes all coarse levels, and the links between levels
    #[arg(long, conflicts_with_all = ["add", "replace", "factors", "sparsity", "method", "seed", "levels_until", "chunk_scale",
        "bin_shape", "cross_links", "cross_depth"])]
    remove: bool,
    /// Bins of level 0, for a store that declares none: sizes that divide the chunk [default: some that fit the data; the chunk
    /// for the reference method]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    bin_shape: Option<Vec<f64>>,
    /// One of how many objects is kept from level to level, drawn at random [default: 1, all of them]
    #[arg(long, value_name = "G,..", value_delimiter = ',')]
    sparsity: Vec<f64>,
    /// How levels are made [default: density]
    #[arg(long, value_enum, value_name = "METHOD")]
    method: Option<MethodArg>,
    /// The seed of what is drawn: the same seed keeps the same objects
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Adds levels with the last factor until one has at most N vertices, or no fewer than the one before it
    #[arg(long, value_name = "N")]
    levels_until: Option<u64>,
    /// How many times as large chunks become from level to level: a number, or one an axis as in 2x2x1 [default: 1]
    #[arg(long, value_name = "K,..", value_delimiter = ',', value_parser = scale)]
    chunk_scale: Vec<Scale>,
    /// Links from every vertex to the one that stands for it: none, that way only, or both ways [default: explicit for the
    /// reference method, none else]
    #[arg(long, value_enum, value_name = "STORED")]
    cross_links: Option<CrossArg>,
    /// Over how many levels these links go; -1: over all
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_hyphen_values = true
    )]
    cross_depth: i64,
    /// Removes what an interrupted run left, or finishes what counts already
    #[arg(long)]
    clear_leftovers: bool,
}

/// Factors of chunk sizes; one stands for all axes.
#[derive(Debug, Clone)]
struct Scale(Vec<u32>);

fn scale(text: &str) -> std::result::Result<Scale, String> {
    let numbers: Option<Vec<u32>> = text.split('x').map(|one| one.parse().ok()).collect();
    numbers
        .filter(|numbers| !numbers.contains(&0))
        .map(Scale)
        .ok_or_else(|| format!("found {text:?}, expected a number, or one an axis as in 2x2x1"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodArg {
    Density,
    Reference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CrossArg {
    None,
    Implicit,
    Explicit,
}

/// Runs `zvf pyramid`.
///
/// # Errors
///
/// Usage; a store that cannot be read, or has coarse levels that nothing was said about; as the storage says.
pub(crate) fn run(args: &PyramidArgs, context: &mut Context<'_>) -> Result<()> {
    let write = context.write_options(args.clear_leftovers);
    let bar = context.progress("vertices coarsened");
    let progress = Arc::new(move |done| bar.add(done));
    let done = if args.remove {
        context.wait(remove_pyramid(&args.store, &write))?
    } else if args.refresh {
        context.wait(refresh_pyramid(&args.store, &write, progress))?
    } else {
        let dims = match args.chunk_scale.is_empty() {
            true => 0,
            false => axes(&args.store, context)?,
        };
        let spec = spec(args, dims)?;
        context.wait(build_pyramid(&args.store, &spec, &write, progress))?
    };
    let report = match done {
        Ok(report) => report,
        Err(error) if error.is_committed() => {
            context.warn(&[error.to_string()]);
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let left_out = left_out(&report);
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        context.warn(&[format!(
            "attributes of a type that is not carried to coarse levels: {names}"
        )]);
    }
    if context.common.json {
        return print_json(&document(args, &report));
    }
    print_text(&text(args, &report))
}

fn left_out(report: &PyramidReport) -> &[String] {
    report.levels.first().map_or(&[], |one| &one.left_out)
}

/// How many axes the store has.
fn axes(store: &str, context: &mut Context<'_>) -> Result<usize> {
    let store = context.open(store, 0, zvf_store::Need::nothing())?;
    Ok(store.root().dims())
}

fn spec(args: &PyramidArgs, dims: usize) -> Result<PyramidSpec> {
    let levels = args.factors.len();
    let fits = |flag: &str, found: usize| {
        if found <= 1 || found == levels {
            return Ok(());
        }
        Err(CliError::usage(format!(
            "{flag}: found {found} numbers, expected one, or {levels} as --factors has"
        )))
    };
    fits("--sparsity", args.sparsity.len())?;
    fits("--chunk-scale", args.chunk_scale.len())?;
    // One number stands for all levels.
    let of_level = |at: usize, found: usize| if found == 1 { 0 } else { at };
    let steps = args.factors.iter().enumerate().map(|(at, &factor)| {
        let mut step = LevelStep::new(factor);
        if let Some(&sparsity) = args.sparsity.get(of_level(at, args.sparsity.len())) {
            step = step.with_sparsity(sparsity);
        }
        if let Some(Scale(scale)) = args.chunk_scale.get(of_level(at, args.chunk_scale.len())) {
            let scale = match scale.as_slice() {
                [one] => vec![*one; dims],
                all => all.to_vec(),
            };
            step = step.with_chunk_scale(scale);
        }
        step
    });
    let method = args.method.map(|method| match method {
        MethodArg::Density => Method::Density,
        MethodArg::Reference => Method::Reference,
    });
    let reference = method == Some(Method::Reference);
    let cross = match args.cross_links {
        Some(CrossArg::None) => Some(CrossLevel::None),
        Some(CrossArg::Implicit) => Some(CrossLevel::Implicit),
        Some(CrossArg::Explicit) => Some(CrossLevel::Explicit),
        None => reference.then_some(CrossLevel::Explicit),
    };
    let mut spec = PyramidSpec::new(steps.collect::<Vec<_>>()).with_seed(args.seed);
    spec.method = method;
    spec.cross_level = cross;
    spec.depth = args.cross_depth;
    spec.until = args.levels_until;
    spec.base = match &args.bin_shape {
        Some(bins) => BaseBins::Given(bins.clone()),
        None if reference => BaseBins::Stored,
        None => BaseBins::Data,
    };
    spec.existing = match (args.add, args.replace) {
        (true, _) => Existing::Keep,
        (_, true) => Existing::Replace,
        _ => Existing::Refuse,
    };
    Ok(spec)
}

fn document(args: &PyramidArgs, report: &PyramidReport) -> Value {
    let levels = report.levels.iter().map(|one| {
        json!({
            "level": one.level,
            "vertices": one.vertices,
            "chunks": one.chunks,
            "objects": one.objects,
            "links_stored": one.links,
            "bin_shape": one.bin_shape,
            "error_bound": one.error_bound,
        })
    });
    let chosen = report.chosen.as_ref();
    json!({
        "store": args.store,
        "method": report.method.map(Method::name),
        "seed": (!args.refresh && !args.remove).then_some(args.seed),
        "left_out": left_out(report),
        "chosen_bins": chosen.map(|bins| json!({"bin_shape": bins.shape, "reason": bins.reason.to_string()})),
        "levels_before": report.before,
        "stale_chunks": report.stale,
        "objects_put": report.put,
        "objects_removed": report.removed,
        "levels": levels.collect::<Vec<_>>(),
    })
}

fn sizes(sizes: &[f64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    sizes.join(", ")
}

fn text(args: &PyramidArgs, report: &PyramidReport) -> String {
    let store = &args.store;
    let levels = counted(report.before, "coarse level");
    if args.remove {
        return format!("{store}\n  {levels} removed\n");
    }
    if args.refresh && !report.was_stale {
        return format!("{store}\n  {levels}, nothing out of date\n");
    }
    let mut head = String::new();
    if let Some(bins) = &report.chosen {
        head.push_str(&format!(
            "  bins of level 0: {}, since {}\n",
            sizes(&bins.shape),
            bins.reason
        ));
    }
    if report.before > 0 {
        head.push_str(&format!(
            "  {levels} before; {} written, {} removed\n",
            counted(report.put, "object"),
            count(report.removed)
        ));
    }
    let mut table = TextTable::new([
        "level",
        "vertices",
        "chunks",
        "objects",
        "links",
        "bin",
        "error bound",
    ]);
    for one in &report.levels {
        table.row([
            one.level.to_string(),
            count(one.vertices),
            count(one.chunks),
            count(one.objects),
            count(one.links),
            sizes(&one.bin_shape),
            one.error_bound
                .map_or(String::new(), |bound| format!("{bound:.6}")),
        ]);
    }
    format!("{store}\n{head}{}", table.render(2))
}
