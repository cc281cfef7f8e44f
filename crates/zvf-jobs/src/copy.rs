//! The jobs `migrate` and `rechunk`: copies of stores.

use serde::Serialize;
use zvf_encode::WriteError;
use zvf_migrate::MigrateOptions;
use zvf_store::{Class, Need};

use crate::checks::sizes;
use crate::error::Result;
use crate::{CodecChoice, Context, JobError, NewVersion, ShardChoice};

/// Declares a copy: its own options, and those that all copies have.
macro_rules! copy {
    ($(#[doc = $about:tt])* $name:ident { $($own:tt)* }) => {
        new_store! {
            $(#[doc = $about])*
            $name {
                $($own)*
                /// How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc
                /// (LZ4 over shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON [default: the codec of SRC if this program
                /// can write it, else auto; auto if the codecs of SRC were chosen by auto]
                #[arg(long, value_name = "CODEC")]
                codec: Option<CodecChoice>,
                /// Chunks of a shard along each axis; `auto`: levels with many chunks are stored in as few files as edits allow; `none`: every chunk
                /// is a file of its own [default: as in SRC]
                #[arg(long, value_name = "X,Y,..|auto|none")]
                shard_shape: Option<ShardChoice>,
                /// Fails if anything cannot be carried over, instead of listing it
                #[arg(long)]
                strict: bool,
            }
        }

        impl $name {
            /// The options that all copies have.
            fn common(&self, context: &Context) -> Result<MigrateOptions> {
                let write = self.writing(context)?;
                let mut options = MigrateOptions::new()
                    .with_strict(self.strict)
                    .with_unverified(!write.open.io.verify)
                    .with_write(write)
                    .with_progress(context.progress());
                options.compression = self.codec.as_ref().map(|codec| codec.value().clone());
                options.shard_shape = self.shard_shape.as_ref().map(|shards| shards.value().clone());
                Ok(options)
            }
        }
    };
}

copy! {
    /// Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two
    MigrateJob {
        /// Version of the new store
        #[arg(id = "to", long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
        version: NewVersion,
    }
}

copy! {
    /// Copies a store into chunks, bins or shards of another shape, and compares the two
    RechunkJob {
        /// Size of a chunk of level 0 on each axis. Chunks of coarse levels keep their ratio to it; on each level, a chunk must consist of whole bins
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size)]
        chunk_shape: Option<Vec<f64>>,
        /// Size of a bin of level 0 on each axis; the size of a chunk must be a multiple of it
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size)]
        bin_shape: Option<Vec<f64>>,
    }
}

impl MigrateJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<CopyReport> {
        let options = self.common(context)?;
        let options = options.with_target(self.version.into());
        copied(&self.source, &self.target, options, context).await
    }
}

impl RechunkJob {
    pub(crate) fn check(&self) -> Result<()> {
        sizes("chunk_shape", self.chunk_shape.as_deref())?;
        sizes("bin_shape", self.bin_shape.as_deref())?;
        let shapes = self.chunk_shape.is_some() || self.bin_shape.is_some();
        if !shapes && self.shard_shape.is_none() && self.codec.is_none() {
            let expected = "one of `chunk_shape`, `bin_shape`, `shard_shape` and `codec`";
            return Err(JobError::option(
                "chunk_shape",
                "nothing to change",
                expected,
            ));
        }
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<CopyReport> {
        let mut options = self.common(context)?;
        options.chunk_shape.clone_from(&self.chunk_shape);
        options.bin_shape.clone_from(&self.bin_shape);
        copied(&self.source, &self.target, options, context).await
    }
}

/// Runs a copy.
async fn copied(
    source: &str,
    target: &str,
    options: MigrateOptions,
    context: &Context,
) -> Result<CopyReport> {
    let store = context.open(source, 0, Need::all()).await?;
    let mut total = Some(0_u64);
    for number in store.levels() {
        // The copy reads the level again and reports the failure.
        let Ok(level) = store.level(*number, &Need::nothing()).await else {
            total = None;
            break;
        };
        // 0: some writers never set the number.
        let count = Some(level.doc().vertex_count).filter(|count| *count > 0);
        total = total.zip(count).and_then(|(all, one)| all.checked_add(one));
    }
    if let Some(total) = total {
        context.total(total);
    }
    let done = zvf_migrate::migrate(&store, target, options).await;
    let report = done.map_err(|error| copy_error(source, target, error))?;
    Ok(CopyReport {
        source: source.to_owned(),
        store: target.to_owned(),
        report,
    })
}

/// Adds the store with the failure to an error of a copy.
pub(crate) fn copy_error(source: &str, target: &str, error: WriteError) -> JobError {
    // Only the comparison reads the copy, so all other malformed data is in the source.
    let compared = matches!(
        error,
        WriteError::Differs { .. } | WriteError::Unremoved { .. }
    );
    let read = !compared && error.class() == Class::Malformed;
    JobError::write(if read { source } else { target })(error)
}

/// What `migrate` and `rechunk` copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// The old store.
    pub source: String,
    /// The new store.
    pub store: String,
    /// Levels, repairs, losses, and the result of the comparison.
    #[serde(flatten)]
    pub report: zvf_migrate::MigrationReport,
}
