//! Questions to a store: the arguments that ask them, and what the model expects as the answer.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use zvf_soak::draw::Draw;

use super::objects::{Answer, Row, State};

/// Columns that are asked for, in this order.
pub(super) const COLUMNS: &str = "position,object_id,n,w,t";

/// The number that an object attribute holds where it has no value.
const MISSING: i64 = i64::MIN;

/// Texts of the attribute `t`: what a table has to quote, and what is not ASCII.
pub(super) const TEXTS: [&str; 6] = ["a", "b c", "x,y", "q\"q", "ü", "'"];

/// What is asked. Corners are in quarters.
#[derive(Debug, Clone)]
pub(super) enum Question {
    /// Every row.
    All,
    /// Rows in a box.
    Rows([i32; 3], [i32; 3]),
    /// Whole objects with a row in a box.
    Objects([i32; 3], [i32; 3]),
    /// Objects by id.
    Ids(Vec<i64>),
    /// Rows whose `n` is in a range.
    Numbers(i64, i64),
    /// Rows whose `t` is a text.
    Text(&'static str),
    /// The number of rows and the value of each object.
    List,
}

fn quarter(value: i32) -> f64 {
    f64::from(value) / 4.0
}

fn corner(at: [i32; 3]) -> String {
    let [x, y, z] = at.map(quarter);
    format!("{x},{y},{z}")
}

fn line(x: f64, y: f64, z: f64, n: i64, w: f64, t: &str) -> String {
    format!("{x} {y} {z} {n} {w} {t}")
}

impl Row {
    fn line(&self) -> String {
        let [x, y, z] = self.at.map(quarter);
        line(x, y, z, self.n, f64::from(self.w) / 2.0, self.t)
    }

    fn is_in(&self, low: [i32; 3], high: [i32; 3]) -> bool {
        (0..3).all(|axis| (low[axis]..=high[axis]).contains(&self.at[axis]))
    }
}

impl Question {
    /// Any question; some of its ids may not exist.
    pub(super) fn draw(draw: &mut Draw) -> Self {
        let mut place = || i32::try_from(draw.below(440)).unwrap_or(0) - 20;
        let (a, b) = ([place(), place(), place()], [place(), place(), place()]);
        let low = [0, 1, 2].map(|axis: usize| a[axis].min(b[axis]));
        let high = [0, 1, 2].map(|axis: usize| a[axis].max(b[axis]));
        match draw.below(10) {
            0..3 => Self::All,
            3 | 4 => Self::Rows(low, high),
            5 => Self::Objects(low, high),
            6 => {
                let mut ids: Vec<i64> = (0..=draw.below(4)).map(|_| id(draw)).collect();
                ids.sort_unstable();
                ids.dedup();
                Self::Ids(ids)
            }
            7 => {
                let low = i64::try_from(draw.below(80)).unwrap_or(0);
                Self::Numbers(low, low + 20)
            }
            8 => Self::Text(draw.one(&TEXTS).copied().unwrap_or("a")),
            _ => Self::List,
        }
    }

    /// The arguments of the program, after the store.
    pub(super) fn arguments(&self) -> Vec<String> {
        let words: Vec<String> = match self {
            Self::All | Self::List => vec![],
            Self::Rows(low, high) => vec![format!("--bbox={}:{}", corner(*low), corner(*high))],
            Self::Objects(low, high) => vec![
                format!("--bbox={}:{}", corner(*low), corner(*high)),
                "--select=objects".into(),
            ],
            Self::Ids(ids) => vec![
                format!("--objects={}", join(ids)),
                "--ignore-missing".into(),
            ],
            Self::Numbers(..) | Self::Text(_) => vec![format!("--where={}", self.condition())],
        };
        words
    }

    fn condition(&self) -> String {
        match self {
            Self::Numbers(low, high) => format!("n between {low} and {high}"),
            Self::Text(text) => format!("t == '{}'", text.replace('\'', "''")),
            _ => String::new(),
        }
    }

    /// The parameters of `/query` of a server; `None` if it has none for this question.
    pub(super) fn parameters(&self) -> Option<String> {
        Some(match self {
            Self::All => String::new(),
            Self::Rows(low, high) => format!("&bbox={}:{}", corner(*low), corner(*high)),
            Self::Objects(low, high) => {
                format!("&bbox={}:{}&select=objects", corner(*low), corner(*high))
            }
            Self::Numbers(..) | Self::Text(_) => format!("&where={}", escape(&self.condition())),
            Self::Ids(_) | Self::List => return None,
        })
    }

