//! `zvf import --begin`, `--part` and `--commit`: one store of several programs.

use serde_json::json;
use zvf_convert::{Import, Sink};
use zvf_query::BBox;
use zvf_write::{
    Batch, Groups, ObjectTable, Outside, PartedStore, StoreSpec, StoreWriter, Summary, WriteError,
};

use crate::args::ImportArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Whether the command is a step of a store in parts.
pub(super) fn is_step(args: &ImportArgs) -> bool {
    args.begin || args.commit || args.part.is_some()
}

/// Runs one step. All steps describe the store by the same options and by files with the same columns.
///
/// # Errors
///
/// Usage: bounds that are no box of the store's axes; parts that do not fit one another; as the files and the storage say.
pub(super) fn run(
    args: &ImportArgs,
    import: &Import,
    mut spec: StoreSpec,
    context: &mut Context<'_>,
) -> Result<()> {
    let bounds = BBox::parse(args.bounds.as_deref().unwrap_or_default())
        .map_err(|error| CliError::usage(format!("--bounds: {error}")))?;
    if bounds.dims() != spec.axes.len() {
        let found = bounds.dims();
        let expected = spec.axes.len();
        return Err(CliError::usage(format!(
            "--bounds: found {found} axes, expected {expected}"
        )));
    }
    spec.bounds = Some((bounds.lo().to_vec(), bounds.hi().to_vec()));
    spec.outside = Outside::Refuse;
    // Files have names of their own; the store's is that of its place.
    spec.name = None;
    let store = args.store.as_str();
    let write = context.write_options(args.clear_leftovers);
    if args.begin {
        context.wait(PartedStore::begin(store, spec, write))??;
        return said(args, context, "begun", None);
    }
    let parted = context.wait(PartedStore::join(store, spec, write))??;
    let Some(name) = &args.part else {
        let summary = context.wait(parted.commit(&Groups::default()))??;
        return said(args, context, "committed", Some(&summary));
    };
    let mut writer = parted.writer(name)?;
    import.read(&mut Part(&mut writer))?;
    let summary = context.wait(writer.finish())??;
    said(args, context, &format!("part {name}"), Some(&summary))
}

fn said(
    args: &ImportArgs,
    context: &Context<'_>,
    step: &str,
    summary: Option<&Summary>,
) -> Result<()> {
    if context.common.json {
        return print_json(&json!({
            "store": args.store,
            "step": step,
            "vertices": summary.map(|one| one.vertices),
            "chunks": summary.map(|one| one.chunks),
        }));
    }
    let counts = summary.map_or_else(String::new, |one| {
        format!(
            ", {}, {}",
            counted(one.vertices, "vertex"),
            counted(one.chunks, "chunk")
        )
    });
    print_text(&format!("{}: {step}{counts}\n", args.store))
}

/// A part, which takes no groups: their members may be of any part.
struct Part<'w>(&'w mut StoreWriter);

impl Sink for Part<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> std::result::Result<(), WriteError> {
        self.0.push(batch)
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> std::result::Result<(), WriteError> {
        self.0.push_objects(table)
    }

    fn groups(&mut self, _: &Groups<'_>) -> std::result::Result<(), WriteError> {
        let expected = "none in a file of a part: their members may be of any part";
        Err(WriteError::input("groups", "some", expected))
    }
}
