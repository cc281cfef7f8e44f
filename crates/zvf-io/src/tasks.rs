//! Polls futures and their tasks on the thread of the caller, instead of a runtime.
//!
//! Tasks belong to a set that outlives single calls, so the tasks of a stream continue when the stream is polled again.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use futures_channel::oneshot;

use crate::IoError;

thread_local! {
    /// The set that this thread polls.
    static CURRENT: RefCell<Option<Arc<Tasks>>> = const { RefCell::new(None) };
}

/// Tasks that are polled together.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// Tasks that were not polled yet.
    new: Mutex<Vec<SharedTask>>,
    running: Mutex<FuturesUnordered<SharedTask>>,
}

/// A task, shared with its handle, which may cancel it.
#[derive(Debug, Clone, Default)]
struct SharedTask(Arc<Mutex<TaskState>>);

#[derive(Default)]
struct TaskState {
    /// `None` once the task ended or was dropped.
    future: Option<BoxFuture<'static, ()>>,
    waker: Option<Waker>,
}

impl std::fmt::Debug for TaskState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TaskState")
    }
}

impl Future for SharedTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut work = locked(&self.0);
        let Some(future) = &mut work.future else {
            return Poll::Ready(());
        };
        if future.as_mut().poll(context).is_ready() {
            work.future = None;
            return Poll::Ready(());
        }
        work.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Cancels a task when its caller is dropped.
struct Handle(SharedTask);

impl Drop for Handle {
    fn drop(&mut self) {
        // The task is being polled by this thread and ends by itself.
        let Ok(mut work) = self.0.0.try_lock() else {
            return;
        };
        let (future, waker) = (work.future.take(), work.waker.take());
        drop(work);
        drop(future);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Whether the futures polled by this thread belong to a [`CallerRun`](crate::CallerRun). There is only one thread then, and blocking work
/// runs on it immediately.
#[must_use]
pub fn is_caller_run() -> bool {
    Tasks::current().is_some()
}

impl Tasks {
    /// The set that this thread polls.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs a future as a task of this set; it is dropped with its caller.
    ///
    /// # Errors
    /// Misuse: the set was already dropped.
    pub(crate) async fn drive(&self, work: BoxFuture<'static, ()>) -> Result<(), IoError> {
        let (to, ended) = oneshot::channel();
        let task = SharedTask::default();
        locked(&task.0).future = Some(Box::pin(async move {
            work.await;
            // Fails if the caller was dropped meanwhile.
            let _ = to.send(());
        }));
        locked(&self.new).push(task.clone());
        let _handle = Handle(task);
        ended
            .await
            .map_err(|_| IoError::misuse("the store was dropped while it was read"))
    }

    /// Polls a future and all tasks until none makes progress. `None` if the future is still pending.
    pub(crate) fn poll<T>(
        self: &Arc<Self>,
        mut main: Pin<&mut (dyn Future<Output = T> + '_)>,
    ) -> Option<T> {
        let _entered = Entered::new(self);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let turns = poll_fn(|context| {
            while woken.0.swap(false, Ordering::SeqCst) {
                if let Poll::Ready(value) = main.as_mut().poll(context) {
                    return Poll::Ready(Some(value));
                }
                self.poll_tasks(context);
            }
            Poll::Ready(None)
        });
        // Inside a task of tokio, the cooperative budget would suspend its semaphores until the next poll of that task.
        #[cfg(feature = "backends")]
        let turns = tokio::task::unconstrained(turns);
        match pin!(turns).poll(&mut context) {
            Poll::Ready(value) => value,
            Poll::Pending => None,
        }
    }

    /// Polls all tasks that can make progress, and those that they start.
    fn poll_tasks(&self, context: &mut Context<'_>) {
        let mut running = locked(&self.running);
        loop {
            running.extend(locked(&self.new).drain(..));
            let ended = running.poll_next_unpin(context);
            if !matches!(ended, Poll::Ready(Some(()))) && locked(&self.new).is_empty() {
                return;
            }
        }
    }

    /// Removes cancelled tasks.
    pub(crate) fn reap(self: &Arc<Self>) {
        let _ = self.poll::<()>(pin!(std::future::pending()));
    }
}

/// Makes a set the current set of this thread.
struct Entered(Option<Arc<Tasks>>);

impl Entered {
    fn new(tasks: &Arc<Tasks>) -> Self {
        Self(CURRENT.replace(Some(Arc::clone(tasks))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A waker that records that some task can make progress.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_channel::oneshot;

    use super::{Tasks, is_caller_run};
    use crate::{IoError, blocking, driven};

    #[test]
    fn tasks_run_while_their_caller_waits_for_another_future() {
        let tasks = Arc::new(Tasks::default());
        let (to, wait) = oneshot::channel::<u32>();
        // The second future waits for the first one, which its owner does not poll at that time.
        let main = async {
            let first = driven(async move {
                let inner = driven(async { Ok::<_, IoError>(6) }).await?;
                to.send(inner).map_err(|_| IoError::misuse("nobody waits"))
            });
            let mut first = Box::pin(first);
            assert!(futures::poll!(first.as_mut()).is_pending());
            let value = wait.await.unwrap();
            first.await.unwrap();
            let doubled = blocking(move || (value * 2, is_caller_run())).await;
            doubled.unwrap()
        };
        assert_eq!(tasks.poll(pin!(main)), Some((12, true)));
        assert!(!is_caller_run());
    }

    #[tokio::test]
    async fn the_budget_of_a_task_of_tokio_does_not_count() {
        let tasks = Arc::new(Tasks::default());
        let slots = Arc::new(tokio::sync::Semaphore::new(1));
        let main = async {
            for _ in 0..1000 {
                let slots = Arc::clone(&slots);
                driven(async move {
                    let _slot = slots.acquire_owned().await;
                    Ok::<_, IoError>(())
                })
                .await
                .unwrap();
            }
        };
        assert_eq!(tasks.poll(pin!(main)), Some(()));
    }

    #[test]
    fn a_dropped_caller_drops_its_task_at_once() {
        struct Counts(Arc<AtomicU32>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let tasks = Arc::new(Tasks::default());
        let dropped = Arc::new(AtomicU32::new(0));
        let held = Counts(Arc::clone(&dropped));
        let mut work = Box::pin(driven(async move {
            let _held = held;
            std::future::pending::<Result<(), IoError>>().await
        }));
        assert!(tasks.poll(work.as_mut()).is_none());
        assert_eq!(tasks.running.lock().unwrap().len(), 1);
        drop(work);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        tasks.reap();
        assert_eq!(tasks.running.lock().unwrap().len(), 0);
    }
}
