//! A few threads that share a queue.

use std::collections::BTreeMap;
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

/// As [`each`], with results in the order of the jobs. One job, or one thread, needs no other.
pub(crate) fn ordered<J: Send, R: Send>(
    threads: usize,
    mut jobs: impl ExactSizeIterator<Item = J> + Send,
    work: impl Fn(J) -> Result<R, WriteError> + Sync,
    mut take: impl FnMut(R) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    if threads <= 1 || jobs.len() <= 1 {
        return jobs.try_for_each(|job| take(work(job)?));
    }
    let mut early = BTreeMap::new();
    let mut next = 0_usize;
    each(
        threads.min(jobs.len()),
        jobs.enumerate(),
        |(number, job)| Ok((number, work(job)?)),
        |(number, result)| {
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                take(result)?;
                next = next.saturating_add(1);
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::{each, ordered};
    use crate::WriteError;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for (threads, many) in [(1, 50), (4, 1), (4, 0), (4, 500)] {
            let mut found = Vec::new();
            ordered(
                threads,
                (0..many).collect::<Vec<u32>>().into_iter(),
                |job| {
                    // Later jobs are quicker than earlier ones.
                    (0..(many - job) % 7).for_each(|_| std::thread::yield_now());
                    Ok(job)
                },
                |done| {
                    found.push(done);
                    Ok(())
                },
            )
            .unwrap();
            assert!(found.iter().copied().eq(0..many));
        }
    }

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