    /// What a store with these objects answers. Lines of lines keep their order where whole objects are asked for.
    pub(super) fn expected(&self, ordered: bool, state: &State) -> Answer {
        let mut answer = Answer::new();
        for (id, object) in state {
            if matches!(self, Self::List) {
                let line = format!("{} rows, value {:?}", object.rows.len(), object.v);
                answer.insert(*id, vec![line]);
                continue;
            }
            let whole = match self {
                Self::Objects(low, high) => object.rows.iter().any(|row| row.is_in(*low, *high)),
                Self::Ids(ids) => ids.contains(id),
                _ => true,
            };
            let kept = |row: &&Row| {
                whole
                    && match self {
                        Self::Rows(low, high) => row.is_in(*low, *high),
                        Self::Numbers(low, high) => (*low..=*high).contains(&row.n),
                        Self::Text(text) => row.t == *text,
                        _ => true,
                    }
            };
            let lines: Vec<String> = object.rows.iter().filter(kept).map(Row::line).collect();
            if !lines.is_empty() {
                answer.insert(*id, lines);
            }
        }
        self.normal(ordered, answer)
    }

    /// Sorts lines whose order no answer promises.
    fn normal(&self, ordered: bool, mut answer: Answer) -> Answer {
        if !(ordered && matches!(self, Self::Objects(..) | Self::Ids(_))) {
            answer.values_mut().for_each(|lines| lines.sort_unstable());
        }
        answer
    }

    /// The rows of an answer in NDJSON.
    pub(super) fn ndjson(&self, ordered: bool, text: &str) -> Result<Answer> {
        let mut answer = Answer::new();
        for row in text.lines() {
            let row: Value = serde_json::from_str(row)?;
            let number =
                |value: &Value| value.as_f64().with_context(|| format!("{row}: no number"));
            let whole = |name: &str| {
                row[name]
                    .as_i64()
                    .with_context(|| format!("{row}: no {name}"))
            };
            let at = row["position"].as_array().context("no position")?;
            ensure!(at.len() == 3, "{row}: not three axes");
            // Not asked for, it is not compared.
            let t = match row.get("t") {
                Some(t) => t.as_str().with_context(|| format!("{row}: no t"))?,
                None => "",
            };
            let (x, y, z) = (number(&at[0])?, number(&at[1])?, number(&at[2])?);
            let line = line(x, y, z, whole("n")?, number(&row["w"])?, t);
            answer.entry(whole("object_id")?).or_default().push(line);
        }
        Ok(self.normal(ordered, answer))
    }

    /// The rows of an answer in CSV.
    pub(super) fn csv(&self, ordered: bool, text: &str) -> Result<Answer> {
        let mut answer = Answer::new();
        let mut rows = text.lines();
        let head = rows.next();
        ensure!(head == Some("x,y,z,object_id,n,w,t"), "head {head:?}");
        for row in rows {
            let fields = fields(row);
            let [x, y, z, id, n, w, t] = fields.as_slice() else {
                anyhow::bail!("{row}: {} fields", fields.len());
            };
            let line = line(
                x.parse()?,
                y.parse()?,
                z.parse()?,
                n.parse()?,
                w.parse()?,
                t,
            );
            answer.entry(id.parse()?).or_default().push(line);
        }
        Ok(self.normal(ordered, answer))
    }

    /// The document that `zvf objects --json` prints.
    pub(super) fn list(text: &str) -> Result<Answer> {
        let list: Value = serde_json::from_str(text)?;
        let objects = list["objects"].as_array().context("no objects")?;
        let mut answer = Answer::new();
        for object in objects {
            let id = object["object_id"].as_i64().context("no id")?;
            let rows = object["vertices"].as_u64().context("no count")?;
            let value = object["v"].as_i64().filter(|value| *value != MISSING);
            answer.insert(id, vec![format!("{rows} rows, value {value:?}")]);
        }
        Ok(answer)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List => f.write_str("objects"),
            _ => write!(f, "query {}", self.arguments().join(" ")),
        }
    }
}

/// An id that an object may have.
pub(super) fn id(draw: &mut Draw) -> i64 {
    i64::try_from(draw.below(60)).unwrap_or(0)
}

pub(super) fn join(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(",")
}

/// The fields of a line of CSV that ends inside no quotes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut rest = line.chars().peekable();
    while let Some(next) = rest.next() {
        let Some(last) = fields.last_mut() else { break };
        match (next, quoted) {
            ('"', true) if rest.peek() == Some(&'"') => {
                rest.next();
                last.push('"');
            }
            ('"', _) => quoted = !quoted,
            (',', false) => fields.push(String::new()),
            _ => last.push(next),
        }
    }
    fields
}

/// A value of a table, quoted.
pub(super) fn field(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text as part of an address.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// The table of some objects, as `zvf import` and `zvf edit append` take it.
pub(super) fn table<'a>(rows: impl Iterator<Item = (i64, &'a Row)>) -> String {
    let mut text = "object_id,x,y,z,n,w,t\n".to_owned();
    for (id, row) in rows {
        // With a decimal also if it is whole: the type of a column follows its values, and parts need the same one.
        let w = f64::from(row.w) / 2.0;
        let (at, n, t) = (corner(row.at), row.n, field(row.t));
        text.push_str(&format!("{id},{at},{n},{w:.1},{t}\n"));
    }
    text
}

/// The table of all objects.
pub(super) fn whole_table(state: &State) -> String {
    let rows = state.iter();
    table(rows.flat_map(|(id, object)| object.rows.iter().map(|row| (*id, row))))
}
