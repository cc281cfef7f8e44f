//! Writes stores from raw columns: `write_raw JOB.json …`, each with its files in the same folder.
//!
//! `xtask/python/written.py` makes random input, runs this program to write it, and reads the stores with the released Python package.
#![allow(clippy::print_stderr, reason = "a program")]

use std::error::Error;
use std::path::Path;

use serde_json::Value;
use zvf_store::blocking::Runtime;
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, LinkStore, NumberType, ObjectTable, Parametric,
    ParametricType, StoreSpec, StoreWriter, Values, WriteOptions,
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let runtime = Runtime::new()?;
    for job in std::env::args().skip(1) {
        runtime
            .wait(write(Path::new(&job)))
            .map_err(|error| format!("{job}: {error}"))?;
    }
    Ok(())
}

/// A column of a job: its declaration and all its values.
struct Column {
    spec: AttributeSpec,
    bytes: Vec<u8>,
    texts: Option<Vec<Option<String>>>,
    number: NumberType,
}

impl Column {
    fn read(folder: &Path, job: &Value, category: bool) -> Outcome<Self> {
        let name = job["name"].as_str().ok_or("a column without a name")?;
        if let Some(texts) = job["texts"].as_array() {
            let spec = if category {
                AttributeSpec::category(name)
            } else {
                AttributeSpec::text(name)
            };
            let texts = texts
                .iter()
                .map(|text| text.as_str().map(str::to_owned))
                .collect();
            return Ok(Self {
                spec,
                bytes: Vec::new(),
                texts: Some(texts),
                number: NumberType::U8,
            });
        }
        let number = number(job)?;
        let channels = usize::try_from(job["channels"].as_u64().unwrap_or(1))?;
        let spec = AttributeSpec::number(name, number).with_channels(channels);
        Ok(Self {
            spec,
            bytes: file(folder, job)?,
            texts: None,
            number,
        })
    }

    /// The values of some rows.
    fn rows(&self, rows: std::ops::Range<usize>) -> Outcome<Values> {
        match &self.texts {
            Some(texts) => Ok(Values::optional_texts(
                texts
                    .get(rows)
                    .ok_or("too few texts")?
                    .iter()
                    .map(Option::as_deref),
            )),
            None => {
                let width = self.number.size() * self.spec.channels;
                let part = self.bytes.get(rows.start * width..rows.end * width);
                let part = part.ok_or("a column is too short")?;
                Ok(Values::of_bytes(self.number, part))
            }
        }
    }
}

fn file(folder: &Path, job: &Value) -> Outcome<Vec<u8>> {
    Ok(std::fs::read(folder.join(
        job["file"].as_str().ok_or("a column without a file")?,
    ))?)
}

fn number(job: &Value) -> Outcome<NumberType> {
    let name = job["dtype"].as_str().ok_or("a column without a dtype")?;
    NumberType::from_name(name).ok_or_else(|| format!("dtype {name}").into())
}

fn whole(folder: &Path, job: &Value) -> Outcome<Vec<i64>> {
    let bytes = file(folder, job)?;
    Ok(bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|bytes| i64::from_le_bytes(*bytes))
        .collect())
}

fn numbers<T>(job: &Value, one: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    job.as_array()?.iter().map(one).collect()
}

fn columns(folder: &Path, job: &Value, category: bool) -> Outcome<Vec<Column>> {
    let list = job.as_array().map_or(&[][..], Vec::as_slice);
    list.iter()
        .map(|one| Column::read(folder, one, category))
        .collect()
}

