//! Reads jobs from JSON. Errors have the path of the wrong member.

use serde_json::Value;
use zvf_query::UniqueJson;

use crate::{Job, JobError};

/// Reads the text of a job file: one job, or a list of them. Each is [checked](Job::check).
///
/// # Errors
///
/// Misuse: text that is not JSON; the first wrong member, with its path, the value found and the value expected.
///
/// ```
/// let wrong = zvf_jobs::parse(r#"[{"job": "vacuum", "store": "a.zv"}, {"job": "validate", "store": "a.zv", "depth": 9}]"#);
/// assert_eq!(wrong.unwrap_err().to_string(), "[1].depth: found 9, expected a number from 1 to 5");
/// ```
pub fn parse(text: &str) -> Result<Jobs, JobError> {
    let UniqueJson(value) = serde_json::from_str(text).map_err(|error| {
        let found = match error.is_data() {
            true => error.to_string(),
            false => format!("text that is not JSON ({error})"),
        };
        JobError::option("job file", found, "a job or a list of jobs")
    })?;
    match value {
        Value::Array(items) => {
            let job = |(at, item)| Job::from_json(item).map_err(|error| error.of_item(at));
            let jobs = items.into_iter().enumerate().map(job);
            Ok(Jobs::List(jobs.collect::<Result<_, _>>()?))
        }
        one => Ok(Jobs::One(Box::new(Job::from_json(one)?))),
    }
}

/// The jobs of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Jobs {
    /// A single job; the result is one report.
    One(Box<Job>),
    /// A list of jobs, run one after the other; the result is a list of reports. An error ends the list; findings of a validation do not.
    List(Vec<Job>),
}

impl Jobs {
    /// The jobs, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[Job] {
        match self {
            Self::One(job) => std::slice::from_ref(job),
            Self::List(jobs) => jobs,
        }
    }
}
