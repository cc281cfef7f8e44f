//! A few threads that share a queue.

use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use crate::WriteError;

/// Applies `work` to every job on `threads` threads, and `take` to every result on the calling one, in the order in which
/// they come. Not more than one job a thread is under way beside the results that wait, so that memory is bounded by the
/// jobs. The first error ends everything.
pub(crate) fn each<J: Send, R: Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    work: impl Fn(J) -> Result<R, WriteError> + Sync,
    mut take: impl FnMut(R) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let queue = Mutex::new(jobs);
    let (send, receive) = sync_channel::<Result<R, WriteError>>(threads.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (send, queue, work) = (send.clone(), &queue, &work);
            scope.spawn(move || {
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(job) = job else { break };
                    // The receiver is gone once there was an error.
                    if send.send(work(job)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        for result in receive {
            take(result?)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::each;
    use crate::WriteError;

    #[test]
    fn every_job_is_done_once_and_errors_end_it() {
        let mut found = Vec::new();
        each(
            3,
            0..1000_u32,
            |job| Ok(job * 2),
            |done| {
                found.push(done);
                Ok(())
            },
        )
        .unwrap();
        found.sort_unstable();
        assert_eq!(found, (0..1000).map(|job| job * 2).collect::<Vec<_>>());
        let failing = |job: u32| {
            if job == 7 {
                Err(WriteError::limit("jobs", 7, 6))
            } else {
                Ok(())
            }
        };
        assert!(each(2, 0..u32::MAX, failing, |()| Ok(())).is_err());
    }
}
