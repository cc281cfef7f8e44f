//! Maps positions of files into an existing store, by the map with which the store was made, and by its axes and units.

use std::borrow::Cow;

use serde_json::Value;
use zvf_meta::{Affine, Axis, map_of_axes, radius_factor};
use zvf_write::Kind;
use zvf_write::arrow::{stated_axes, stated_unit};

use crate::frame::{SourceHeader, Space, same};
use crate::options::Options;
use crate::records::source::stated_crs;
use crate::store_frame::{APPLIED, PositionConversion, RecordedMap, StoreFrame};
use crate::transform::{self, PositionOptions};
use crate::{ConvertError, Format};

impl StoreFrame {
    /// Determines how positions of a table with this schema are mapped into the store. A table that states axes (`zvf.axes`, `zvf.units`,
    /// as queries write them) is in the frame of a store: only units are converted. Other tables use the map with which
    /// the store was made. [`Options::unit`], [`Options::scale`] and [`Options::affine`] replace both.
    ///
    /// # Errors
    /// Misuse: options that do not fit; units that cannot be converted; another coordinate reference system or frame; several maps in the
    /// store. I/O: the file of the affine.
    pub fn place_table(
        &self,
        schema: &arrow_schema::Schema,
        options: &Options,
    ) -> Result<PositionConversion, ConvertError> {
        // Columns are matched with axes by name.
        let stated = stated_axes(schema)?.map(|stated| self.in_order(stated));
        let own = self.crs.as_ref().filter(|own| own.is_string());
        let system = match (stated_crs(schema), own) {
            (Some(found), Some(expected)) if found != *expected => {
                let expected = format!("{expected} as in the store");
                return Err(ConvertError::usage("crs", found.to_string(), expected));
            }
            (Some(found), None) => Some(format!(
                "positions in {found} are stored unchanged: the store states no CRS"
            )),
            (None, Some(own)) if stated.is_some() => Some(format!(
                "the table states no CRS: {own} is assumed, that of the store"
            )),
            _ => None,
        };
        if let Some(theirs) = SourceHeader::of_schema(schema) {
            self.check_frame(&theirs)?;
        }
        let given = transform::given(Format::Arrow, options, &self.axes, stated.as_deref())?;
        let radius = stated_unit(schema, "radius");
        let mut placed = self.place(Format::Arrow, &given, stated.as_deref(), radius)?;
        placed.remarks.extend(system);
        Ok(placed)
    }

