//! Frames of tractograms: the headers of source files that a store keeps (`headers/<format>`, specification 0.9, section 16.2), the
//! frame of its positions, and the maps between frames.

use arrow_schema::Schema;
use serde_json::{Value, json};
use zvf_meta::Affine;
use zvf_store::Store;
use zvf_write::JsonObject;

use crate::trackvis::{IDENTITY, ORDER, VoxelGrid};
use crate::{ConvertError, Format};

/// What is expected instead of a header that does not define the frame of the positions.
const KEEP_FRAME: &str =
    "a header that defines the frame of the positions, or `--keep-frame` to use them as stored";

/// The formats whose headers a store keeps, with their names in the store.
const FORMATS: [(Format, &str); 3] = [
    (Format::Trk, "trk"),
    (Format::Tck, "tck"),
    (Format::Trx, "trx"),
];

/// Members of a TRK header that other programs write and imports of this crate do not: the positions may be in any frame.
const FOREIGN: [&str; 4] = ["magic", "magic_number", "hdr_size", "nb_streamlines"];

/// Members that imports write beside `space`. Older imports wrote none of them and did not record the frame of TRK.
const MAPS: [&str; 2] = ["voxelmm_to_rasmm", "rasmm_to_voxelmm"];

/// Member of a schema's metadata: the header of a tractogram as JSON, with the member `source`.
pub(crate) const FRAME: &str = "zvf.frame";

/// Relative difference up to which the numbers of two maps count as equal.
const ROUNDING: f64 = 1e-6;

/// The note about positions that are stored as voxelmm.
pub(crate) const NOT_SCANNER: &str =
    "positions are millimetres from the corner of the first voxel, not scanner coordinates";

/// The frame in which positions of a tractogram are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Space {
    /// Scanner coordinates in millimetres, positive to the right, anterior and superior (RAS+), as in nibabel, DIPY and MRtrix.
    #[default]
    Rasmm,
    /// Millimetres along the axes of the image from the corner of the first voxel, as in TrackVis.
    Voxelmm,
    /// The numbers of the file: [`Voxelmm`](Self::Voxelmm) for TRK, [`Rasmm`](Self::Rasmm) for TCK and TRX.
    File,
}

impl Space {
    /// `rasmm`, `voxelmm` or `file`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rasmm => "rasmm",
            Self::Voxelmm => "voxelmm",
            Self::File => "file",
        }
    }

    /// Replaces [`File`](Self::File) by the frame that files of `format` use.
    pub(crate) fn of(self, format: Format) -> Self {
        match (self, format) {
            (Self::File, Format::Trk) => Self::Voxelmm,
            (Self::File, _) => Self::Rasmm,
            (space, _) => space,
        }
    }
}

/// The header of a file of one format, as a store keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceHeader {
    /// The format, by the name that it has in a store.
    pub(crate) source: String,
    pub(crate) members: JsonObject,
    /// Where it was read from: a node of the store, or metadata of a schema.
    pub(crate) place: String,
    /// Whether all headers of the store state the same frame.
    agreed: bool,
}

