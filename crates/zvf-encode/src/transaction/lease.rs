//! The marker of a change as a lease: it is renewed while its writer runs, and may be taken over afterwards.
//!
//! Clocks of two machines are never compared. A writer that takes over puts an object and compares the times that the *server* gives to it and to the
//! marker. The holder of the marker measures, by its own clock, the time since the last successful renewal *began*, and stops well before the lease
//! ends.
//!
//! ```text
//! renewed every 1/4 of the lease;  not trusted by its holder after 2/3;  may be taken over after the whole lease and 2 s
//! ```
//!
//! A marker is replaced only in the state in which it was read, so that one of several takeovers succeeds, and a late renewal fails.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};

use crate::WriteError;
use crate::lock::lock;
use crate::target::{SeenObject, Target, unique};

/// The length of a lease, unless [`WriteOptions`](crate::WriteOptions) state another one.
pub const LEASE: Duration = Duration::from_secs(60);

/// The member of a marker whose writer has ended without removing it.
pub(crate) const OVER: &str = "over";

/// Time after the end of a lease until it may be taken over, because servers state times in whole seconds.
const MARGIN: Duration = Duration::from_secs(2);

/// The longest lease in milliseconds. A longer one in a marker is reduced to it, because the number comes from a file.
const LONGEST: u64 = 24 * 60 * 60 * 1000;

/// A marker that this writer holds and renews.
#[derive(Debug)]
pub struct Lease {
    target: Arc<Target>,
    /// The key of the marker.
    key: String,
    length: Duration,
    held: Arc<Mutex<LeaseState>>,
    renewing: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The state of the marker.
#[derive(Debug)]
struct LeaseState {
    seen: SeenObject,
    /// The start of its last successful put, by two clocks: the first may stop while the machine sleeps, the second may be set.
    since: (Instant, SystemTime),
    lost: bool,
}

impl Lease {
    /// Puts the marker and begins to renew it; `None` if there is one already.
    pub fn begin(
        target: &Arc<Target>,
        key: &str,
        marker: Map<String, Value>,
        length: Duration,
    ) -> Result<Option<Self>, WriteError> {
        let since = (Instant::now(), SystemTime::now());
        let put = target.put_new_seen(key, beat(&marker, length, 0))?;
        Ok(put.map(|seen| Self::hold(target, key, marker, length, (seen, since))))
    }

    /// Replaces a marker in the state in which it was read; `None` if it has changed.
    pub fn take(
        target: &Arc<Target>,
        key: &str,
        marker: Map<String, Value>,
        length: Duration,
        other: &SeenObject,
    ) -> Result<Option<Self>, WriteError> {
        let since = (Instant::now(), SystemTime::now());
        let put = target.take_over(key, other, beat(&marker, length, 0))?;
        Ok(put.map(|seen| Self::hold(target, key, marker, length, (seen, since))))
    }

    fn hold(
        target: &Arc<Target>,
        key: &str,
        marker: Map<String, Value>,
        length: Duration,
        (seen, since): (SeenObject, (Instant, SystemTime)),
    ) -> Self {
        let held = Arc::new(Mutex::new(LeaseState {
            seen,
            since,
            lost: false,
        }));
        let (stop, stopped) = channel::<()>();
        let (at, state, name) = (Arc::clone(target), Arc::clone(&held), key.to_owned());
        let renew = move || {
            let mut number = 0_u64;
            while stopped.recv_timeout(length / 4) == Err(RecvTimeoutError::Timeout) {
                number += 1;
                let since = (Instant::now(), SystemTime::now());
                let before = lock(&state).seen.clone();
                let done = at.replace(&name, &before, beat(&marker, length, number));
                let mut held = lock(&state);
                match done {
                    Ok(Some(seen)) => (held.seen, held.since) = (seen, since),
                    Ok(None) => {
                        held.lost = true;
                        return;
                    }
                    // The next renewal may succeed; if none does, the lease ends.
                    Err(_) => {}
                }
            }
        };
        let name = "zvf-lease".to_owned();
        // Without the thread, nothing renews the lease, and it ends early.
        let thread = std::thread::Builder::new().name(name).spawn(renew).ok();
        Self {
            target: Arc::clone(target),
            key: key.to_owned(),
            length,
            held,
            renewing: thread.map(|thread| (stop, thread)),
        }
    }

    /// Whether the marker cannot have been taken over.
    pub(crate) fn holds(&self) -> bool {
        holds(&self.held, self.length)
    }

