//! A few threads for short work: reading local files, decoding, and processing decoded chunks.
//!
//! A query has dozens of groups of chunks in flight. With a thread for each, the allocator of each thread keeps the buffers of its last chunks, and new
//! buffers need new memory: page faults took more than half of the CPU time of a scan. So the pool has one thread more than there are cores. If jobs
//! wait for files, as on a network file system, the pool gets as many threads as keep the cores busy.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_channel::oneshot;

use zvf_grid::int::wide;

use crate::IoError;

/// Maximum number of threads.
const MOST: usize = 64;

/// How long a thread without work waits before it ends. Allocators keep memory that other threads freed until the thread that allocated
/// it allocates again or ends.
const KEEP_ALIVE: Duration = Duration::from_millis(100);

/// After jobs that took this long, a thread measures how much of the time it waited.
const MEASURE_AFTER: Duration = Duration::from_millis(2);

/// The outcome of a job: its panic, if it panicked.
type Ended = thread::Result<()>;

struct Job {
    work: Box<dyn FnOnce() + Send>,
    done: oneshot::Sender<Ended>,
}

static POOL: LazyLock<Pool> = LazyLock::new(Pool::default);

#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    added: Condvar,
}

struct State {
    queue: VecDeque<Job>,
    /// Number of threads.
    threads: usize,
    /// Number of threads that wait for a job.
    idle: usize,
    /// The current maximum number of threads.
    limit: usize,
    /// The maximum if no job waits for files, at least two; [`MOST`] if waiting cannot be measured.
    least: usize,
}

impl Default for State {
    fn default() -> Self {
        let least = match has_waited_time() {
            true => thread::available_parallelism().map_or(2, usize::from) + 1,
            false => MOST,
        };
        Self {
            queue: VecDeque::new(),
            threads: 0,
            idle: 0,
            limit: least.min(MOST),
            least: least.min(MOST),
        }
    }
}

impl State {
    /// Moves the limit on threads halfway to the number that keeps all cores busy if all jobs wait for the same share of their time as these: they took
    /// `worked`, and were on a core or ready for one for `ready`.
    fn pace(&mut self, worked: Duration, ready: Duration) {
        let cores = u128::from(wide(self.least - 1));
        let busy = (cores * worked.as_micros()).div_ceil(ready.as_micros().max(1));
        let wanted = usize::try_from(busy + 1).map_or(MOST, |wanted| wanted.min(MOST));
        self.limit = self.limit.midpoint(wanted).clamp(self.least, MOST);
    }
}

/// Queues a job. It does not run if the receiver is dropped before a thread takes it.
///
/// # Errors
/// I/O: there is no thread, and none can be started.
pub(crate) fn push(work: Box<dyn FnOnce() + Send>) -> Result<oneshot::Receiver<Ended>, IoError> {
    let (done, ended) = oneshot::channel();
    let mut state = POOL.state();
    state.queue.push_back(Job { work, done });
    if let Err(error) = POOL.start(&mut state)
        && state.threads == 0
    {
        state.queue.clear();
        return Err(IoError::backend("threads", error));
    }
    // If a thread could not be started, the running threads take the job.
    drop(state);
    POOL.added.notify_one();
    Ok(ended)
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts threads for queued jobs that no idle thread takes.
    ///
    /// # Errors
    /// The system cannot start another thread.
    fn start(&'static self, state: &mut State) -> std::io::Result<()> {
        let wanted = state.queue.len().saturating_sub(state.idle);
        for _ in 0..wanted.min(state.limit.saturating_sub(state.threads)) {
            let builder = thread::Builder::new().name("zvf-worker".to_owned());
            builder.spawn(move || self.work())?;
            state.threads += 1;
        }
        Ok(())
    }

    /// Runs jobs on this thread until it has had none for [`KEEP_ALIVE`], or there are too many threads.
    fn work(&'static self) {
        let mut waits = Waits {
            worked: Duration::ZERO,
            ready: ready_time(),
        };
        while let Some(job) = self.next() {
            if job.done.is_canceled() {
                continue;
            }
            let start = Instant::now();
            let ended = catch_unwind(AssertUnwindSafe(job.work));
            // The caller may have stopped waiting.
            let _ = job.done.send(ended);
            let Some((worked, ready)) = waits.add(start.elapsed()) else {
                continue;
            };
            let mut state = self.state();
            state.pace(worked, ready);
            // If a thread cannot be started, the running threads take the jobs.
            let _ = self.start(&mut state);
        }
    }

    /// The next job; `None` if the thread must end.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        let until = Instant::now() + KEEP_ALIVE;
        while state.threads <= state.limit {
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.idle += 1;
            let waited = self.added.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        state.threads -= 1;
        if !state.queue.is_empty() {
            // This thread may have been woken for the queued job, so another thread must be woken.
            self.added.notify_one();
        }
        None
    }
}

/// How long the jobs of a thread took, and when it last measured how long it waited.
struct Waits {
    worked: Duration,
    /// The result of [`ready_time`] at the last measurement.
    ready: Option<Duration>,
}

impl Waits {
    /// Adds the time of a job. Every [`MEASURE_AFTER`], returns how long the jobs since the last measurement took, and how much of this time the thread
    /// was on a core or ready for one. In the rest of the time it waited for files.
    fn add(&mut self, worked: Duration) -> Option<(Duration, Duration)> {
        self.worked += worked;
        if self.worked < MEASURE_AFTER {
            return None;
        }
        let now = ready_time();
        let before = std::mem::replace(&mut self.ready, now);
        let worked = std::mem::take(&mut self.worked);
        Some((worked, now?.checked_sub(before?)?))
    }
}

fn has_waited_time() -> bool {
    ready_time().is_some()
}

/// How long this thread has been on a core or ready for one: the first two numbers of `schedstat` (Linux). `None` on other systems.
fn ready_time() -> Option<Duration> {
    let text = match cfg!(target_os = "linux") {
        true => std::fs::read_to_string("/proc/thread-self/schedstat").ok()?,
        false => return None,
    };
    let mut numbers = text.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse().ok().map(Duration::from_nanos);
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn work_that_waits_gets_more_threads() -> Result<(), IoError> {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let ended = (0..40 * MOST).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            push(Box::new(move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(2));
                running.fetch_sub(1, Ordering::SeqCst);
            }))
        });
        let ended = ended.collect::<Result<Vec<_>, _>>()?;
        for one in ended {
            assert!(one.await.is_ok_and(|ended| ended.is_ok()));
        }
        let most = most.load(Ordering::SeqCst);
        let least = State::default().least;
        assert!(most > least || least == MOST, "{most} of {least}");
        assert!(most <= MOST, "{most}");
        Ok(())
    }

    #[tokio::test]
    async fn work_of_a_caller_that_is_gone_does_not_run() -> Result<(), IoError> {
        let ran = Arc::new(AtomicUsize::new(0));
        let mut last = None;
        for number in 0..10 * MOST {
            let ran = Arc::clone(&ran);
            let ended = push(Box::new(move || {
                thread::sleep(Duration::from_millis(1));
                ran.fetch_add(1, Ordering::SeqCst);
            }))?;
            last = (number + 1 == 10 * MOST).then_some(ended);
        }
        let last = last.ok_or_else(|| IoError::misuse("no work"))?;
        assert!(last.await.is_ok_and(|ended| ended.is_ok()));
        assert!(ran.load(Ordering::SeqCst) < 10 * MOST);
        Ok(())
    }
}
