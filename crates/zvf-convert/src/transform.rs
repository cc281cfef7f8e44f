//! Maps the positions of all readers by scales and affines, in float64 with one rounding at the end.

use std::path::Path;

use serde_json::{Value, json};
use zvf_meta::units::{self, NoUnit};
use zvf_meta::{Affine, Axis, StatedAffine};
use zvf_write::{Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, WriteError};

use crate::affine::read_affine;
use crate::found::{FirstPass, float_type};
use crate::frame::{self, Space};
use crate::options::Options;
use crate::shape::VertexExtent;
use crate::sink::Sink;
use crate::store_frame::{APPLIED, GIVEN, PositionConversion};
use crate::stores::types::convert_radius;
use crate::{ConvertError, Format};

/// The unit of all tractograms.
pub(crate) const MILLIMETER: &str = "millimeter";

/// The map of an import.
#[derive(Debug, Clone)]
pub(crate) struct ImportTransform {
    map: Affine,
    /// The map from the user, if the format has its own map, which is applied first.
    given: Option<Option<Affine>>,
    /// The number type of mapped positions.
    positions: NumberType,
    /// The factor by which radii are multiplied.
    radius: Option<f64>,
}

impl ImportTransform {
    /// A map for positions of a new store; `own` is the map of the format, applied before `given`. `None` without a map.
    pub(crate) fn new(
        given: Option<Affine>,
        own: Option<Affine>,
        spec: &StoreSpec,
        format: Format,
    ) -> Option<Self> {
        let map = match (given.clone(), &own) {
            (Some(given), Some(own)) => Some(given.after(own)),
            (given, own) => given.or(own.clone()),
        };
        let map = map?;
        let wide = matches!(
            spec.positions,
            NumberType::F64 | NumberType::I32 | NumberType::I64 | NumberType::U32 | NumberType::U64
        );
        let lengths = format.has_radii() && matches!(spec.kind, Kind::Skeleton | Kind::Graph);
        let radius = lengths.then(|| map.mean_scale(&spec.axes));
        Some(Self {
            given: own.map(|_| given),
            map,
            positions: float_type(!wide),
            radius,
        })
    }

    /// A map of files into an existing store; mapped positions are float64. `None` if neither positions nor radii are converted.
    pub(crate) fn into_store(
        placed: PositionConversion,
        own: Option<Affine>,
        radius: Option<f64>,
        dims: usize,
    ) -> Option<Self> {
        let map = match (placed.map, own) {
            (Some(map), Some(own)) => Some(map.after(&own)),
            (map, own) => map.or(own),
        };
        let radius = match (placed.lengths, radius) {
            (Some(one), Some(other)) => Some(one * other),
            (one, other) => one.or(other),
        };
        // Radii may be in another unit than positions that need no conversion.
        let equal = || radius.map(|_| Affine::identity(dims));
        Some(Self {
            map: map.or_else(equal)?,
            given: None,
            positions: NumberType::F64,
            radius,
        })
    }

    /// Gives positions and radii the types of the mapped numbers.
    pub(crate) fn set_types(&self, spec: &mut StoreSpec) {
        spec.positions = self.positions;
        if self.radius.is_some() {
            convert_radius(spec);
        }
    }

    /// The record of the map that is stored as the header of the format.
    pub(crate) fn document(&self, format: Format) -> Value {
        let mut document = json!({
            "source": format.header(),
            APPLIED: self.map.rows(),
            "applied_affine_inverse": self.map.inverse().ok().map(|map| map.rows()),
        });
        if let (Some(given), Some(members)) = (&self.given, document.as_object_mut()) {
            let rows = given.as_ref().map(Affine::rows);
            members.insert(GIVEN.to_owned(), json!(rows));
        }
        document
    }

    /// Remarks for the user.
    pub(crate) fn notes(&self, mesh: bool) -> Vec<String> {
        let mut notes = Vec::new();
        match self.radius {
            Some(factor) => notes.push(format!(
                "positions were transformed, and radii multiplied by {factor}"
            )),
            None => notes
                .push("positions were transformed; attributes are those of the file".to_owned()),
        }
        if mesh && self.map.determinant() < 0.0 {
            notes.push("the affine mirrors: faces keep the order of their corners, so they face the other way".to_owned());
        }
        notes
    }