    /// Checks that the frame that a table of a tractogram states is the frame of the store.
    ///
    /// # Errors
    /// Misuse: another frame.
    pub(crate) fn check_frame(&self, theirs: &SourceHeader) -> Result<(), ConvertError> {
        let own = self.frame.as_ref().and_then(SourceHeader::space);
        match (theirs.space().map(Space::name), own.map(Space::name)) {
            (Some(found), Some(expected)) if found != expected => Err(ConvertError::usage(
                "frame",
                format!("positions in {found}"),
                format!(
                    "{expected} as in the store; files that `zvf export` writes as TRK, TCK or TRX are converted"
                ),
            )),
            _ => {
                let map = |frame: &SourceHeader| frame.frame_of_axes()?.1;
                let own = self.frame.as_ref().and_then(map);
                match map(theirs).zip(own) {
                    Some((found, expected)) if !same(&found, &expected) => {
                        Err(ConvertError::usage(
                            "frame",
                            "positions in voxel millimetres of another image",
                            "the same affine as in the store; files that `zvf export` writes as TRK, TCK or TRX are converted",
                        ))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The axes in the order of the store's axes if the names are the same, else unchanged.
    pub(crate) fn in_order(&self, axes: Vec<Axis>) -> Vec<Axis> {
        let by_name = |axis: &Axis| axes.iter().find(|one| one.name == axis.name).cloned();
        let named: Option<Vec<Axis>> = self.axes.iter().map(by_name).collect();
        named.unwrap_or(axes)
    }

    /// Determines how positions of files are mapped into the store. `stated` are the axes of the files, if they state axes or units; `radius` is the
    /// unit that they state for the attribute `radius`.
    pub(crate) fn place(
        &self,
        format: Format,
        given: &PositionOptions,
        stated: Option<&[Axis]>,
        radius: Option<&str>,
    ) -> Result<PositionConversion, ConvertError> {
        let mut remarks = Vec::new();
        let mut source = format;
        let map = if given.explicit {
            remarks.push(self.compare(given));
            given.map.clone()
        } else if stated.is_some() {
            None
        } else if let Some(recorded) = self.recorded_map()? {
            let map = recorded.map.clone().map_err(|why| {
                ConvertError::usage(
                    format!("{}: {APPLIED}", recorded.place),
                    why,
                    format!(
                        "an affine; {} imports positions unchanged",
                        self.as_they_are()
                    ),
                )
            })?;
            source = recorded.format;
            remarks.push(format!(
                "positions were {}, as in the import that made the store ({}); {} imports them unchanged",
                described(&map),
                recorded.place,
                self.as_they_are()
            ));
            Some(map)
        } else {
            None
        };
        let mut from = self.axes.clone();
        for (at, axis) in from.iter_mut().enumerate() {
            let unit = given.units.get(at).cloned().flatten();
            let own = stated.and_then(|stated| stated.get(at));
            axis.unit = match given.explicit {
                // The result of an explicit map is in the unit of the store unless another unit is given.
                true if given.map.is_some() => unit,
                true => unit.or_else(|| own.and_then(|one| one.unit.clone())),
                false => own.and_then(|one| one.unit.clone()),
            };
        }
        let converted = match stated.is_some() || given.explicit {
            true => self.convert(&from, given.explicit, &mut remarks)?,
            false => None,
        };
        let radii = matches!(self.kind, Kind::Skeleton | Kind::Graph);
        let mut lengths = 1.0;
        if let Some(map) = map.as_ref().filter(|_| source.has_radii()) {
            lengths *= map.mean_scale(&self.axes);
        }
        if stated.is_some() || given.explicit {
            let equal = Affine::identity(self.axes.len());
            let map = converted.as_ref().unwrap_or(&equal);
            let own = (&*self.axes, self.radius.as_deref());
            match radius_factor(map, (&from, radius), own) {
                Some(factor) => lengths *= factor,
                None if radii => remarks.push(
                    "radius is not converted: it has a unit that is no length, or only one side states a unit".to_owned(),
                ),
                None => {}
            }
        }
        let map = match (converted, map) {
            (Some(last), Some(first)) => Some(last.after(&first)),
            (last, first) => last.or(first),
        };
        Ok(PositionConversion {
            map: map.filter(|map| !map.is_identity()),
            lengths: (radii && lengths != 1.0).then_some(lengths),
            remarks,
        })
    }

    /// The map between units of positions; `None` if they are equal or unknown.
    fn convert(
        &self,
        from: &[Axis],
        explicit: bool,
        remarks: &mut Vec<String>,
    ) -> Result<Option<Affine>, ConvertError> {
        let map = map_of_axes(from, &self.axes)
            .map_err(|differ| ConvertError::usage("units", differ.found, differ.expected))?;
        let units = |axes: &[Axis]| {
            let space = axes.iter().filter(|axis| axis.is_space());
            let mut units: Vec<String> = space.filter_map(|axis| axis.unit.clone()).collect();
            units.extend(
                axes.iter()
                    .filter(|axis| !axis.is_space())
                    .filter_map(|axis| Some(format!("{} {}", axis.name, axis.unit.as_ref()?))),
            );
            units.dedup();
            units.join(", ")
        };
        if !map.is_identity() {
            remarks.push(format!(
                "positions were converted from {} to {}, the unit of the store",
                units(from),
                units(&self.axes)
            ));
            return Ok(Some(map));
        }
        let missing = |one: &[Axis], other: &[Axis]| -> Vec<String> {
            let pairs = one.iter().zip(other);
            let lacks = pairs.filter(|(one, other)| one.unit.is_none() && other.unit.is_some());
            lacks.map(|(_, other)| other.name.clone()).collect()
        };
        let own = missing(&self.axes, from);
        if !own.is_empty() {
            remarks.push(format!(
                "the store states no unit of {}: positions in {} are stored unchanged",
                own.join(", "),
                units(from)
            ));
        }
        let theirs = missing(from, &self.axes);
        if !theirs.is_empty() && !explicit {
            remarks.push(format!(
                "the files state no unit of {}: {} is assumed, the unit of the store",
                theirs.join(", "),
                units(&self.axes)
            ));
        }
        Ok(None)
    }

    /// A remark that compares the map of these files with the map of the store.
    fn compare(&self, given: &PositionOptions) -> String {
        let own = match self.recorded.first() {
            None => "the positions of the store were imported unchanged".to_owned(),
            Some(RecordedMap { map, place, .. }) => match map {
                Ok(map) => format!(
                    "the positions of the store were {} ({place})",
                    described(map)
                ),
                Err(why) => format!("the store records {why} ({place})"),
            },
        };
        let theirs = match &given.map {
            None => Cow::Borrowed("imported without scale or affine"),
            Some(map) => Cow::Owned(described(map)),
        };
        format!(
            "positions of these files were {theirs} ({}); {own}",
            given.text
        )
    }

    /// The option that imports positions unchanged, in the unit of the store.
    fn as_they_are(&self) -> String {
        let mut space = self.axes.iter().filter(|axis| axis.is_space());
        let first = space.next().and_then(|axis| axis.unit.as_deref());
        match first.filter(|unit| zvf_meta::units::name(unit).is_some()) {
            Some(unit) if space.all(|axis| axis.unit.as_deref() == Some(unit)) => {
                format!("--unit {unit}")
            }
            _ => "--scale 1".to_owned(),
        }
    }

    /// A remark if [`Options::space`] stores a tractogram in another frame than that of the store.
    ///
    /// # Errors
    /// Misuse: the header of the store does not state its frame.
    pub(crate) fn compare_spaces(
        &self,
        found: &Value,
        options: &Options,
    ) -> Result<Option<String>, ConvertError> {
        let theirs = found.get("space").and_then(Value::as_str);
        let (Some(own), Some(theirs)) = (&self.frame, theirs) else {
            return Ok(None);
        };
        if let Some(problem) = own.problem() {
            return Err(ConvertError::usage(
                "frame",
                format!("{problem} in the store's {}", own.place()),
                format!("the frame of its positions: the files have {theirs}"),
            ));
        }
        let differs = own.space().map(Space::name).filter(|own| *own != theirs);
        Ok(differs.filter(|_| options.space.is_some()).map(|space| {
            format!("positions of these files were stored as {theirs} (--space); those of the store are {space}")
        }))
    }
}

/// Describes a map for a message.
fn described(map: &Affine) -> String {
    let rank = map.rank();
    let diagonal: Vec<f64> = (0..rank).map(|at| map.at(at, at)).collect();
    let list = |numbers: &[f64]| {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        numbers.join(" ")
    };
    if *map != Affine::of_scale(&diagonal) {
        let rows = map.rows();
        let rows = rows.iter().take(rank).map(|row| list(row));
        return format!("mapped by {}", rows.collect::<Vec<_>>().join("; "));
    }
    match diagonal.as_slice() {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => {
            format!("multiplied by {first}")
        }
        all => format!("multiplied by {}", list(all)),
    }
}