impl SourceHeader {
    /// The stored header of a tractogram; `None` if the store has none.
    ///
    /// # Cost
    /// One request for each format, all at the same time.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn of_store(store: &Store) -> Result<Option<Self>, ConvertError> {
        let frame = Self::of(store, Format::Trk).await?;
        Ok(frame.filter(Self::is_tractogram))
    }

    /// The header in a store: of the format itself, else of another format, else the `crs` that older imports wrote.
    pub(crate) async fn of(store: &Store, format: Format) -> Result<Option<Self>, ConvertError> {
        let names = FORMATS.map(|(_, name)| name);
        let headers = store.headers(&names).await?;
        let own = FORMATS.iter().find(|(known, _)| *known == format);
        let mut frames: Vec<Self> = headers
            .into_iter()
            .map(|(name, members)| Self {
                place: format!("headers/{name}"),
                source: name,
                members,
                agreed: true,
            })
            .collect();
        let spaces: Vec<Option<Space>> = frames.iter().map(Self::space).collect();
        let agreed = spaces
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a == b));
        // Names in order of preference; the name for this format is the first.
        let wanted = own.map(|(_, name)| *name).into_iter().chain(names);
        let at = wanted
            .into_iter()
            .find_map(|name| frames.iter().position(|frame| frame.source == name));
        if let Some(at) = at {
            let frame = frames.swap_remove(at);
            return Ok(Some(Self { agreed, ..frame }));
        }
        Ok(match &store.root().zarr_vectors.crs {
            // A text is the name of a coordinate reference system.
            None | Some(Value::Null | Value::String(_)) => None,
            Some(crs) => {
                let members = crs.as_object().cloned().unwrap_or_default();
                let source = members.get("source").and_then(Value::as_str);
                Some(Self {
                    source: source.unwrap_or_default().to_owned(),
                    members,
                    place: "crs".to_owned(),
                    agreed: true,
                })
            }
        })
    }

    /// The header that the schema of a table states.
    pub(crate) fn of_schema(schema: &Schema) -> Option<Self> {
        Self::of_stated(&serde_json::from_str(schema.metadata().get(FRAME)?).ok()?)
    }

    /// The header of a tractogram in a value with the member `source`.
    pub(crate) fn of_stated(stated: &Value) -> Option<Self> {
        let (source, members) = split(stated)?;
        let header = Self {
            source,
            members,
            place: FRAME.to_owned(),
            agreed: true,
        };
        header.is_tractogram().then_some(header)
    }

    /// The schema with this header in its metadata, as `zvf.frame`: a table with this schema declares the frame of its positions.
    #[must_use]
    pub fn in_schema(&self, schema: &Schema) -> Schema {
        let mut schema = schema.clone();
        schema
            .metadata
            .insert(FRAME.to_owned(), self.stated().to_string());
        schema
    }

    /// The members and `source`, the opposite of [`split`].
    pub(crate) fn stated(&self) -> Value {
        let mut members = self.members.clone();
        members.insert("source".to_owned(), json!(self.source));
        Value::Object(members)
    }

    /// Where it was read from: `headers/trk` or another node of the store, or `zvf.frame` of a schema.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The format of the file: `trk`, `tck` or `trx`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The frame of the stored positions; `None` if the header does not determine it.
    ///
    /// Earlier imports kept the positions of TRK as they are in the file, and not all of them recorded the frame.
    #[must_use]
    pub fn space(&self) -> Option<Space> {
        let stated = self.members.get("space");
        match stated.map(Value::as_str) {
            _ if !self.agreed => None,
            Some(Some("rasmm")) => Some(Space::Rasmm),
            Some(Some("voxelmm")) => Some(Space::Voxelmm),
            Some(_) => None,
            None if self.has_maps() => None,
            None if self.source != "trk" => Some(Space::Rasmm),
            None => match FOREIGN.iter().any(|name| self.members.contains_key(*name)) {
                true => None,
                false => Some(Space::Voxelmm),
            },
        }
    }

    /// What defines the stored positions: their frame, and the map from voxel millimetres.
    pub(crate) fn frame_of_axes(&self) -> Option<(Space, Option<Affine>)> {
        let space = self.space()?;
        let map = match space {
            Space::Voxelmm => self.voxelmm_to_rasmm().ok(),
            Space::Rasmm | Space::File => None,
        };
        Some((space, map))
    }

    fn has_maps(&self) -> bool {
        MAPS.iter().any(|name| self.members.contains_key(*name))
    }

    /// Why the header does not determine the positions: it does not state the frame, or its maps contradict each other, because members
    /// were changed after the import.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if !self.is_tractogram() {
            return None;
        }
        if self.space().is_none() {
            return Some(match self.members.get("space") {
                _ if !self.agreed => "different values in the headers".to_owned(),
                Some(other) => other.to_string(),
                None if self.has_maps() => {
                    format!("no member `space` beside {}", MAPS.join(" and "))
                }
                None => "no member `space`, in a header of another program".to_owned(),
            });
        }
        let stated = self.members.get("voxelmm_to_rasmm")?;
        let follows = grid(&self.source, &self.members).and_then(|grid| grid.to_rasmm());
        match (stated, follows) {
            (Value::Null, Err(_)) => None,
            (Value::Null, Ok(_)) => {
                Some("no voxelmm_to_rasmm, although one follows from voxel_to_rasmm".to_owned())
            }
            (_, Err(why)) => Some(format!("voxelmm_to_rasmm, which does not follow from the header: {why}")),
            (_, Ok(follows)) => match self.voxelmm_to_rasmm() {
                Err(why) => Some(why),
                Ok(stated) if same(&stated, &follows) => None,
                Ok(_) => {
                    Some("voxelmm_to_rasmm that contradicts voxel_to_rasmm, voxel_sizes, dimensions or voxel_order".to_owned())
                }
            },
        }
    }

    /// Refuses a header with a [`problem`](Self::problem).
    ///
    /// # Errors
    /// Misuse.
    pub(crate) fn check(&self) -> Result<(), ConvertError> {
        match self.problem() {
            None => Ok(()),
            Some(found) => Err(ConvertError::usage(
                format!("{}: the frame of the positions", self.place),
                found,
                "rasmm or voxelmm, and maps that agree; or `--keep-frame` to use the positions as stored",
            )),
        }
    }

    /// The map from voxel millimetres of TrackVis to millimetres of the scanner.
    ///
    /// # Errors
    /// A text that describes what is missing or wrong in the header.
    pub fn voxelmm_to_rasmm(&self) -> Result<Affine, String> {
        match self.get("voxelmm_to_rasmm") {
            None => grid(&self.source, &self.members)?.to_rasmm(),
            Some(rows) => {
                let numbers = numbers(rows).ok_or_else(|| {
                    format!("voxelmm_to_rasmm {rows}, which is not four rows of four numbers")
                })?;
                Affine::from_rows(&numbers, 3).map_err(|error| error.what)
            }
        }
    }

    /// The map from the stored positions to scanner millimetres; `None` if they are scanner millimetres.
    ///
    /// # Errors
    /// Misuse: a header that leaves the frame open, contradicts itself, or has no usable affine.
    pub fn to_rasmm(&self) -> Result<Option<Affine>, ConvertError> {
        if !self.is_tractogram() {
            return Ok(None);
        }
        self.check()?;
        match self.space() {
            Some(Space::Rasmm | Space::File) | None => Ok(None),
            Some(Space::Voxelmm) => match self.voxelmm_to_rasmm() {
                Ok(map) => Ok(Some(map)),
                Err(why) => {
                    let what = format!(
                        "{}: positions are voxelmm and cannot be converted",
                        self.place
                    );
                    Err(ConvertError::usage(what, why, KEEP_FRAME))
                }
            },
        }
    }

    /// The document that `zvf info` shows: the frame, the voxel grid, and the maps as 4x4 matrices.
    #[must_use]
    pub fn document(&self) -> Value {
        let map = self.voxelmm_to_rasmm().ok();
        let member = |key: &str| self.get(key).cloned().unwrap_or(Value::Null);
        json!({
            "source": self.source,
            "place": self.place,
            "space": self.space().map(Space::name),
            "problem": self.problem(),
            "voxel_to_rasmm": member("voxel_to_rasmm"),
            "voxel_sizes": match (self.get("voxel_sizes"), grid(&self.source, &self.members)) {
                (Some(sizes), _) => sizes.clone(),
                (None, Ok(grid)) => json!(grid.sizes),
                (None, Err(_)) => Value::Null,
            },
            "dimensions": member("dimensions"),
            "voxel_order": member("voxel_order"),
            "voxelmm_to_rasmm": map.map(|map| map.rows()),
        })
    }

    /// Whether it is the header of a tractogram.
    pub(crate) fn is_tractogram(&self) -> bool {
        FORMATS.iter().any(|(_, name)| *name == self.source)
    }

    /// A header of TRK for the positions: its own, or one with the voxels of a TRX.
    pub(crate) fn as_trk(&self) -> Option<Self> {
        match self.source.as_str() {
            "trk" => Some(self.clone()),
            "trx" => {
                let grid = grid("trx", &self.members).ok()?;
                // TRK has float32.
                let single = |value: f64| f64::from(zvf_write::narrow(value));
                let mut rows: Vec<Vec<f64>> =
                    grid.affine.map(|row| row.map(single).to_vec()).into();
                rows.push(vec![0.0, 0.0, 0.0, 1.0]);
                let members = json!({
                    "space": self.space().map(Space::name),
                    "voxel_to_rasmm": rows,
                    "dimensions": grid.dimensions,
                    "voxel_sizes": grid.sizes.map(single),
                    "voxel_order": grid.order,
                });
                let frame = Self {
                    source: "trk".to_owned(),
                    members: members.as_object().cloned()?,
                    place: self.place.clone(),
                    agreed: self.agreed,
                };
                frame.voxelmm_to_rasmm().is_ok().then_some(frame)
            }
            _ => None,
        }
    }

    /// The dimensions of the volume in the order of the axes of the affine; TRK headers have them in the order of `voxel_order`.
    pub(crate) fn dimensions(&self) -> Option<[f64; 3]> {
        let grid = grid(&self.source, &self.members).ok()?;
        grid.dimensions_of_affine().ok()
    }

    /// A member; `None` if it is absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }
}