    fn batch(&self, batch: &Batch) -> Batch {
        batch.mapped(&self.map, self.positions, self.radius)
    }

    /// Determines the bounds of the mapped positions. Fails if a coordinate becomes NaN or infinite.
    pub(crate) fn survey(
        &self,
        read: impl FnOnce(&mut dyn Sink) -> Result<(), ConvertError>,
    ) -> Result<VertexExtent, ConvertError> {
        let mut places = PositionBounds {
            extent: VertexExtent::new(self.map.rank()),
            finite: true,
        };
        read(&mut Moved {
            transform: self,
            sink: &mut places,
        })?;
        if !places.finite {
            let expected = "positions that their number type represents";
            return Err(ConvertError::usage(
                "--affine or --scale",
                "positions that exceed the range of their type",
                expected,
            ));
        }
        Ok(places.extent)
    }
}

/// The options about the positions of files, parsed.
#[derive(Debug, Clone, Default)]
pub(crate) struct PositionOptions {
    /// The map of positions.
    pub(crate) map: Option<Affine>,
    /// The unit of each axis after the map; `None` if it is not stated.
    pub(crate) units: Vec<Option<String>>,
    /// Whether a unit, a scale or an affine is given.
    pub(crate) explicit: bool,
    /// The options as text for messages.
    pub(crate) text: String,
    /// Remarks for the user.
    pub(crate) notes: Vec<String>,
}

/// Refuses options that do not fit tractograms, and finds the map to the requested frame if the reader does not apply it.
pub(crate) fn of_tractogram(
    format: Format,
    options: &Options,
    found: &FirstPass,
) -> Result<Option<Affine>, ConvertError> {
    let units = axis_units(options.unit.as_deref(), &found.spec.axes)?;
    let scaled = units.iter().any(|unit| unit.factor != 1.0);
    if options.affine.is_some() || options.scale.is_some() || scaled {
        let found = format!("one for {}", format.name());
        let expected = "none: the format fixes the frame of its positions, and `--space` chooses between frames";
        return Err(ConvertError::usage(
            "affine, scale or unit with a number",
            found,
            expected,
        ));
    }
    let mut names = units.iter().filter_map(|unit| unit.name);
    if let Some(name) = names.find(|name| *name != MILLIMETER) {
        let found = format!("{name} for {}", format.name());
        let expected = "millimeter, or none: the format fixes the unit of its positions";
        return Err(ConvertError::usage("unit", found, expected));
    }
    // The reader of TRK applies the map itself, and TCK has no voxels.
    let space = options.space.unwrap_or_default();
    let frame = found.frame.as_ref().and_then(frame::split);
    match (format, space, frame) {
        (Format::Tck, Space::Voxelmm, _) => {
            let expected = "rasmm or file: the header has no voxels";
            Err(ConvertError::usage("space of TCK", "voxelmm", expected))
        }
        (Format::Trx, Space::Voxelmm, Some((source, members))) => {
            let map = frame::grid(&source, &members).and_then(|grid| grid.to_rasmm());
            let map = map.and_then(|map| map.inverse().map_err(|error| error.what));
            map.map(Some).map_err(|why| {
                ConvertError::usage(
                    "space of TRX",
                    format!("voxelmm, and the header: {why}"),
                    "rasmm",
                )
            })
        }
        _ => Ok(None),
    }
}

