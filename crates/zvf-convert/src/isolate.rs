//! Runs third-party decoders on their own threads, with a large stack and reading ahead. They are isolated ([`zvf_codec::isolate`]): a panic of
//! a decoder becomes an error about a malformed file.
//!
//! Checks of the file before decoding bound the allocations of `arrow-ipc`, `parquet` and `draco-core`; see `table/arrow_check.rs` and
//! `table/parquet`.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use zvf_codec::isolate::isolate as caught;

use crate::error::{ConvertError, InFile};

/// Bytes of the stack of such a thread.
const STACK: usize = 16 << 20;

/// Runs a decoder of the file at `path`.
///
/// # Errors
/// The errors of `work`; malformed if it panics; I/O if no thread can be started.
pub(crate) fn isolate<T: Send>(
    path: &Path,
    work: impl FnOnce() -> Result<T, ConvertError> + Send,
) -> Result<T, ConvertError> {
    let mut found = None;
    stream(
        path,
        |out| {
            let _ = out.send(work()?);
            Ok(())
        },
        &mut |one| {
            found = Some(one);
            Ok(())
        },
    )?;
    found.ok_or_else(|| wrong(path, "it returned nothing"))
}

/// Runs a decoder of the file at `path` on a thread of its own and passes its items to `take` on this thread. Stops the decoder
/// when `take` fails.
///
/// # Errors
/// The errors of `work` and `take`; malformed if `work` panics; I/O if no thread can be started.
pub(crate) fn stream<T: Send>(
    path: &Path,
    work: impl FnOnce(&SyncSender<T>) -> Result<(), ConvertError> + Send,
    take: &mut dyn FnMut(T) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    thread::scope(|scope| {
        let (out, items) = sync_channel(1);
        let worker = thread::Builder::new()
            .name("zvf-decoder".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, move || caught(|| work(&out)))
            .map_err(|error| ConvertError::io(path, error))?;
        let taken = items.iter().try_for_each(take);
        // Closes the channel, which ends a decoder that waits to send.
        drop(items);
        let done = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        taken.and(done.unwrap_or_else(|panic| Err(wrong(path, &panic))))
    })
}

#[cold]
fn wrong(path: &Path, found: &str) -> ConvertError {
    let found = format!("data that the decoder cannot read ({found})");
    ConvertError::malformed(path, InFile::Whole, found, "an undamaged file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors_that_name_the_file() {
        let path = Path::new("a.parquet");
        let error = isolate(path, || -> Result<(), ConvertError> {
            panic!("a decoder fails")
        })
        .unwrap_err()
        .to_string();
        assert!(
            error.starts_with("a.parquet: found data that the decoder cannot"),
            "{error}"
        );
        assert_eq!(isolate(path, || Ok(3)).unwrap(), 3);
    }

    #[test]
    fn items_come_in_order_until_one_is_refused() {
        let path = Path::new("a.parquet");
        let numbers = |out: &SyncSender<u32>| {
            let _ = (0..100).try_for_each(|number| out.send(number));
            Ok(())
        };
        let mut all = Vec::new();
        stream(path, numbers, &mut |number| {
            all.push(number);
            Ok(())
        })
        .unwrap();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        let refused = stream(path, numbers, &mut |number| match number {
            7 => Err(ConvertError::usage("take", "7", "another")),
            _ => Ok(()),
        });
        assert_eq!(
            refused.unwrap_err().to_string(),
            "take: found 7, expected another"
        );
    }
}
