//! A backend that injects faults into another one.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, SubsecRound, Utc};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::body;
use super::bucket::read_only;
use super::rule::{Ask, Fault, Rule, Swap, refusal};

/// How many requests of each kind arrived, and how many of them were affected by a fault other than a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Reads of objects or parts of them.
    pub gets: u64,
    /// Requests with a condition, such as an ETag.
    pub conditional: u64,
    /// Reads of metadata.
    pub heads: u64,
    /// Listings.
    pub lists: u64,
    /// Requests that were affected by a fault other than a delay.
    pub faults: u64,
}

/// One request, as the backend saw it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seen {
    /// What kind of request.
    pub ask: Ask,
    /// Key or prefix.
    pub key: String,
    /// The range as text; empty for whole objects and listings.
    pub range: String,
}

/// A backend that wraps another one and injects faults. See the [module](super).
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn ObjectStore>,
    seed: u64,
    rules: Vec<Rule>,
    swaps: Vec<Swap>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    seen: Vec<Seen>,
    /// How often each request arrived.
    asked: HashMap<Seen, u64>,
    /// When each swap happened.
    swapped: Vec<Option<DateTime<Utc>>>,
}

/// The faults and the swap that affect one request, determined when it arrives.
struct Fate {
    faults: Vec<Fault>,
    swap: Option<(Arc<dyn ObjectStore>, DateTime<Utc>)>,
}

impl Faulty {
    /// Without rules, passes all requests to `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, seed: u64) -> Self {
        Self {
            inner,
            seed,
            rules: Vec::new(),
            swaps: Vec::new(),
            state: Arc::default(),
        }
    }

    /// Adds a rule. Delays of several rules add up; of other faults, only the first rule that matches a request applies.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Delays every request.
    #[must_use]
    pub fn latency(self, latency: Duration) -> Self {
        self.rule(Rule::new(Fault::Delay(latency)))
    }

    /// Replaces objects after a number of requests. If several swaps have happened, the last one that selects the key applies.
    #[must_use]
    pub fn swap(mut self, swap: Swap) -> Self {
        self.swaps.push(swap);
        self
    }

    /// The numbers of requests so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Every request so far, in order of arrival.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request and determines its faults.
    fn decide(&self, ask: Ask, key: &str, options: Option<&GetOptions>) -> Fate {
        let range = options.and_then(|options| options.range.as_ref());
        let seen = Seen {
            ask,
            key: key.to_owned(),
            range: range.map(ToString::to_string).unwrap_or_default(),
        };
        let mut state = self.lock();
        match ask {
            Ask::Get => state.counts.gets += 1,
            Ask::Head => state.counts.heads += 1,
            Ask::List => state.counts.lists += 1,
        }
        if options.is_some_and(is_conditional) {
            state.counts.conditional += 1;
        }
        let before = state.asked.entry(seen.clone()).or_default();
        let attempt = *before;
        *before += 1;
        let mut faults = Vec::new();
        let mut spoiled = false;
        for (number, rule) in self.rules.iter().enumerate() {
            let delay = matches!(rule.fault, Fault::Delay(_));
            let meets = (rule.keys)(key)
                && rule.ask.is_none_or(|wanted| wanted == ask)
                && attempt < rule.times
                && (rule.share >= 1.0 || dice(self.seed, number, &seen, attempt) < rule.share);
            if meets && (delay || !spoiled) {
                spoiled |= !delay;
                faults.push(rule.fault.clone());
            }
        }
        state.counts.faults += u64::from(spoiled);
        state.seen.push(seen);
        let count = state.seen.len() as u64;
        state.swapped.resize(self.swaps.len(), None);
        let mut swap = None;
        for (rule, at) in self.swaps.iter().zip(&mut state.swapped) {
            if count <= rule.after {
                continue;
            }
            let now = || {
                let now = Utc::now();
                if rule.whole_seconds {
                    now.trunc_subsecs(0)
                } else {
                    now
                }
            };
            let at = *at.get_or_insert_with(now);
            if (rule.keys)(key) {
                swap = Some((Arc::clone(&rule.other), at));
            }
        }
        Fate { faults, swap }
    }
}