/// The options about positions along these axes, for formats other than tractograms; `stated` are the axes of the files,
/// if they state units.
pub(crate) fn given(
    format: Format,
    options: &Options,
    axes: &[Axis],
    stated: Option<&[Axis]>,
) -> Result<PositionOptions, ConvertError> {
    if let Some(space) = options.space {
        let found = format!("{} for {}", space.name(), format.name());
        return Err(ConvertError::usage(
            "space",
            found,
            "none: only TRK, TCK and TRX have it",
        ));
    }
    let units = axis_units(options.unit.as_deref(), axes)?;
    let named = units.iter().find_map(|unit| unit.name);
    if let Some(name) = named.filter(|_| format == Format::Precomputed)
        && options.scale.is_none()
        && options.affine.is_none()
    {
        let found = format!("{name} for {}", format.name());
        let expected = "none: the folder states its units; with --scale or --affine, the unit that results from them";
        return Err(ConvertError::usage("unit", found, expected));
    }
    if options.scale.is_none() && options.affine.is_none() {
        check_stated(&units, axes, stated)?;
    }
    let dims = axes.len();
    let factors: Vec<f64> = units.iter().map(|unit| unit.factor).collect();
    let numbered = factors.iter().find(|factor| **factor != 1.0);
    let scale = match (&options.scale, numbered) {
        (Some(_), Some(factor)) => {
            let expected = "one of the two";
            return Err(ConvertError::usage(
                "scale",
                format!("a scale, and {factor} before the unit"),
                expected,
            ));
        }
        (Some(factors), None) => match factors.as_slice() {
            [one] => {
                let factor = |axis: &Axis| if axis.is_space() { *one } else { 1.0 };
                Some(axes.iter().map(factor).collect())
            }
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
        (None, Some(_)) => Some(factors),
        (None, None) => None,
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
    let scale = scale.map(|factors: Vec<f64>| Affine::of_scale(&factors));
    let image = options
        .affine
        .as_deref()
        .map(|path| affine_of_axes(path, axes))
        .transpose()?;
    let (affine, image) = image.map_or((None, None), |image| (Some(image.affine), image.unit));
    if let Some(affine) = &affine {
        affine
            .inverse()
            .map_err(|error| ConvertError::usage("affine", error.what, "three directions"))?;
    }
    let mut notes = Vec::new();
    let unit = |(unit, axis): (&AxisUnit, &Axis)| -> Option<String> {
        unit.name
            .or(image.filter(|_| axis.is_space()))
            .map(str::to_owned)
    };
    if let Some(image) = image
        && let Some(other) = units.iter().zip(axes).find_map(|(unit, axis)| {
            unit.name
                .filter(|name| axis.is_space() && *name != image && unit.factor == 1.0)
        })
    {
        notes.push(format!(
            "the image of --affine states {image}: --unit {other} is used instead"
        ));
    }
    let map = match (affine, scale) {
        (Some(affine), Some(scale)) => Some(affine.after(&scale)),
        (affine, scale) => affine.or(scale),
    };
    let mut words: Vec<String> = Vec::new();
    words.extend(options.unit.iter().map(|unit| format!("--unit {unit}")));
    words.extend(options.scale.iter().map(|list| {
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        format!("--scale {}", list.join(","))
    }));
    let path = options.affine.iter();
    words.extend(path.map(|path| format!("--affine {}", path.display())));
    Ok(PositionOptions {
        units: units.iter().zip(axes).map(unit).collect(),
        map,
        explicit: !words.is_empty(),
        text: words.join(" "),
        notes,
    })
}

/// Refuses a unit that contradicts the stated one.
fn check_stated(
    units: &[AxisUnit],
    axes: &[Axis],
    stated: Option<&[Axis]>,
) -> Result<(), ConvertError> {
    for ((unit, axis), own) in units.iter().zip(axes).zip(stated.unwrap_or_default()) {
        if let (Some(name), Some(own)) = (unit.name, &own.unit)
            && (unit.factor != 1.0 || !zvf_meta::units::same(name, own))
        {
            let number = Some(unit.factor).filter(|factor| *factor != 1.0);
            let number = number.map_or_else(String::new, |factor| factor.to_string());
            return Err(ConvertError::usage(
                format!("unit of {}", axis.name),
                format!("{number}{name}"),
                format!(
                    "{own}, which the files state; with --scale or --affine, the unit that results from them"
                ),
            ));
        }
    }
    Ok(())
}

/// A unit from the options, with the number before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisUnit {
    pub(crate) factor: f64,
    pub(crate) name: Option<&'static str>,
}

/// The units from the options, by axis.
pub(crate) fn axis_units(
    given: Option<&str>,
    axes: &[Axis],
) -> Result<Vec<AxisUnit>, ConvertError> {
    let none = AxisUnit {
        factor: 1.0,
        name: None,
    };
    let mut found = vec![none; axes.len()];
    let wrong = |why: NoUnit| ConvertError::usage("unit", why.found, why.expected);
    for item in given.iter().flat_map(|text| text.split(',')) {
        let (picked, (factor, name)): (Vec<usize>, _) = match item.split_once('=') {
            Some((axis, unit)) => {
                let at = axes.iter().position(|one| one.name == axis.trim());
                let named = at.and_then(|at| Some((at, axes.get(at)?)));
                let (at, axis) = named.ok_or_else(|| {
                    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
                    let expected = format!("an axis: {}", names.join(", "));
                    ConvertError::usage("unit", format!("axis {axis:?}"), expected)
                })?;
                let parsed = match axis.kind() {
                    "time" => units::parse_time(unit),
                    "space" => units::parse(unit),
                    kind => Err(NoUnit {
                        found: format!("{unit:?} for axis {} of type {kind}", axis.name),
                        expected: "none".to_owned(),
                    }),
                };
                (vec![at], parsed.map_err(wrong)?)
            }
            None => {
                let of = |kind: &str| -> Vec<usize> {
                    let axes = axes.iter().enumerate();
                    let axes = axes.filter(|(_, axis)| axis.kind() == kind);
                    axes.map(|(at, _)| at).collect()
                };
                let times = of("time");
                match units::parse_time(item) {
                    Ok(unit) if !times.is_empty() => (times, unit),
                    _ => (of("space"), units::parse(item).map_err(wrong)?),
                }
            }
        };
        for at in picked {
            if let (Some(slot), Some(axis)) = (found.get_mut(at), axes.get(at)) {
                if slot.name.is_some() {
                    let what = format!("unit of {}", axis.name);
                    let found = format!("{item:?} and another unit");
                    return Err(ConvertError::usage(what, found, "one unit"));
                }
                *slot = AxisUnit {
                    factor,
                    name: Some(name),
                };
            }
        }
    }
    Ok(found)
}

/// Reads an affine for all axes, or for the axes of space only. The affine of an image maps x, y and z, whatever the order of the axes; an affine in
/// numbers maps the axes in their order.
fn affine_of_axes(path: &Path, axes: &[Axis]) -> Result<StatedAffine, ConvertError> {
    let space = axes.iter().enumerate().filter(|(_, axis)| axis.is_space());
    let space: Vec<usize> = space.map(|(at, _)| at).collect();
    let placed = |mut stated: StatedAffine| {
        let named = |name: &str| {
            let mut space = space.iter().copied();
            space.find(|at| axes.get(*at).is_some_and(|axis| axis.name == name))
        };
        let places = match ["x", "y", "z"].map(named) {
            [Some(x), Some(y), Some(z)] if stated.source.is_some() => &[x, y, z][..],
            _ => &space,
        };
        stated.affine = stated.affine.embedded(places, axes.len());
        stated
    };
    if space.len() == axes.len() {
        return read_affine(path, axes.len()).map(placed);
    }
    if space.is_empty() {
        return read_affine(path, axes.len());
    }
    match read_affine(path, space.len()) {
        Ok(stated) => Ok(placed(stated)),
        Err(error) => read_affine(path, axes.len()).map_err(|_| error),
    }
}

/// A sink that maps positions before it passes them on.
pub(crate) struct Moved<'a> {
    pub(crate) transform: &'a ImportTransform,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Sink for Moved<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        self.sink.batch(&self.transform.batch(batch))
    }

    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        self.sink.objects(table)
    }

    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        self.sink.groups(groups)
    }
}

/// Bounds of positions.
struct PositionBounds {
    extent: VertexExtent,
    finite: bool,
}

impl Sink for PositionBounds {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let positions = batch.positions().to_f64();
        self.finite &= positions.iter().all(|one| one.is_finite());
        for position in positions.chunks_exact(self.extent.dims().max(1)) {
            self.extent.add(position);
        }
        Ok(())
    }

    fn objects(&mut self, _: &ObjectTable) -> Result<(), WriteError> {
        Ok(())
    }

    fn groups(&mut self, _: &Groups) -> Result<(), WriteError> {
        Ok(())
    }
}
