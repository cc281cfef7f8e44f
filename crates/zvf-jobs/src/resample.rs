//! The jobs `resample` and `simplify`, which replace the points of lines by others or by fewer.

use serde::Serialize;
use zvf_convert::{NewPoints, ResampleOptions, Resampled};
use zvf_store::Need;

use crate::checks::at_most_one;
use crate::error::Result;
use crate::{Context, JobError, JobEvent};

new_store! {
    /// Makes a new store with other points along the same lines: a fixed number for each line, or points at a fixed distance
    ResampleJob {
        /// Points of each line, 2 or more
        #[arg(long, value_name = "N")]
        points: Option<u32>,
        /// Arc length from each point to the next, in the units of the axes
        #[arg(long, value_name = "S", allow_negative_numbers = true)]
        step: Option<f64>,
    }
}

new_store! {
    /// Makes a new store of lines or skeletons with fewer vertices, within a tolerance of the old lines
    SimplifyJob {
        /// How far a vertex that is left out may be from the new line, in the units of the axes
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        tolerance: f64,
    }
}

impl ResampleJob {
    fn spacing(&self) -> Result<NewPoints> {
        let found = [
            ("points", self.points.is_some()),
            ("step", self.step.is_some()),
        ];
        at_most_one(&found)?;
        let points = self.points.map(NewPoints::Count);
        let points = points.or_else(|| self.step.map(NewPoints::Step));
        points.ok_or_else(|| JobError::option("points", "nothing", "it or `step`"))
    }
}

impl SimplifyJob {
    fn spacing(&self) -> Result<NewPoints> {
        Ok(NewPoints::Tolerance(self.tolerance))
    }
}

macro_rules! lines {
    ($($job:ident),*) => {
        $(impl $job {
            pub(crate) fn check(&self) -> Result<()> {
                match self.spacing()?.problem() {
                    Some((member, found, expected)) => Err(JobError::option(member, found, expected)),
                    None => Ok(()),
                }
            }

            pub(crate) async fn run(&self, context: &Context) -> Result<ResampleReport> {
                let mut options = ResampleOptions::new(self.spacing()?);
                options.write = self.writing(context)?;
                resampled(&self.source, &self.target, options, context).await
            }
        })*
    };
}

lines!(ResampleJob, SimplifyJob);

/// Writes the lines of a store with new points.
async fn resampled(
    source: &str,
    target: &str,
    mut options: ResampleOptions,
    context: &Context,
) -> Result<ResampleReport> {
    let store = context.open(source, 0, Need::all()).await?;
    context.event(&JobEvent::Writing);
    let points = options.points;
    options.query_budget = context.memory_budget;
    Ok(ResampleReport {
        store: target.to_owned(),
        source: source.to_owned(),
        points,
        report: zvf_convert::resample(&store, target, options).await?,
    })
}

/// The report of `resample` and `simplify`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResampleReport {
    /// The new store.
    pub store: String,
    /// The old store.
    pub source: String,
    /// How its points were chosen: the member `points`, `step` or `tolerance`.
    #[serde(flatten)]
    pub points: NewPoints,
    /// Vertices and lengths before and after.
    #[serde(flatten)]
    pub report: Resampled,
}
