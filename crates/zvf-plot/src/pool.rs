//! Drawing threads, each with its own canvas.

use tokio::task::JoinSet;

use crate::PlotError;
use crate::pen::Pen;

/// Runs drawing jobs, a few at a time; each has exclusive use of a pen.
pub(crate) struct Pool<P> {
    /// Creates a pen.
    make: Box<dyn Fn() -> P + Send + Sync>,
    idle: Vec<P>,
    running: JoinSet<Result<(P, DrawnRange), PlotError>>,
    /// Largest number of pens.
    most: usize,
    range: DrawnRange,
}

/// The smallest and the largest drawn number, minus the origin of the layer.
pub(crate) type DrawnRange = Option<(f64, f64)>;

impl<P: Pen> Pool<P> {
    /// A pool of at most `most` pens.
    pub(crate) fn new(most: usize, make: impl Fn() -> P + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            idle: Vec::new(),
            running: JoinSet::new(),
            most: most.max(1),
            range: None,
        }
    }

    /// Starts a job; waits if all pens are in use.
    ///
    /// # Errors
    ///
    /// The errors of earlier jobs.
    pub(crate) async fn run(
        &mut self,
        job: impl FnOnce(&mut P) -> Result<DrawnRange, PlotError> + Send + 'static,
    ) -> Result<(), PlotError> {
        if self.running.len() >= self.most {
            self.wait().await?;
        }
        let mut pen = self.idle.pop().unwrap_or_else(|| (self.make)());
        self.running.spawn_blocking(move || {
            let range = job(&mut pen)?;
            Ok((pen, range))
        });
        Ok(())
    }

    async fn wait(&mut self) -> Result<bool, PlotError> {
        let Some(done) = self.running.join_next().await else {
            return Ok(false);
        };
        let (pen, range) =
            done.map_err(|error| PlotError::bug(format!("a drawing thread: {error}")))??;
        self.idle.push(pen);
        self.range = union(self.range, range);
        Ok(true)
    }

    /// Waits for all jobs; returns every used pen, or a new one if none was used, and the range of numbers.
    ///
    /// # Errors
    ///
    /// The errors of jobs.
    pub(crate) async fn finish(mut self) -> Result<(Vec<P>, DrawnRange), PlotError> {
        while self.wait().await? {}
        if self.idle.is_empty() {
            self.idle.push((self.make)());
        }
        Ok((self.idle, self.range))
    }
}

/// The union of two ranges.
pub(crate) fn union(a: DrawnRange, b: DrawnRange) -> DrawnRange {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (one, other) => one.or(other),
    }
}