fn is_conditional(options: &GetOptions) -> bool {
    options.if_match.is_some()
        || options.if_none_match.is_some()
        || options.if_modified_since.is_some()
        || options.if_unmodified_since.is_some()
}

/// A number in `0.0..1.0` that depends only on the arguments.
#[allow(clippy::cast_precision_loss, reason = "53 bits are kept")]
fn dice(seed: u64, rule: usize, seen: &Seen, attempt: u64) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, rule, seen, attempt).hash(&mut hasher);
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Applies the faults that precede a response: delays, hanging and errors.
async fn before(faults: &[Fault], key: &str) -> Result<()> {
    for fault in faults {
        match fault {
            Fault::Delay(delay) => tokio::time::sleep(*delay).await,
            Fault::Hang => futures::future::pending::<()>().await,
            _ => {}
        }
    }
    match faults.iter().find_map(|fault| refusal(fault, key)) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl Fate {
    /// The backend that answers the request.
    fn backend(&self, inner: &Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        let stale = self.faults.iter().find_map(|fault| match fault {
            Fault::Stale(other) => Some(other),
            _ => None,
        });
        let swapped = self.swap.as_ref().map(|(other, _)| other);
        Arc::clone(stale.or(swapped).unwrap_or(inner))
    }

    /// Sets the modification time of an object to the time of the swap.
    fn stamp(&self, meta: &mut ObjectMeta) {
        if let Some((_, at)) = &self.swap {
            meta.last_modified = *at;
        }
    }

    async fn get(
        &self,
        inner: &Arc<dyn ObjectStore>,
        location: &Path,
        options: GetOptions,
    ) -> Result<GetResult> {
        before(&self.faults, location.as_ref()).await?;
        let backend = self.backend(inner);
        let mut result = if self.swap.is_some() {
            // The backend has another modification time of the object.
            let mut plain = options.clone();
            (plain.if_modified_since, plain.if_unmodified_since) = (None, None);
            let mut result = backend.get_opts(location, plain).await?;
            self.stamp(&mut result.meta);
            options.check_preconditions(&result.meta)?;
            result
        } else {
            backend.get_opts(location, options).await?
        };
        for fault in &self.faults {
            if let Fault::WrongLength(by) = fault {
                result.meta.size = result.meta.size.saturating_add_signed(*by);
                result.range.end = result.range.end.saturating_add_signed(*by);
            }
        }
        let Some(fault) = self.faults.iter().find(|fault| body::spoils(fault)) else {
            return Ok(result);
        };
        let GetResult {
            payload,
            meta,
            range,
            attributes,
            extensions,
        } = result;
        let announced = GetResult {
            payload,
            meta: meta.clone(),
            range: range.clone(),
            attributes: attributes.clone(),
            extensions: extensions.clone(),
        };
        let whole = announced.bytes().await?;
        Ok(GetResult {
            payload: GetResultPayload::Stream(body::spoil(fault, whole)),
            meta,
            range,
            attributes,
            extensions,
        })
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faulty {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let ask = if options.head { Ask::Head } else { Ask::Get };
        let fate = self.decide(ask, location.as_ref(), Some(&options));
        fate.get(&self.inner, location, options).await
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::iter([Err(read_only())]).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let key = prefix.map_or_else(String::new, ToString::to_string);
        let fate = self.decide(Ask::List, &key, None);
        let listing = fate.backend(&self.inner).list(prefix);
        let first = async move {
            before(&fate.faults, &key).await?;
            let stamped = listing.map_ok(move |mut meta| {
                fate.stamp(&mut meta);
                meta
            });
            Ok::<_, object_store::Error>(stamped)
        };
        futures::stream::once(first).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let key = prefix.map_or_else(String::new, ToString::to_string);
        let fate = self.decide(Ask::List, &key, None);
        before(&fate.faults, &key).await?;
        let backend = fate.backend(&self.inner);
        let mut listing = backend.list_with_delimiter(prefix).await?;
        for meta in &mut listing.objects {
            fate.stamp(meta);
        }
        Ok(listing)
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only())
    }
}
