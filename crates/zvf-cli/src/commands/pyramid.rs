//! `zvf pyramid`: builds, rebuilds or removes the coarse levels of a store.

use std::sync::Arc;

use serde_json::json;
use zvf_pyramid::{
    BaseBins, CrossLevel, Existing, LevelStep, Method, PyramidReport, PyramidSpec, build_pyramid,
    pyramid_memory, refresh_pyramid, remove_pyramid,
};

use crate::args::{CrossArg, MethodArg, PyramidArgs, Scale};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf pyramid`.
///
/// # Errors
///
/// Usage; a store that cannot be read, or has coarse levels that nothing was said about; as the storage says.
pub(crate) fn run(args: &PyramidArgs, context: &mut Context<'_>) -> Result<()> {
    levels(args, context).map_err(|error| error.at(&args.store))
}

/// Builds, refreshes or removes coarse levels, and prints the report.
fn levels(args: &PyramidArgs, context: &mut Context<'_>) -> Result<()> {
    let write = context.write_options(args.clear_leftovers);
    let bar = context.progress("vertices coarsened");
    let progress = Arc::new(move |done| bar.add(done));
    if !args.remove && args.method != Some(MethodArg::Reference) {
        say_memory(&args.store, &write, context)?;
    }
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
    let left_out = report.left_out();
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        context.warn(&[format!(
            "attributes of a type that is not carried to coarse levels: {names}"
        )]);
    }
    let remarks = report.remarks();
    if !remarks.is_empty() {
        context.warn(&remarks);
    }
    if context.common.json {
        let mut document = report.to_json(&args.store);
        if let (false, Some(members)) = (args.refresh || args.remove, document.as_object_mut()) {
            members.insert("seed".to_owned(), json!(args.seed));
        }
        return print_json(&document);
    }
    print_text(&text(args, &report))
}

/// Memory of a command beside twice its budget.
const BESIDE: u64 = 64_000_000;

/// Says before the work if it may take more memory than twice the budget and 64 MB.
fn say_memory(
    store: &str,
    write: &zvf_write::WriteOptions,
    context: &mut Context<'_>,
) -> Result<()> {
    // What cannot be read is an error of the work itself.
    let held = context.wait(pyramid_memory(store, write))?.unwrap_or(0);
    let budget = u64::try_from(write.memory_budget).unwrap_or(u64::MAX);
    if held > budget {
        let most = budget.saturating_mul(2).saturating_add(BESIDE);
        context.warn(&[format!(
            "up to {} MB of memory may be needed, of which the memory budget of {} MB bounds {} MB: the manifests of all objects are \
             held, and those of scattered points are long",
            most.saturating_add(held) / 1_000_000,
            budget / 1_000_000,
            most / 1_000_000
        )]);
    }
    Ok(())
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
    // One number is for all levels.
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
    let mut spec = match levels {
        0 => PyramidSpec::automatic(args.levels_until.unwrap_or(PyramidSpec::VERTICES_LEFT)),
        _ => PyramidSpec::new(steps.collect::<Vec<_>>()),
    };
    spec.seed = args.seed;
    spec.method = method;
    spec.cross_level = cross;
    spec.depth = args.cross_depth;
    spec.growing_chunks = args.chunk_scale.is_empty() && !reference;
    spec.until = spec.until.or(args.levels_until);
    spec.base = match &args.bin_shape {
        Some(bins) => BaseBins::Given(bins.clone()),
        None if reference || levels == 0 => BaseBins::Stored,
        None => BaseBins::Data,
    };
    spec.existing = match (args.add, args.replace) {
        (true, _) => Existing::Keep,
        (_, true) => Existing::Replace,
        _ => Existing::Refuse,
    };
    Ok(spec)
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
