//! Runs exports: selects the writer of the format and collects its notes.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use zvf_store::{Need, Store};

use super::job::ExportState;
use super::options::{ExportOptions, Exported};
use crate::answered::{level_of_groups, of_one_state};
use crate::frame::SourceHeader;
use crate::stores::complete_level;
use crate::{ConvertError, Format, las, npz, obj, ply, stl, swc, table, tck, trk, trx};

/// Writes a selection to the file at `path`, which is replaced. The format is an argument, not taken from the file name, so that the
/// file can have a temporary name.
///
/// # Cost
/// One run of the query; two for SWC, LAS and LAZ, and for TRK, TCK and TRX if the query has conditions or a limit. Memory: see the table of the
/// module.
///
/// # Errors
/// Misuse: a kind or number of axes that the format cannot store, a query that does not fit the store. I/O; malformed data; a
/// limit. After an error the file at `path` may be incomplete.
pub fn export<'a>(
    store: &'a Store,
    format: Format,
    path: &'a Path,
    options: &'a ExportOptions,
) -> BoxFuture<'a, Result<Exported, ConvertError>> {
    Box::pin(async move {
        let exported = write(store, format, path, options).await;
        of_one_state(store, exported).await
    })
}

fn write<'a>(
    store: &'a Store,
    format: Format,
    path: &'a Path,
    options: &'a ExportOptions,
) -> BoxFuture<'a, Result<Exported, ConvertError>> {
    Box::pin(async move {
        let by_line = !matches!(
            format,
            Format::Csv | Format::Npy | Format::Arrow | Format::Parquet | Format::Npz
        );
        if store.kind().is_chain() && by_line && !options.query.own_level_only {
            complete_level(store, options.query.level).await?;
        }
        let frame = SourceHeader::of(store, format).await?;
        let mut job = ExportState::new(store, format, path, options)?;
        job.frame = frame.map(Arc::new);
        job.look_up_rows().await?;
        if format.is_tractogram() {
            job.choose_frame()?;
        }
        match format {
            Format::Csv | Format::Npy | Format::Arrow | Format::Parquet => {
                table::write::write(&mut job).await?;
            }
            Format::Swc => swc::write::write(&mut job).await?,
            Format::Obj => obj::write::write(&mut job).await?,
            Format::Npz => npz::write::write(&mut job).await?,
            Format::Las | Format::Laz => las::write::write(&mut job).await?,
            Format::Ply => ply::write::write(&mut job).await?,
            Format::Stl => stl::write::write(&mut job).await?,
            Format::Trk => trk::write::write(&mut job).await?,
            Format::Tck => tck::write::write(&mut job).await?,
            Format::Trx => trx::write::write(&mut job).await?,
            Format::Xyz => {
                let what = path.display().to_string();
                let expected = "another format: CSV, TSV and PLY hold named columns";
                return Err(ConvertError::usage(what, "XYZ", expected));
            }
            Format::Ndjson => {
                let what = path.display().to_string();
                let expected = "another table: `zvf query -o` writes NDJSON";
                return Err(ConvertError::usage(what, "NDJSON", expected));
            }
            Format::Precomputed => {
                let what = path.display().to_string();
                let expected = "a file: `--format precomputed` writes folders";
                return Err(ConvertError::usage(what, "a folder with `info`", expected));
            }
        }
        job.units_lost();
        let groups = Need {
            groups: true,
            ..Need::nothing()
        };
        let level = level_of_groups(store, options.query.level, &groups).await?;
        let groups = level.groups().is_some_and(|groups| !groups.is_empty());
        if groups && !job.grouped {
            job.note("groups are not kept");
        }
        if let Some(frame) = job.frame.clone().filter(|_| !job.framed) {
            job.note(format!("the frame (`{}`) is not kept", frame.place));
        }
        if let (Some(limit), true, 0) = (options.query.limit, job.truncated, job.done.vertices) {
            job.note(format!(
            "nothing is written: objects are written as a whole, and the first one has more vertices than the limit of {limit}"
        ));
        }
        let mut warnings = store.warnings();
        warnings.extend(job.warnings);
        warnings.dedup();
        job.done.warnings = warnings;
        Ok(job.done)
    })
}
