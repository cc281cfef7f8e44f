//! Collects decoded objects into batches.

use zvf_write::{AttributeSpec, Axis, Batch, Kind, NumberType, ObjectTable, StoreSpec, Values};

use super::record::ObjectBytes;
use super::segments::SegmentTable;
use crate::error::ConvertError;
use crate::options::Options;
use crate::sink::Sink;

/// One object, or a run of points.
#[derive(Debug, Default)]
pub(super) struct CollectedObject {
    /// The number of the object; 0 for points.
    pub(super) key: u64,
    pub(super) positions: Vec<f64>,
    /// Ends of links, by vertices of this object.
    pub(super) links: Vec<u64>,
    /// Vertex attributes, as bytes.
    pub(super) columns: Vec<Vec<u8>>,
    /// Object attributes, as bytes.
    pub(super) row: Vec<Vec<u8>>,
    /// Segments of each relationship; only for annotations from the index by id.
    pub(super) related: Vec<Vec<u64>>,
}

/// One attribute.
#[derive(Debug, Clone)]
pub(super) struct CollectedColumn {
    pub(super) spec: AttributeSpec,
    number: NumberType,
    /// Enumerated values with their names, sorted.
    labels: Vec<(f64, String)>,
}

impl CollectedColumn {
    pub(super) fn number(spec: AttributeSpec, number: NumberType) -> Self {
        Self {
            spec,
            number,
            labels: Vec::new(),
        }
    }

    /// Numbers with enumerated names, stored as texts. A number without a name becomes its digits, but u32::MAX becomes a missing value.
    pub(super) fn labelled(
        spec: AttributeSpec,
        number: NumberType,
        mut labels: Vec<(f64, String)>,
    ) -> Self {
        // The codes are converted as the values are: rounded to the type, and zero without a sign.
        for (code, _) in &mut labels {
            *code = comparable(number, *code);
        }
        labels.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Self {
            spec,
            number,
            labels,
        }
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.number.size().saturating_mul(self.spec.channels)
    }

    fn values(&self, bytes: &[u8]) -> Values {
        if self.labels.is_empty() {
            return Values::of_bytes(self.number, bytes);
        }
        let text = |code: f64| {
            let wanted = comparable(self.number, code);
            let found = self
                .labels
                .binary_search_by(|(one, _)| one.total_cmp(&wanted));
            match found.ok().and_then(|at| self.labels.get(at)) {
                Some((_, label)) => Some(label.clone()),
                None if code == f64::from(u32::MAX) => None,
                None => Some(code.to_string()),
            }
        };
        Values::optional_texts(self.number.to_f64(bytes).into_iter().map(text))
    }
}

/// A number rounded to the type; -0 becomes 0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounds to the float32 that is stored"
)]
fn comparable(number: NumberType, code: f64) -> f64 {
    match number {
        NumberType::F32 => f64::from(code as f32) + 0.0,
        _ => code + 0.0,
    }
}

/// How a relationship is stored.
#[derive(Debug, Clone)]
pub(super) enum Relation {
    /// Not stored.
    Dropped,
    /// As the object of a point.
    Object,
    /// As an attribute with a fixed number of segments, padded with 0.
    Attribute(String, usize),
}

impl Relation {
    pub(super) fn spec(&self) -> Option<AttributeSpec> {
        match self {
            Self::Attribute(name, width) => {
                let spec = AttributeSpec::number(name.clone(), NumberType::U64);
                Some(spec.with_channels(*width))
            }
            _ => None,
        }
    }
}

/// The layout of batches.
#[derive(Debug, Default)]
pub(super) struct BatchLayout {
    pub(super) dims: usize,
    pub(super) vertex: Vec<CollectedColumn>,
    pub(super) object: Vec<CollectedColumn>,
    pub(super) relations: Vec<Relation>,
    /// Whether shapes are objects.
    pub(super) objects: bool,
    pub(super) links: bool,
    pub(super) segments: Option<SegmentTable>,
}

impl BatchLayout {
    /// Whether points belong to the objects that a relationship names.
    pub(super) fn by_relation(&self) -> bool {
        self.relations
            .iter()
            .any(|one| matches!(one, Relation::Object))
    }

    /// Whether a segment has properties.
    pub(super) fn describes(&self, key: u64) -> bool {
        self.segments
            .as_ref()
            .is_some_and(|list| list.contains(key))
    }

    /// The specification of the store, needed before the first batch.
    pub(super) fn spec(&self, kind: Kind, axes: Vec<Axis>) -> StoreSpec {
        let spec = StoreSpec::new(kind, vec![1.0; self.dims]).with_axes(axes);
        let mut spec = spec.with_positions(NumberType::F32);
        if kind == Kind::Mesh {
            spec = spec.with_link_width(3);
        }
        if self.by_relation() {
            spec = spec.with_objects();
        }
        for field in &self.vertex {
            spec = spec.with_vertex_attribute(field.spec.clone());
        }
        for field in &self.object {
            spec = spec.with_object_attribute(field.spec.clone());
        }
        for one in self.segments.iter().flat_map(SegmentTable::specs) {
            spec = spec.with_object_attribute(one.clone());
        }
        for one in self.relations.iter().filter_map(Relation::spec) {
            spec = match self.objects {
                true => spec.with_object_attribute(one),
                false => spec.with_vertex_attribute(one),
            };
        }
        spec
    }