/// Adds the content outside the level.
fn beside(mut spec: StoreSpec, job: &Value) -> Outcome<StoreSpec> {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    for (format, header) in members(&job["headers"]) {
        spec = spec.with_header(format, members(&header));
    }
    for (space, inner) in members(&job["user_metadata"]) {
        spec = spec.with_user_metadata(space, members(&inner));
    }
    let shown = &job["parametric"];
    if !shown.is_object() {
        return Ok(spec);
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut parametric = Parametric::new();
    for one in shown["types"].as_array().into_iter().flatten() {
        let id = u32::try_from(one["id"].as_u64().ok_or("a type without a number")?)?;
        let name = text(&one["name"]).ok_or("a type without a name")?;
        let names = numbers(&one["coefficients"], text).ok_or("a type without coefficients")?;
        parametric = parametric.with_type(ParametricType::new(id, name, names));
    }
    for one in shown["objects"].as_array().into_iter().flatten() {
        let kind = text(&one["type"]).ok_or("an object without a type")?;
        let row = numbers(&one["coefficients"], Value::as_f64).ok_or("no coefficients")?;
        parametric = parametric.with_object(kind, row, one["name"].as_str());
    }
    let weights = numbers(&shown["weights"], Value::as_f64).unwrap_or_default();
    if !weights.is_empty() {
        parametric = parametric.with_attribute("weight", Values::from(weights));
    }
    for members in shown["groups"].as_array().into_iter().flatten() {
        parametric = parametric.with_group(numbers(members, Value::as_i64).ok_or("no members")?);
    }
    Ok(spec.with_parametric(parametric))
}

async fn write(path: &Path) -> Outcome {
    let folder = path.parent().ok_or("a job without a folder")?;
    let job: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let kind = job["kind"]
        .as_str()
        .and_then(Kind::from_name)
        .ok_or("unknown kind")?;
    let chunk = numbers(&job["chunk_shape"], Value::as_f64).ok_or("no chunk shape")?;
    let (dims, positions) = (chunk.len(), number(&job["positions"])?);
    let mut spec = StoreSpec::new(kind, chunk).with_positions(positions);
    spec.bin_shape = numbers(&job["bin_shape"], Value::as_f64);
    spec.shard_shape = numbers(&job["shard_shape"], Value::as_u64).into();
    spec.objects = !job["ids"].is_null();
    spec.compression = job["compression"].as_str().unwrap_or("zstd").parse()?;
    let attributes = columns(folder, &job["attributes"], true)?;
    let link_attributes = columns(folder, &job["link_attributes"], true)?;
    let object_attributes = columns(folder, &job["object_attributes"], false)?;
    spec.vertex_attributes = attributes.iter().map(|one| one.spec.clone()).collect();
    spec.object_attributes = object_attributes
        .iter()
        .map(|one| one.spec.clone())
        .collect();
    let fragment_attributes = columns(folder, &job["fragment_attributes"], true)?;
    for one in &fragment_attributes {
        spec = spec.with_fragment_attribute(one.spec.clone());
    }
    spec.fragment_owners = job["fragment_owners"].as_bool();
    let key = if job["chunk_by"].is_object() {
        Some(Column::read(folder, &job["chunk_by"], true)?)
    } else {
        None
    };
    if let Some(key) = &key {
        spec = spec.with_attribute_chunks(key.spec.clone());
    }
    let links = &job["links"];
    if links.is_object() {
        spec.links.width = usize::try_from(links["width"].as_u64().unwrap_or(2))?;
        spec.links.directed = links["directed"].as_bool().unwrap_or(false);
        spec.links.explicit = links["explicit"].as_bool().unwrap_or(false);
        if links["store"] == "duplicate" {
            spec.links.store = LinkStore::Duplicate;
        }
        spec.links.attributes = link_attributes.iter().map(|one| one.spec.clone()).collect();
    }

    spec = beside(spec, &job)?;

    // These stores are read immediately and then discarded.
    let mut options = WriteOptions::new().with_durable(false);
    if let Some(budget) = job["budget"].as_u64() {
        options = options.with_memory_budget(usize::try_from(budget)?);
    }
    let out = folder.join(job["out"].as_str().ok_or("no place to write to")?);
    let mut writer = StoreWriter::create(&out.to_string_lossy(), spec, options).await?;
    let bytes = file(folder, &job["positions"])?;
    let width = positions.size() * dims;
    let count = bytes.len() / width;
    let ids = if job["ids"].is_null() {
        None
    } else {
        Some(whole(folder, &job["ids"])?)
    };
    let ends: Vec<u64> = match links.is_object() {
        true => whole(folder, links)?
            .into_iter()
            .map(u64::try_from)
            .collect::<Result<_, _>>()?,
        false => Vec::new(),
    };
    let step = usize::try_from(job["batch"].as_u64().unwrap_or(u64::from(u32::MAX)))?.max(1);
    let mut start = 0;
    while start < count {
        let end = start.saturating_add(step).min(count);
        let part = bytes.get(start * width..end * width).unwrap_or_default();
        let mut batch = Batch::new(Values::of_bytes(positions, part));
        if let Some(ids) = &ids {
            batch = batch.with_object_ids(ids.get(start..end).ok_or("too few ids")?);
        }
        for one in attributes.iter().chain(&key) {
            batch = batch.with_attribute(one.spec.name.clone(), one.rows(start..end)?);
        }
        for one in &fragment_attributes {
            batch = batch.with_fragment_attribute(one.spec.name.clone(), one.rows(start..end)?);
        }
        let last = end == count;
        if last && links.is_object() {
            batch = batch.with_links_between_batches(&ends[..]);
        }
        for one in &link_attributes {
            let records = if last {
                ends.len() / usize::try_from(links["width"].as_u64().unwrap_or(2))?
            } else {
                0
            };
            batch = batch.with_link_attribute(one.spec.name.clone(), one.rows(0..records)?);
        }
        writer.push(&batch)?;
        start = end;
    }
    if job["object_ids"].is_object() {
        let ids = whole(folder, &job["object_ids"])?;
        let rows = ids.len();
        let mut table = ObjectTable::new(ids);
        for one in &object_attributes {
            table = table.with_attribute(one.spec.name.clone(), one.rows(0..rows)?);
        }
        writer.push_objects(&table)?;
    }
    if let Some(groups) = numbers(&job["groups"], |members| numbers(members, Value::as_i64)) {
        writer.set_groups(&Groups::new(groups))?;
    }
    writer.finish().await?;
    Ok(())
}
