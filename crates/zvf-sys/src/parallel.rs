//! Runs jobs on several threads, and passes the results to one thread.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

/// Runs jobs on up to `threads` threads, and passes their results to `take` on the calling thread, in any order.
///
/// `start` creates the worker of one thread. The worker gets a job and a function that accepts its results. A single job, and all jobs if
/// `threads` is at most 1, run on the calling thread. The iterator of jobs runs under a lock.
///
/// # Cost
/// Starts threads, which end before this function returns. Workers wait while `threads` results have not been taken.
///
/// # Errors
/// The first error of a worker or of `take`. Jobs that have begun are finished, no others begin, and their results are dropped.
///
/// ```
/// let mut sum = 0;
/// let square = || |n: u64, emit: &mut dyn FnMut(u64)| Ok::<_, ()>(emit(n * n));
/// zvf_sys::in_parallel(2, 1..=4, square, |n| Ok(sum += n))?;
/// assert_eq!(sum, 30);
/// # Ok::<(), ()>(())
/// ```
pub fn in_parallel<J, R, E, W>(
    threads: usize,
    jobs: impl IntoIterator<Item = J, IntoIter: Send>,
    start: impl Fn() -> W + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    R: Send,
    E: Send,
    W: FnMut(J, &mut dyn FnMut(R)) -> Result<(), E>,
{
    let mut jobs = jobs.into_iter();
    let first: Vec<J> = jobs.by_ref().take(threads.max(1)).collect();
    if first.is_empty() {
        return Ok(());
    }
    if first.len() == 1 {
        let mut work = start();
        return first.into_iter().chain(jobs).try_for_each(|job| {
            let mut taken = Ok(());
            work(job, &mut |result| {
                if taken.is_ok() {
                    taken = take(result);
                }
            })?;
            taken
        });
    }
    let stopped = AtomicBool::new(false);
    let jobs = Mutex::new(jobs);
    let next = || match stopped.load(Relaxed) {
        true => None,
        false => jobs.lock().unwrap_or_else(PoisonError::into_inner).next(),
    };
    std::thread::scope(|scope| {
        let (to, results) = sync_channel(threads);
        for job in first {
            let (to, start, next, stopped) = (to.clone(), &start, &next, &stopped);
            scope.spawn(move || {
                let mut work = start();
                for job in std::iter::once(job).chain(std::iter::from_fn(next)) {
                    // Sending fails only if the receiver was dropped after an error; the results are then not needed.
                    let done = work(job, &mut |result| drop(to.send(Ok(result))));
                    if let Err(error) = done {
                        stopped.store(true, Relaxed);
                        drop(to.send(Err(error)));
                    }
                    if stopped.load(Relaxed) {
                        break;
                    }
                }
            });
        }
        drop(to);
        for result in results {
            if let Err(error) = result.and_then(&mut take) {
                stopped.store(true, Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::in_parallel;

    #[test]
    fn every_job_is_done_once_by_any_number_of_threads() {
        for threads in [0, 1, 3, 100] {
            let mut seen = vec![0; 50];
            let starts = AtomicUsize::new(0);
            let start = || {
                starts.fetch_add(1, SeqCst);
                |job: usize, emit: &mut dyn FnMut(usize)| {
                    emit(job);
                    emit(job + 25);
                    Ok::<_, ()>(())
                }
            };
            in_parallel(threads, 0..25, start, |job| {
                seen[job] += 1;
                Ok(())
            })
            .unwrap();
            assert!(seen.iter().all(|n| *n == 1), "{threads}: {seen:?}");
            assert_eq!(starts.into_inner(), threads.clamp(1, 25));
        }
    }

    #[test]
    fn the_first_error_ends_the_work() {
        for threads in [1, 4] {
            let done = AtomicUsize::new(0);
            let fails = |bad: usize| {
                let done = &done;
                move || {
                    move |job: usize, emit: &mut dyn FnMut(usize)| {
                        done.fetch_add(1, SeqCst);
                        emit(job);
                        if job == bad { Err(job) } else { Ok(()) }
                    }
                }
            };
            let endless = || 0_usize..;
            assert_eq!(
                in_parallel(threads, endless(), fails(9), |_| Ok(())),
                Err(9)
            );
            let taken = in_parallel(threads, endless(), fails(usize::MAX), |job| match job {
                7 => Err(7),
                _ => Ok(()),
            });
            assert_eq!(taken, Err(7));
        }
    }
}