    /// Returns a function that reports whether the lease certainly still holds.
    pub fn watch(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (held, length) = (Arc::clone(&self.held), self.length);
        move || holds(&held, length)
    }

    /// Whether the marker exists and is ours.
    pub(crate) fn is_there(&self) -> bool {
        let ours = lock(&self.held).seen.bytes.clone();
        let found = self.target.read(&self.key);
        let later = || lock(&self.held).seen.bytes.clone();
        found.is_ok_and(|found| found.is_some_and(|found| found == ours || found == later()))
    }

    /// Whether another writer has certainly taken the marker over, or removed it. A renewal in progress is no takeover.
    pub(crate) fn is_taken_over(&self) -> bool {
        let writer = |bytes: &[u8]| {
            let marker: Value = serde_json::from_slice(bytes).ok()?;
            marker.get("writer").cloned()
        };
        let ours = writer(&lock(&self.held).seen.bytes);
        let found = self.target.read(&self.key);
        found.is_ok_and(|found| found.as_deref().and_then(writer) != ours)
    }

    /// Removes the marker, if it is ours. If that fails, tries to record in it that it has no owner.
    pub fn end(mut self) -> Result<(), WriteError> {
        self.stop();
        let held = lock(&self.held);
        if held.lost {
            return Ok(());
        }
        let removed = self.target.remove_own(&self.key, &held.seen.bytes);
        if removed.is_err() {
            self.hand_over(&held.seen);
        }
        removed.map(|_| ())
    }

    /// Keeps the marker of a change that is committed and applied: it records that it has no owner.
    pub(crate) fn give_up(mut self) {
        self.stop();
        let held = lock(&self.held);
        if !held.lost {
            self.hand_over(&held.seen);
        }
    }

    fn hand_over(&self, seen: &SeenObject) {
        let mut marker: Map<String, Value> =
            serde_json::from_slice(&seen.bytes).unwrap_or_default();
        marker.insert(OVER.to_owned(), Value::from(true));
        let bytes = Value::Object(marker).to_string().into_bytes();
        // If this fails, the next writer waits until the lease ends.
        let _ = self.target.replace(&self.key, seen, bytes);
    }

    /// Keeps the marker for the next writer to take over.
    pub(crate) fn leave(mut self) {
        self.stop();
    }

    /// Ends the renewals, and waits for a running one.
    fn stop(&mut self) {
        if let Some((stop, thread)) = self.renewing.take() {
            drop(stop);
            // A thread that panicked renews nothing.
            let _ = thread.join();
        }
    }
}

fn holds(held: &Mutex<LeaseState>, length: Duration) -> bool {
    let held = lock(held);
    let by_wall = held.since.1.elapsed().unwrap_or_default();
    !held.lost && held.since.0.elapsed().max(by_wall) < length / 3 * 2
}

/// The bytes of a marker; they differ in every renewal.
fn beat(marker: &Map<String, Value>, length: Duration, number: u64) -> Vec<u8> {
    let mut marker = marker.clone();
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    marker.insert("lease_ms".to_owned(), Value::from(length));
    marker.insert("renewed".to_owned(), Value::from(number));
    Value::Object(marker).to_string().into_bytes()
}

/// How long the writer may still clean up after its change is complete.
const GRACE: Duration = Duration::from_secs(5);

/// Whether a marker that was read may be taken over: its writer recorded that it ended, or let the lease end; or the root shows that its change is
/// `done`, and its writer has had time to clean up. A marker without a lease never expires.
pub fn is_free(
    target: &Target,
    marker: &Value,
    seen: &SeenObject,
    (root, done): (&SeenObject, bool),
) -> Result<bool, WriteError> {
    if marker.get(OVER) == Some(&Value::from(true)) {
        return Ok(true);
    }
    let length = marker.get("lease_ms").and_then(Value::as_u64);
    let Some(length) = length else {
        return Ok(false);
    };
    let lease = Duration::from_millis(length.min(LONGEST)).saturating_add(MARGIN);
    let folder = zvf_store::writing::Redo::folder_of(&format!("{:x}", unique()));
    let now = target.now(&format!("{folder}/now"))?;
    let longer = |than: Duration, seen: &SeenObject| {
        let passed = now.zip(seen.modified);
        let passed = passed.and_then(|(now, then)| now.duration_since(then).ok());
        passed.is_some_and(|passed| passed > than)
    };
    Ok(longer(lease, seen) || (done && longer(GRACE, root)))
}
