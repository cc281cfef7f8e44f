//! Jobs from JSON, with the path of the member that is wrong.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{Job, JobError};

/// JSON that was checked for repeated members; serde_json alone would use the last one silently.
struct Unique(Value);

struct UniqueVisitor;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueVisitor).map(Self)
    }
}

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            let Unique(value) = from.next_value()?;
            if members.contains_key(&name) {
                return Err(A::Error::custom(format!("the member {name:?} twice")));
            }
            members.insert(name, value);
        }
        Ok(members.into())
    }
}

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
    let Unique(value) = serde_json::from_str(text).map_err(|error| {
        let found = match error.is_data() {
            true => error.to_string(),
            false => format!("text that is no JSON ({error})"),
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
    /// A list of jobs, run one after the other; the result is a list of reports. An error ends the list, findings of a validation do not.
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
