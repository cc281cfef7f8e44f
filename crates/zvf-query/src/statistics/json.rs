//! Statistics as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{ColumnStatistics, StatisticValue, StatisticsKey, StatisticsOf, StatisticsSection};

/// A float; NaN and the infinities, which JSON lacks, are strings.
struct Float(f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_finite() => to.serialize_f64(number),
            number if number.is_nan() => to.serialize_str("NaN"),
            number if number > 0.0 => to.serialize_str("Infinity"),
            _ => to.serialize_str("-Infinity"),
        }
    }
}

impl Serialize for StatisticValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(number) => to.serialize_i128(*number),
            Self::Float(number) => Float(*number).serialize(to),
        }
    }
}

impl Serialize for ColumnStatistics {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_map(None)?;
        members.serialize_entry("column", &self.name)?;
        members.serialize_entry("type", &self.type_name())?;
        if let Some(unit) = self.field.metadata().get("zvf.unit") {
            members.serialize_entry("unit", unit)?;
        }
        members.serialize_entry("count", &self.count)?;
        members.serialize_entry("missing", &self.missing)?;
        members.serialize_entry("nan", &self.nan)?;
        match &self.values {
            StatisticsOf::Nothing => {}
            StatisticsOf::Categories(counts) => {
                let counts = counts.as_ref().map(|all| &all.counts);
                members.serialize_entry("distinct", &counts.map(Vec::len))?;
                members.serialize_entry("categories", &counts)?;
            }
            StatisticsOf::Numbers(numbers) => {
                members.serialize_entry("min", &numbers.min)?;
                members.serialize_entry("max", &numbers.max)?;
                members.serialize_entry("sum", &numbers.sum)?;
                members.serialize_entry("mean", &Float(numbers.mean))?;
                members.serialize_entry("std", &numbers.std.map(Float))?;
                let quantiles = numbers.quantiles.iter();
                let quantiles = quantiles.map(|(probability, value)| (probability, Float(*value)));
                members.serialize_entry("quantiles", &quantiles.collect::<Vec<_>>())?;
                members.serialize_entry("rank_error", &numbers.rank_error)?;
                members.serialize_entry("infinite", &numbers.infinite)?;
                if let Some((edges, counts)) = &numbers.histogram {
                    members.serialize_entry("histogram", &Histogram { edges, counts })?;
                }
            }
        }
        members.end()
    }
}

/// A histogram; its edges are finite.
#[derive(serde::Serialize)]
struct Histogram<'h> {
    edges: &'h [f64],
    counts: &'h [u64],
}

impl Serialize for StatisticsSection {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_map(None)?;
        match &self.of {
            None => {}
            Some(StatisticsKey::Object(id)) => members.serialize_entry("object_id", id)?,
            Some(StatisticsKey::Group(number, name)) => {
                members.serialize_entry("group", name)?;
                members.serialize_entry("number", number)?;
            }
        }
        members.serialize_entry("vertices", &self.vertices)?;
        members.serialize_entry("columns", &self.columns)?;
        members.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
    use arrow_schema::Field;
    use serde_json::{Value, json};

    use super::super::column::{ColumnCounter, Extent};

    fn text(column: ArrayRef) -> String {
        let extent = Extent {
            probabilities: vec![1.0],
            bins: 4,
            exact: 16,
        };
        let field = Field::new("a", column.data_type().clone(), true);
        let mut counters = ColumnCounter::of(&field, &[], &extent);
        let mut counter = counters.remove(0);
        counter.extend(&column).unwrap();
        serde_json::to_string(&counter.finish(&extent).unwrap()).unwrap()
    }

    #[test]
    fn sums_beyond_64_bits_have_all_their_digits() {
        let unsigned = text(Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX, 1])));
        let sum = "\"sum\":36893488147419103231,";
        assert!(unsigned.contains(sum), "{unsigned}");
        let signed = text(Arc::new(Int64Array::from(vec![i64::MIN + 1, i64::MIN + 1])));
        let sum = "\"sum\":-18446744073709551614,";
        assert!(signed.contains(sum), "{signed}");
    }

    #[test]
    fn infinities_are_texts_and_counted() {
        let found = text(Arc::new(Float64Array::from(vec![1.0, 2.0, f64::INFINITY])));
        let found: Value = serde_json::from_str(&found).unwrap();
        for name in ["max", "sum", "mean"] {
            assert_eq!(found[name], "Infinity", "{name}");
        }
        assert_eq!(found["std"], "NaN");
        assert_eq!(found["quantiles"], json!([[1.0, "Infinity"]]));
        assert_eq!(
            (&found["count"], &found["infinite"]),
            (&json!(3), &json!(1))
        );
        let bins = found["histogram"]["counts"].as_array().unwrap();
        let counted: u64 = bins.iter().filter_map(Value::as_u64).sum();
        assert_eq!(counted, 2);
    }
}