    /// Whether the shape becomes an object. A shape without vertices does only if the folder has no table of segment properties, or this table
    /// contains it.
    pub(super) fn keeps(&self, shape: &CollectedObject) -> bool {
        !shape.positions.is_empty() || self.segments.is_none() || self.describes(shape.key)
    }
}

/// Batches being filled.
pub(super) struct Collector<'a> {
    plan: &'a BatchLayout,
    rows: usize,
    sink: &'a mut dyn Sink,
    positions: Vec<f64>,
    links: Vec<u64>,
    runs: Vec<(i64, usize)>,
    columns: Vec<Vec<u8>>,
    related: Vec<Vec<u64>>,
    ids: Vec<i64>,
    table: Vec<Vec<u8>>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(plan: &'a BatchLayout, options: &Options, sink: &'a mut dyn Sink) -> Self {
        Self {
            plan,
            rows: options.batch,
            sink,
            positions: Vec::new(),
            links: Vec::new(),
            runs: Vec::new(),
            columns: vec![Vec::new(); plan.vertex.len()],
            related: vec![Vec::new(); plan.relations.len()],
            ids: Vec::new(),
            table: vec![Vec::new(); plan.object.len()],
        }
    }

    /// Adds a shape, which is object `id` of the store.
    ///
    /// # Errors
    /// Malformed: segments that differ from the first pass. The errors of the sink.
    pub(super) fn push(
        &mut self,
        shape: &CollectedObject,
        id: i64,
        record: &ObjectBytes,
    ) -> Result<(), ConvertError> {
        let rows = shape.positions.len() / self.plan.dims.max(1);
        let first = (self.positions.len() / self.plan.dims.max(1)) as u64;
        self.positions.extend_from_slice(&shape.positions);
        let links = shape.links.iter().map(|end| end.saturating_add(first));
        self.links.extend(links);
        for (into, from) in self.columns.iter_mut().zip(&shape.columns) {
            into.extend_from_slice(from);
        }
        for (into, from) in self.table.iter_mut().zip(&shape.row) {
            into.extend_from_slice(from);
        }
        let mut owner = id;
        for ((relation, segments), into) in self
            .plan
            .relations
            .iter()
            .zip(&shape.related)
            .zip(&mut self.related)
        {
            match relation {
                Relation::Dropped => {}
                Relation::Object => {
                    let segment = match segments.as_slice() {
                        [one] => i64::try_from(*one).ok(),
                        _ => None,
                    };
                    owner = segment.ok_or_else(|| {
                        let found = format!("{} related segments", segments.len());
                        record.bad(0, found, "one below 2^63, as in the first pass")
                    })?;
                }
                Relation::Attribute(_, width) => {
                    if segments.len() > *width {
                        let found = format!("{} related segments", segments.len());
                        return Err(record.bad(
                            0,
                            found,
                            format!("at most {width}, as in the first pass"),
                        ));
                    }
                    let padded = segments.iter().copied().chain(std::iter::repeat(0));
                    into.extend(padded.take(*width));
                }
            }
        }
        if rows > 0 && (self.plan.objects || self.plan.by_relation()) {
            self.runs.push((owner, rows));
        }
        if self.plan.objects && self.plan.keeps(shape) {
            self.ids.push(id);
        }
        let full = self.positions.len() / self.plan.dims.max(1) >= self.rows;
        match full || self.ids.len() >= self.rows {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Passes the collected batch on.
    pub(super) fn flush(&mut self) -> Result<(), ConvertError> {
        let plan = self.plan;
        let relations = plan.relations.iter().filter_map(Relation::spec);
        let relations: Vec<AttributeSpec> = relations.collect();
        let filled = plan.relations.iter().zip(&mut self.related);
        let filled = filled.filter(|(relation, _)| matches!(relation, Relation::Attribute(..)));
        let related: Vec<Values> = filled
            .map(|(_, list)| Values::from(std::mem::take(list)))
            .collect();
        let mut related = relations.into_iter().zip(related);
        if !self.positions.is_empty() {
            let mut batch = Batch::new(std::mem::take(&mut self.positions));
            if !self.runs.is_empty() {
                batch = batch.with_object_runs(std::mem::take(&mut self.runs));
            }
            for (field, bytes) in plan.vertex.iter().zip(&self.columns) {
                batch = batch.with_attribute(field.spec.name.clone(), field.values(bytes));
            }
            if !plan.objects {
                for (spec, values) in related.by_ref() {
                    batch = batch.with_attribute(spec.name, values);
                }
            }
            if plan.links {
                batch = batch.with_links(std::mem::take(&mut self.links));
            }
            self.sink.batch(&batch)?;
        }
        if !self.ids.is_empty() {
            let mut table = match &plan.segments {
                Some(segments) => segments.table(&self.ids),
                None => ObjectTable::new(self.ids.clone()),
            };
            for (field, bytes) in plan.object.iter().zip(&self.table) {
                table = table.with_attribute(field.spec.name.clone(), field.values(bytes));
            }
            for (spec, values) in related {
                table = table.with_attribute(spec.name, values);
            }
            self.sink.objects(&table)?;
        }
        self.positions.clear();
        self.links.clear();
        self.runs.clear();
        self.ids.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.table.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}
