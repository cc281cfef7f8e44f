//! Positions of all readers on their way to a store: scaled, mapped by an affine, in float64, and rounded once.

use serde_json::{Value, json};
use zvf_meta::Affine;
use zvf_write::{
    Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, Values, WriteError, narrow,
};

use crate::shape::Extent;
use crate::{ConvertError, Format, Sink};

/// The map of an import.
#[derive(Debug, Clone)]
pub(crate) struct Transform {
    map: Affine,
    /// How mapped positions are stored.
    pub(crate) positions: NumberType,
    /// SWC and skeletons of Neuroglancer: the factor of radii, which are lengths.
    radius: Option<f64>,
}

impl Transform {
    /// A map of positions that would be stored as `spec` says without it.
    pub(crate) fn new(map: Affine, spec: &StoreSpec, format: Format) -> Self {
        let wide = matches!(
            spec.positions,
            NumberType::F64 | NumberType::I32 | NumberType::I64 | NumberType::U32 | NumberType::U64
        );
        let lengths = matches!(format, Format::Swc | Format::Precomputed)
            && matches!(spec.kind, Kind::Skeleton | Kind::Graph);
        let radius = lengths.then(|| determinant(&map).abs().cbrt());
        Self {
            map,
            positions: crate::float_type(!wide),
            radius,
        }
    }

    /// What the store keeps of it, as the header of the format.
    pub(crate) fn document(&self, format: Format) -> Value {
        json!({
            "source": format.name().to_lowercase(),
            "applied_affine": self.map.rows(),
            "applied_affine_inverse": self.map.inverse().ok().map(|map| map.rows()),
        })
    }

    /// What a user should know.
    pub(crate) fn notes(&self, mesh: bool) -> Vec<String> {
        let mut notes = Vec::new();
        match self.radius {
            Some(factor) => notes.push(format!(
                "positions were transformed, and radii multiplied by {factor}"
            )),
            None => notes
                .push("positions were transformed; attributes are those of the file".to_owned()),
        }
        if mesh && determinant(&self.map) < 0.0 {
            notes.push("the affine mirrors: the corners of faces keep their order, so that faces turn their other side".to_owned());
        }
        notes
    }

    fn batch<'b>(&self, batch: &Batch<'b>) -> Batch<'b> {
        let from = batch.positions().to_f64();
        let rank = self.map.rank().max(1);
        let mut to = vec![0.0; from.len()];
        for (to, from) in to.chunks_exact_mut(rank).zip(from.chunks_exact(rank)) {
            self.map.apply(from, to);
        }
        let mapped = batch.clone().with_positions(match self.positions {
            NumberType::F32 => Values::from(to.into_iter().map(narrow).collect::<Vec<_>>()),
            _ => Values::from(to),
        });
        let Some(factor) = self.radius else {
            return mapped;
        };
        mapped.map_attribute("radius", |values| match values {
            Values::F32(list) => {
                let list = list.iter().map(|one| narrow(f64::from(*one) * factor));
                Values::from(list.collect::<Vec<_>>())
            }
            Values::F64(list) => {
                Values::from(list.iter().map(|one| one * factor).collect::<Vec<_>>())
            }
            other => other.clone(),
        })
    }

    /// Where mapped positions are. A coordinate that is no number any more is an error.
    pub(crate) fn survey(
        &self,
        read: impl FnOnce(&mut dyn Sink) -> Result<(), ConvertError>,
    ) -> Result<Extent, ConvertError> {
        let mut places = Places {
            extent: Extent::new(self.map.rank()),
            finite: true,
        };
        read(&mut Moved {
            transform: self,
            sink: &mut places,
        })?;
        if !places.finite {
            let expected = "numbers that the type of the positions holds";
            return Err(ConvertError::usage(
                "--affine or --scale",
                "positions beyond every number",
                expected,
            ));
        }
        Ok(places.extent)
    }
}

/// The determinant of the matrix.
fn determinant(map: &Affine) -> f64 {
    let at = |row, column| map.at(row, column);
    match map.rank() {
        1 => at(0, 0),
        2 => at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0),
        3 => (0..3)
            .map(|column| {
                let (next, last) = ((column + 1) % 3, (column + 2) % 3);
                at(0, column) * (at(1, next) * at(2, last) - at(1, last) * at(2, next))
            })
            .sum(),
        _ => 1.0,
    }
}

/// A sink behind a map.
pub(crate) struct Moved<'a> {
    pub(crate) transform: &'a Transform,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Sink for Moved<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.sink.batch(&self.transform.batch(batch))
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> Result<(), WriteError> {
        self.sink.objects(table)
    }

    fn groups(&mut self, groups: &Groups<'_>) -> Result<(), WriteError> {
        self.sink.groups(groups)
    }
}

/// Where positions are.
struct Places {
    extent: Extent,
    finite: bool,
}

impl Sink for Places {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        let positions = batch.positions().to_f64();
        self.finite &= positions.iter().all(|one| one.is_finite());
        for position in positions.chunks_exact(self.extent.dims().max(1)) {
            self.extent.add(position);
        }
        Ok(())
    }

    fn objects(&mut self, _: &ObjectTable<'_>) -> Result<(), WriteError> {
        Ok(())
    }

    fn groups(&mut self, _: &Groups<'_>) -> Result<(), WriteError> {
        Ok(())
    }
}
