//! Work on several threads, in memory that is bounded by the jobs in progress; and blocking work in asynchronous programs.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::WriteError;
use crate::lock::lock;

/// The turns of jobs, in the order in which they were started.
#[derive(Debug, Default)]
struct Turns {
    next: Mutex<usize>,
    passed: Condvar,
}

/// The turn of one job. It is passed on even if the job ends without taking it.
#[derive(Debug)]
pub struct Turn<'t> {
    turns: &'t Turns,
    number: usize,
}

impl Turns {
    fn of(&self, number: usize) -> Turn<'_> {
        Turn {
            turns: self,
            number,
        }
    }
}

impl Turn<'_> {
    /// Waits until all jobs that were started before have had their turn, then runs `work`, the part that depends on the order of jobs.
    pub fn take<R>(self, work: impl FnOnce() -> R) -> R {
        self.wait();
        work()
    }

    fn wait(&self) {
        let next = lock(&self.turns.next);
        let waits = |next: &mut usize| *next < self.number;
        drop(self.turns.passed.wait_while(next, waits));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.wait();
        *lock(&self.turns.next) += 1;
        self.turns.passed.notify_all();
    }
}

/// The weight that running jobs may have in total.
#[derive(Debug)]
struct Room {
    used: Mutex<u64>,
    most: u64,
    freed: Condvar,
}

/// The share of a job; released when it is dropped.
#[derive(Debug)]
struct Share<'r>(&'r Room, u64);

impl Room {
    /// Waits until the job fits the total; a job that weighs more than the total runs alone.
    fn share(&self, weight: u64) -> Share<'_> {
        let used = lock(&self.used);
        let full = |used: &mut u64| *used > 0 && used.saturating_add(weight) > self.most;
        let used = self.freed.wait_while(used, full);
        let mut used = used.unwrap_or_else(PoisonError::into_inner);
        *used += weight;
        Share(self, weight)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let Self(room, weight) = self;
        let mut used = lock(&room.used);
        *used -= *weight;
        room.freed.notify_all();
    }
}

/// Like [`each_in_turn`], for jobs with weights: running jobs weigh at most `most` in total, unless one runs alone.
pub fn each_within<J: Send, R: Send>(
    threads: usize,
    most: u64,
    jobs: impl Iterator<Item = (u64, J)> + Send,
    work: impl Fn(J, Turn<'_>) -> Result<R, WriteError> + Sync,
    take: impl FnMut(R) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let room = Room {
        used: Mutex::new(0),
        most,
        freed: Condvar::new(),
    };
    let (entry, turns) = (Turns::default(), Turns::default());
    let work = |(number, (weight, job)): (usize, (u64, J))| {
        let turn = turns.of(number);
        // Jobs get their share in order, so that all jobs that a job waits for have theirs.
        let _share = entry.of(number).take(|| room.share(weight));
        work(job, turn)
    };
    each(threads, jobs.enumerate(), work, take)
}

/// Like [`each`], with a turn for every job, in the order of the jobs.
pub fn each_in_turn<J: Send, R: Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    work: impl Fn(J, Turn<'_>) -> Result<R, WriteError> + Sync,
    take: impl FnMut(R) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let turns = Turns::default();
    let work = |(number, job): (usize, J)| work(job, turns.of(number));
    each(threads, jobs.enumerate(), work, take)
}

/// Applies `work` to every job on `threads` threads, and `take` to every result on the calling thread, in the order of completion. At most `threads` jobs
/// run and `threads` results wait at a time, so that memory is bounded. The first error is returned after the running jobs have ended; the remaining
/// jobs are skipped.
pub fn each<J: Send, R: Send>(
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
                    let job = lock(queue).next();
                    let Some(job) = job else { break };
                    // After an error, the receiver no longer exists.
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

/// Like [`each`], with results in the order of the jobs. A single job or thread runs on the calling thread.
pub fn ordered<J: Send, R: Send>(
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
                next += 1;
            }
            Ok(())
        },
    )
}

/// An item of a job: the index of the object that it is written to, its bytes, and the item.
pub type WorkItem<T> = (Vec<u64>, u64, T);

/// A job is full if its items have this many bytes, or if it has this many items.
const JOB_BYTES: u64 = 4 << 20;
const JOB_ITEMS: usize = 256;

