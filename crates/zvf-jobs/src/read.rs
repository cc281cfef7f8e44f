//! Jobs from JSON, with the path of the member that is wrong.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::{Job, JobError};

/// Reads the text of a job file: one job, or a list of them. Each is [checked](Job::check).
///
/// # Errors
///
/// Misuse: text that is no JSON; the first member that is wrong, by its path, with what was found and expected.
///
/// ```
/// let wrong = zvf_jobs::parse(r#"[{"job": "vacuum", "store": "a.zv"}, {"job": "validate", "store": "a.zv", "depth": 9}]"#);
/// assert_eq!(wrong.unwrap_err().to_string(), "[1].depth: found 9, expected a number from 1 to 5");
/// ```
pub fn parse(text: &str) -> Result<Jobs, JobError> {
    let value = serde_json::from_str(text).map_err(|error| JobError::Option {
        path: "job file".to_owned(),
        what: format!("found text that is no JSON ({error}), expected a job or a list of jobs"),
    })?;
    match value {
        Value::Array(items) => {
            let job = |(at, item)| Job::from_json(item).map_err(|error| error.of_item(at));
            let jobs = items.into_iter().enumerate().map(job);
            Ok(Jobs::List(jobs.collect::<Result<_, _>>()?))
        }
        one => Ok(Jobs::One(Job::from_json(one)?)),
    }
}

/// The jobs of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Jobs {
    /// A job by itself, whose result is one report.
    One(Job),
    /// A list, whose result is a list of reports. The jobs run one after the other; an error ends the list, findings of a validation do not.
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

/// A value for a message, shortened if it is long.
pub(crate) fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}..", text.get(..at).unwrap_or(&text)),
        None => text,
    }
}

/// Reads the options of a job from its members. `required` have to be there.
pub(crate) fn options<T: DeserializeOwned>(
    members: Map<String, Value>,
    required: &[&str],
) -> Result<T, JobError> {
    for name in required {
        if !members.contains_key(*name) {
            return Err(JobError::option(name, "nothing", "a path or URL"));
        }
    }
    let value = Value::from(members);
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let mut path = String::new();
        let mut found = Some(&value);
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => {
                    path.push_str(&format!("[{index}]"));
                    found = found.and_then(|list| list.get(index));
                }
                Segment::Map { key } => {
                    path.push_str(key);
                    found = found.and_then(|map| map.get(key));
                }
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let said = error.inner().to_string();
        if said.starts_with("unknown field") {
            return JobError::option(&path, "an unknown member", &expected(&said));
        }
        let found = found.map_or_else(|| "nothing".to_owned(), shown);
        JobError::option(&path, found, &expected(&said))
    })
}

/// What was expected, in the message of a decoder.
fn expected(said: &str) -> String {
    let (_, expected) = said.rsplit_once("expected ").unwrap_or(("", said));
    match expected {
        "f64" => "a number".to_owned(),
        "i64" => "a whole number".to_owned(),
        "u8" | "u32" | "u64" | "usize" => "a whole number that is not negative".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "path string" | "string or map" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        other => other.replace('`', "").replacen("one of ", "", 1),
    }
}
