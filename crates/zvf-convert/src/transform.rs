//! Positions of all readers on their way to a store: scaled, mapped by an affine, in float64, and rounded once.

use serde_json::{Value, json};
use zvf_meta::Affine;
use zvf_write::{
    Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, Values, WriteError, narrow,
};

use crate::affine::read_affine;
use crate::frame::{self, Space};
use crate::options::Options;
use crate::shape::Extent;
use crate::{ConvertError, Format, Found, Sink};

/// The unit of all tractograms.
const MILLIMETER: &str = "millimeter";

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

/// The map of positions that options ask for, and the unit that an image states with it.
pub(crate) fn map(
    format: Format,
    options: &Options,
    unit: Option<(f64, &str)>,
    found: &Found,
) -> Result<(Option<Affine>, Option<&'static str>), ConvertError> {
    let dims = found.extent.dims();
    let named = unit.map(|(_, name)| name);
    let unit = unit
        .map(|(factor, _)| factor)
        .filter(|factor| *factor != 1.0);
    if format.is_tractogram() {
        if options.affine.is_some() || options.scale.is_some() || unit.is_some() {
            let found = format!("one for {}", format.name());
            let expected = "none: the format fixes the frame of its positions, and `--space` chooses between frames";
            return Err(ConvertError::usage(
                "affine, scale or unit with a number",
                found,
                expected,
            ));
        }
        if let Some(name) = named.filter(|name| *name != MILLIMETER) {
            let found = format!("{name} for {}", format.name());
            let expected = "millimeter, or none: the format fixes the unit of its positions";
            return Err(ConvertError::usage("unit", found, expected));
        }
        // TRK is mapped by its reader, and TCK has no voxels.
        let space = options.space.unwrap_or_default();
        let frame = found.frame.as_ref().and_then(frame::split);
        return match (format, space, frame) {
            (Format::Tck, Space::Voxelmm, _) => {
                let expected = "rasmm or file: the header has no voxels";
                Err(ConvertError::usage("space of TCK", "voxelmm", expected))
            }
            (Format::Trx, Space::Voxelmm, Some((source, members))) => {
                let map = frame::grid(&source, &members).and_then(|grid| grid.to_rasmm());
                let map = map.and_then(|map| map.inverse().map_err(|error| error.what));
                let map = map.map_err(|why| {
                    ConvertError::usage(
                        "space of TRX",
                        format!("voxelmm, and the header: {why}"),
                        "rasmm",
                    )
                })?;
                Ok((Some(map), None))
            }
            _ => Ok((None, None)),
        };
    }
    if let Some(name) = named.filter(|_| format == Format::Precomputed)
        && options.scale.is_none()
        && options.affine.is_none()
    {
        let found = format!("{name} for {}", format.name());
        let expected =
            "none: the folder states its units; with --scale or --affine, the unit behind them";
        return Err(ConvertError::usage("unit", found, expected));
    }
    if let Some(space) = options.space {
        let found = format!("{} for {}", space.name(), format.name());
        return Err(ConvertError::usage(
            "space",
            found,
            "none: it is for TRK, TCK and TRX",
        ));
    }
    let scale = match (&options.scale, unit) {
        (Some(_), Some(factor)) => {
            let expected = "one of the two";
            return Err(ConvertError::usage(
                "scale",
                format!("a scale, and {factor} before the unit"),
                expected,
            ));
        }
        (Some(factors), None) => match factors.as_slice() {
            [one] => Some(vec![*one; dims]),
            list if list.len() == dims => Some(list.to_vec()),
            list => {
                let found = format!("{} factors", list.len());
                return Err(ConvertError::usage(
                    "scale",
                    found,
                    format!("1 or {dims}, one an axis"),
                ));
            }
        },
        (None, factor) => factor.map(|factor| vec![factor; dims]),
    };
    if let Some(wrong) = scale
        .iter()
        .flatten()
        .find(|one| **one == 0.0 || !one.is_finite())
    {
        return Err(ConvertError::usage(
            "scale",
            wrong.to_string(),
            "a number that is not 0",
        ));
    }
    let scale = scale.map(|factors| Affine::of_scale(&factors));
    let stated = options
        .affine
        .as_deref()
        .map(|path| read_affine(path, dims))
        .transpose()?;
    let (affine, unit) = stated.map_or((None, None), |stated| (Some(stated.affine), stated.unit));
    if let Some(affine) = &affine {
        affine
            .inverse()
            .map_err(|error| ConvertError::usage("affine", error.what, "three directions"))?;
    }
    let map = match (affine, scale) {
        (Some(affine), Some(scale)) => Some(affine.after(&scale)),
        (affine, scale) => affine.or(scale),
    };
    Ok((map, unit))
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
