//! What a journal is the journal of, as bytes: two specifications are the same exactly if their descriptions are.
//!
//! Every member of a specification stands in its description, by name, so that a new member cannot be forgotten: the compiler
//! asks for it. Floating-point numbers stand behind the document as they are in memory (see `columns.rs`), never as text.

use serde_json::{Value, json};
use zvf_meta::Axis;

use crate::WriteError;
use crate::codec::Compression;
use crate::columns::Columns;
use crate::columns::numbers;
use crate::spec::ChunkBy;
use crate::spec::{AttributeSpec, AttributeType, LinkSpec, Outside, StoreSpec};

/// The whole specification, and the version of this library.
pub(crate) fn spec(spec: &StoreSpec) -> Result<Vec<u8>, WriteError> {
    let StoreSpec {
        kind,
        axes,
        chunk_shape,
        bin_shape,
        bounds,
        outside,
        positions,
        objects,
        vertex_attributes,
        chunk_by,
        fragment_attributes,
        fragment_owners,
        object_attributes,
        links,
        compression,
        shard_shape,
        target,
        name,
        crs,
        coordinate_offset,
        headers,
        user_metadata,
        parametric,
    } = spec;
    let mut columns = Columns::default();
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "kind": kind.name(),
        "axes": axes.iter().map(axis).collect::<Vec<_>>(),
        "chunk_shape": numbers(&mut columns, Some(chunk_shape))?,
        "bin_shape": numbers(&mut columns, bin_shape.as_deref())?,
        "bounds": [
            numbers(&mut columns, bounds.as_ref().map(|(low, _)| &**low))?,
            numbers(&mut columns, bounds.as_ref().map(|(_, high)| &**high))?,
        ],
        "outside": match outside {
            Outside::Refuse => "refuse",
            Outside::Grow => "grow",
        },
        "positions": positions.to_string(),
        "objects": objects,
        "vertex_attributes": attributes(vertex_attributes),
        "chunk_by": match chunk_by {
            Some(ChunkBy { attribute: one, values, stored }) => json!({
                "attribute": attribute(one),
                "values": match values {
                    Some(values) => columns.add(values)?,
                    None => Value::Null,
                },
                "stored": stored,
            }),
            None => Value::Null,
        },
        "fragment_attributes": attributes(fragment_attributes),
        "fragment_owners": fragment_owners,
        "object_attributes": attributes(object_attributes),
        "links": link_spec(links),
        "compression": codecs(compression),
        "shard_shape": shard_shape,
        "target": target.version(),
        "name": name,
        "crs": crs,
        "coordinate_offset": numbers(&mut columns, coordinate_offset.as_deref())?,
        "headers": headers,
        "user_metadata": user_metadata,
        "parametric": match parametric {
            Some(parametric) => parametric.describe(&mut columns)?,
            None => Value::Null,
        },
    });
    columns.close(&document)
}

/// The codecs, as documents have them: compressions of the same bytes are the same.
pub fn codecs(compression: &Compression) -> Value {
    let codecs = compression.codecs().into_iter();
    let codecs = codecs.map(|one| json!([one.name, one.configuration, one.extra]));
    Value::Array(codecs.collect())
}

fn axis(axis: &Axis) -> Value {
    let Axis {
        name,
        type_,
        unit,
        extra,
    } = axis;
    json!([name, type_, unit, extra])
}

fn attributes(list: &[AttributeSpec]) -> Value {
    Value::Array(list.iter().map(attribute).collect())
}

fn attribute(spec: &AttributeSpec) -> Value {
    let AttributeSpec {
        name,
        values,
        channels,
        channel_names,
        unit,
        description,
    } = spec;
    let values = match values {
        AttributeType::Number(number) => json!({"number": number.to_string()}),
        AttributeType::Category => json!("category"),
        AttributeType::Text => json!("text"),
    };
    json!([name, values, channels, channel_names, unit, description])
}

fn link_spec(spec: &LinkSpec) -> Value {
    let LinkSpec {
        width,
        directed,
        store,
        explicit,
        attributes: list,
    } = spec;
    json!([width, directed, store.name(), explicit, attributes(list)])
}

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;

    use super::spec;
    use crate::codec::Compression;
    use crate::number::NumberType;
    use crate::parametric::{Parametric, ParametricType};
    use crate::spec::{AttributeSpec, ChunkBy, Outside, StoreSpec, TargetVersion};
    use crate::values::Values;

    #[test]
    fn another_specification_has_another_description() {
        let plain = || StoreSpec::new(Kind::PointCloud, [10.0; 3]);
        let bounded = |low: f64| plain().with_bounds([low; 3], [100.0; 3], Outside::Refuse);
        let attribute = || AttributeSpec::number("fa", NumberType::F32);
        let curve = |at: f64| Parametric::new().with_object("plane", [at; 4], None);
        let keys = |last: i64| Some(Values::from(vec![0_i64, last]));
        let mut renamed = plain();
        renamed.axes[1].name = "lon".to_owned();
        let mut headers = plain();
        headers
            .headers
            .insert("trk".to_owned(), zvf_meta::JsonObject::new());
        let mut compressed = plain();
        compressed.compression = Compression::ZstdLevel(7);
        let chunk_by = |values| {
            let mut spec = plain();
            spec.chunk_by = Some(ChunkBy {
                attribute: AttributeSpec::number("k", NumberType::I64),
                values,
                stored: false,
            });
            spec
        };
        let all = [
            plain(),
            StoreSpec::new(Kind::Graph, [10.0; 3]),
            StoreSpec::new(Kind::PointCloud, [10.0, 10.0, 10.000_000_000_000_002]),
            plain().with_unit("um"),
            plain().with_bin_shape([5.0; 3]),
            bounded(0.0),
            bounded(-0.0),
            plain().with_target(TargetVersion::V0_8_1),
            plain().with_vertex_attribute(attribute()),
            plain().with_vertex_attribute(attribute().with_unit("mm")),
            plain().with_vertex_attribute(AttributeSpec::number("fa", NumberType::F64)),
            plain().with_vertex_attribute(AttributeSpec::category("fa")),
            renamed,
            headers,
            compressed,
            chunk_by(None),
            chunk_by(keys(1)),
            chunk_by(keys(2)),
            plain().with_parametric(curve(1.0)),
            plain().with_parametric(curve(2.0)),
            plain().with_parametric(curve(1.0).with_type(ParametricType::new(7, "arc", ["r"]))),
        ];
        let described: Vec<Vec<u8>> = all.iter().map(|one| spec(one).unwrap()).collect();
        for (at, one) in described.iter().enumerate() {
            assert_eq!(*one, spec(&all[at]).unwrap());
            for (other, another) in described.iter().enumerate().skip(at + 1) {
                assert_ne!(one, another, "{at} and {other}");
            }
        }
    }
}