/// Whether two maps of three axes are equal except for rounding.
pub(crate) fn same(a: &Affine, b: &Affine) -> bool {
    let (a, b) = (a.rows(), b.rows());
    let mut pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.all(|(a, b)| (a - b).abs() <= ROUNDING * (1.0 + a.abs().max(b.abs())))
}

/// The numbers of a list of lists.
pub(crate) fn numbers(rows: &Value) -> Option<Vec<f64>> {
    let rows = rows.as_array()?.iter().map(Value::as_array);
    let rows: Vec<&Vec<Value>> = rows.collect::<Option<_>>()?;
    rows.into_iter().flatten().map(Value::as_f64).collect()
}

/// The voxel grid of a header of TRK or TRX.
///
/// # Errors
/// A text about the missing or wrong member.
pub(crate) fn grid(source: &str, members: &JsonObject) -> Result<VoxelGrid, String> {
    let get = |key: &str| members.get(key).filter(|value| !value.is_null());
    let three = |key: &str| -> Result<[f64; 3], String> {
        let list = get(key).and_then(Value::as_array);
        let list: Option<Vec<f64>> = list.and_then(|list| list.iter().map(Value::as_f64).collect());
        let list = list.and_then(|list| list.try_into().ok());
        list.ok_or_else(|| format!("no {key} of three numbers"))
    };
    let affine = match (get("voxel_to_rasmm"), source) {
        (None, "trk") => IDENTITY,
        (None, _) => return Err("no affine".to_owned()),
        (Some(rows), _) => {
            let list = numbers(rows).filter(|list| list.len() == 16);
            let list = list.ok_or_else(|| {
                format!("voxel_to_rasmm {rows}, which is not four rows of four numbers")
            })?;
            let mut affine = IDENTITY;
            let (rows, _) = list.as_chunks::<4>();
            affine
                .iter_mut()
                .zip(rows)
                .for_each(|(to, from)| *to = *from);
            affine
        }
    };
    let dimensions = three("dimensions")?;
    if source == "trk" {
        let order = get("voxel_order").and_then(Value::as_str);
        return Ok(VoxelGrid {
            affine,
            dimensions,
            sizes: three("voxel_sizes")?,
            order: order.unwrap_or(ORDER).to_owned(),
        });
    }
    let mut grid = VoxelGrid {
        affine,
        dimensions,
        sizes: VoxelGrid::sizes_of(&affine),
        order: String::new(),
    };
    grid.order = grid.order_of_affine()?;
    Ok(grid)
}

/// Adds the frame of the positions and the maps to the members of a header.
pub(crate) fn state(members: &mut JsonObject, space: Space, map: Option<&Affine>) {
    members.insert("space".to_owned(), json!(space.name()));
    let inverse = map.and_then(|map| map.inverse().ok());
    members.insert("voxelmm_to_rasmm".to_owned(), json!(map.map(Affine::rows)));
    members.insert(
        "rasmm_to_voxelmm".to_owned(),
        json!(inverse.map(|map| map.rows())),
    );
}

/// The name of the format, and the members, of a header as [`Import::frame`](crate::Import::frame) has it.
pub(crate) fn split(frame: &Value) -> Option<(String, JsonObject)> {
    let mut members = frame.as_object()?.clone();
    let source = members.shift_remove("source")?;
    Some((source.as_str()?.to_owned(), members))
}