/// Groups items into jobs of a useful size; items of one object are in one job. The job with most bytes is the first: [codecs](crate::level::LevelCells::choose)
/// are chosen from the first cells of an array, and those at the corner of a grid may be tiny.
pub fn pack<T>(mut items: Vec<WorkItem<T>>) -> Vec<Vec<T>> {
    items.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let mut jobs: Vec<(u64, Vec<T>)> = Vec::new();
    let mut before = Vec::new();
    for (object, size, item) in items {
        let full = |(bytes, job): &(u64, Vec<T>)| *bytes >= JOB_BYTES || job.len() >= JOB_ITEMS;
        match jobs.last_mut() {
            Some(last) if !full(last) || object == before => {
                last.0 += size;
                last.1.push(item);
            }
            _ => jobs.push((size, vec![item])),
        }
        before = object;
    }
    // The first of equally large jobs, and the others in order, so that the result depends only on the items.
    let largest = (0..jobs.len())
        .rev()
        .max_by_key(|&at| jobs.get(at).map(|(bytes, _)| *bytes));
    if let Some(until) = largest.and_then(|at| jobs.get_mut(..=at)) {
        until.rotate_right(1);
    }
    jobs.into_iter().map(|(_, job)| job).collect()
}

/// Runs blocking work on a separate thread, so that it does not block the tasks of the runtime.
///
/// # Errors
/// The errors of the work. [`WriteError::Broken`] if it panicked or the runtime ends.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WriteError> + Send + 'static,
) -> Result<T, WriteError> {
    // Boxed, so that the runtime's code is compiled once and not for each closure.
    let (to, result) = tokio::sync::oneshot::channel();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || drop(to.send(work())));
    let broken = |what: String| WriteError::Broken { what };
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|error| broken(error.to_string()))?;
    result.await.map_err(|error| broken(error.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::{each, each_in_turn, each_within, ordered, pack};
    use crate::WriteError;

    #[test]
    fn the_largest_job_is_the_first_and_objects_stay_together() {
        let mib = 1 << 20;
        let items = |sizes: &[(u64, u64)]| {
            let items = sizes.iter().enumerate();
            pack(
                items
                    .map(|(item, (object, size))| (vec![*object], size * mib, item))
                    .collect(),
            )
        };
        let found = items(&[
            (0, 1),
            (1, 1),
            (2, 3),
            (3, 4),
            (4, 9),
            (4, 9),
            (5, 1),
            (6, 1),
        ]);
        assert_eq!(found, [vec![4, 5], vec![0, 1, 2], vec![3], vec![6, 7]]);
        // The first of equal jobs.
        assert_eq!(items(&[(0, 4), (1, 4)]), [[0], [1]]);
        assert_eq!(items(&[]), Vec::<Vec<usize>>::new());
    }

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
    fn jobs_under_way_weigh_no_more_than_they_may() {
        use std::sync::atomic::{AtomicU64, Ordering};
        let (now, most, mut done) = (AtomicU64::new(0), AtomicU64::new(0), 0);
        // Every tenth job weighs more than the total.
        let jobs = (0..200_u64).map(|job| {
            let weight = if job % 10 == 0 { 50 } else { 4 };
            (weight, weight)
        });
        let work = |weight: u64, _: super::Turn<'_>| {
            let before = now.fetch_add(weight, Ordering::SeqCst);
            most.fetch_max(before + weight, Ordering::SeqCst);
            assert!(before == 0 || before + weight <= 9, "{before} and {weight}");
            std::thread::yield_now();
            now.fetch_sub(weight, Ordering::SeqCst);
            Ok(())
        };
        each_within(4, 9, jobs, work, |()| {
            done += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!((done, most.into_inner()), (200, 50));
    }

    #[test]
    fn turns_are_taken_in_the_order_of_the_jobs() {
        for threads in [1, 4] {
            let order = std::sync::Mutex::new(Vec::new());
            let work = |job: usize, turn: super::Turn<'_>| {
                (0..job % 5).for_each(|_| std::thread::yield_now());
                // Every third job ends without its turn.
                if !job.is_multiple_of(3) {
                    turn.take(|| order.lock().unwrap().push(job));
                }
                Ok(())
            };
            each_in_turn(threads, 0..200, work, |()| Ok(())).unwrap();
            let weighed = (0..200).map(|job| (if job % 10 == 0 { 50 } else { 4 }, job));
            each_within(threads, 9, weighed, work, |()| Ok(())).unwrap();
            let expected = (0..200).chain(0..200).filter(|job| job % 3 != 0);
            assert!(order.into_inner().unwrap().into_iter().eq(expected));
        }
        let failing = |job: u32, _: super::Turn<'_>| match job {
            7 => Err(WriteError::limit("jobs", 7, 6)),
            _ => Ok(()),
        };
        assert!(each_in_turn(3, 0..1000, failing, |()| Ok(())).is_err());
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
