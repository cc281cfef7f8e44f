//! Regions of queries from files: polygons, closed meshes, convex hulls and masks; and texts of regions that name files.

use std::fmt::Display;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use zvf_encode::error::{OrBug, internal};
use zvf_query::numbers::floats;
use zvf_query::{ObjectPlaces, QueryError, Region, RegionFile};
use zvf_write::{Kind, WriteError};

use crate::error::InFile;
use crate::text::without_bom;
use crate::{ConvertError, Import, Imported, Options};

/// Largest file of polygons.
const MOST_BYTES: u64 = 64 << 20;

/// The volume of a mask, and the labels that belong to the region.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MaskSource {
    /// File, folder or URL: everything that `zvf sample` reads; `#NAME` picks one of several.
    pub volume: String,
    /// The labels that belong to the region, as ranges. The volume must have a label of each range. Empty: all labels except 0 and NaN.
    pub labels: Vec<RangeInclusive<i64>>,
    /// Replaces the map of the volume from indices of elements to the axes of the store: see [`stated_affine`](crate::stated_affine).
    pub affine: Option<String>,
}

/// The source of a region that the text of a region names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionSource {
    /// Polygons: [`polygon_region`].
    Polygon(String),
    /// A closed mesh: [`mesh_region`].
    Mesh(PathBuf),
    /// The convex hull of a mesh: [`hull_region`].
    Hull(PathBuf),
    /// Labels of a volume, for which the store has to be known: [`mask_region`](crate::mask_region).
    Mask(MaskSource),
}

impl RegionSource {
    fn of(file: &RegionFile<'_>) -> Self {
        let name = file.name.to_owned();
        match file.shape {
            "mesh" => Self::Mesh(name.into()),
            "hull" => Self::Hull(name.into()),
            "mask" => Self::Mask(MaskSource {
                volume: name,
                labels: file.labels.to_vec(),
                affine: None,
            }),
            _ => Self::Polygon(name),
        }
    }

    /// Reads polygons or a mesh.
    ///
    /// # Errors
    ///
    /// The errors of [`polygon_region`], [`mesh_region`] and [`hull_region`]; a mask, which needs the store, is a bug.
    pub fn read(&self) -> Result<Region, ConvertError> {
        match self {
            Self::Polygon(text) => polygon_region(text),
            Self::Mesh(file) => mesh_region(file),
            Self::Hull(file) => hull_region(file),
            Self::Mask(_) => Err(WriteError::bug("a mask without its store").into()),
        }
    }
}

/// Parses the text of a region, in which `@FILE` may replace the contents of `polygon(..)`, `mesh(..)`, `hull(..)` and `mask(..)`; in a mask, labels
/// may follow the file: `mask(@FILE, 12, 17)`. `read` reads the sources that the text names.
///
/// # Errors
///
/// The errors of [`Region::parse`] and `read`.
pub fn region<E: From<ConvertError> + Display>(
    text: &str,
    read: &mut dyn FnMut(RegionSource) -> Result<Region, E>,
) -> Result<Region, E> {
    with_files(read, |file| Region::parse_with(text, file))
}

/// Parses the text of a condition on objects, in which files may be named as in [`region`].
///
/// # Errors
///
/// As [`region`].
pub fn object_places<E: From<ConvertError> + Display>(
    text: &str,
    read: &mut dyn FnMut(RegionSource) -> Result<Region, E>,
) -> Result<ObjectPlaces, E> {
    with_files(read, |file| ObjectPlaces::parse_with(text, file))
}

/// Parses a text that may name files. Returns the first error of a file, if there is one.
fn with_files<T, E: From<ConvertError> + Display>(
    read: &mut dyn FnMut(RegionSource) -> Result<Region, E>,
    parse: impl FnOnce(
        &mut dyn FnMut(&RegionFile<'_>) -> Result<Region, String>,
    ) -> Result<T, QueryError>,
) -> Result<T, E> {
    let mut failed = None;
    let mut file = |file: &RegionFile<'_>| {
        read(RegionSource::of(file)).map_err(|error| {
            let what = error.to_string();
            failed = Some(error);
            what
        })
    };
    let found = parse(&mut file);
    match failed {
        Some(error) => Err(error),
        None => found.map_err(|error| ConvertError::from(error).into()),
    }
}

/// The prism over polygons, from well-known text or GeoJSON, or from a file with either.
///
/// # Errors
///
/// The errors of [`Region::polygon`]; I/O; usage: a file above 64 MiB.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let triangle = "POLYGON ((0 0, 4 0, 4 4, 0 0))";
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("triangle.wkt");
/// std::fs::write(&file, triangle)?;
/// let file = file.to_string_lossy();
/// assert_eq!(zvf_convert::polygon_region(&file)?, zvf_convert::polygon_region(triangle)?);
/// # Ok(())
/// # }
/// ```
pub fn polygon_region(text: &str) -> Result<Region, ConvertError> {
    let path = Path::new(text);
    let start = text.trim_start().to_ascii_lowercase();
    let inline = ["polygon", "multipolygon", "{"];
    if inline.iter().any(|word| start.starts_with(word)) && !path.exists() {
        return Ok(Region::polygon(text)?);
    }
    let failed = |error| ConvertError::io(path, error);
    let file = zvf_store::open_file(path).map_err(failed)?;
    let mut content = Vec::new();
    let mut file = file.take(MOST_BYTES.saturating_add(1));
    let read = file.read_to_end(&mut content).map_err(failed)?;
    if read as u64 > MOST_BYTES {
        let found = format!("more than {MOST_BYTES} bytes");
        return Err(ConvertError::usage(text, found, "a file of polygons"));
    }
    let Ok(content) = std::str::from_utf8(&content) else {
        let found = "bytes that are not UTF-8";
        return Err(ConvertError::malformed(
            path,
            InFile::Whole,
            found,
            "text of polygons",
        ));
    };
    Region::polygon(without_bom(content)).map_err(|error| refused(text, &error))
}

/// The error for the contents of a file, from the first line of the error of its parser.
pub(crate) fn refused(file: &str, error: &QueryError) -> ConvertError {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or("");
    let place = |place: &str| format!("{file}: {place}");
    let of_found = line.split_once(": found ");
    if let Some((at, rest)) = of_found {
        let (found, expected) = rest.split_once(", expected ").unwrap_or((rest, "a region"));
        return ConvertError::usage(place(at), found, expected);
    }
    let (at, rest) = line.split_once(": expected ").unwrap_or(("", line));
    let (expected, found) = rest
        .split_once(", found ")
        .unwrap_or((rest, "something else"));
    ConvertError::usage(place(at), found, expected)
}

/// The inside of the closed mesh of a file (`.obj`, `.ply`, `.stl`); faces of more than three corners are cut into triangles.
///
/// # Cost
///
/// The mesh in memory, some two hundred bytes for each of its triangles.
///
/// # Errors
///
/// Usage: a file without a mesh, a mesh that is not closed (with the number of its open edges), is too large or does not have three axes. The errors
/// of [`Import`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("tetrahedron.obj");
/// std::fs::write(&file, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")?;
/// let region = zvf_convert::mesh_region(&file)?;
/// assert_eq!(zvf_query::Region::parse(&region.to_string())?, region);
/// # Ok(())
/// # }
/// ```
pub fn mesh_region(file: &Path) -> Result<Region, ConvertError> {
    let (vertices, triangles) = read_mesh(file)?;
    let region = Region::mesh(&vertices, &triangles);
    region.map_err(|error| refused(&file.display().to_string(), &error))
}

/// The convex hull of the vertices of a mesh file (`.obj`, `.ply`, `.stl`), closed or not.
///
/// # Cost
///
/// As [`mesh_region`].
///
/// # Errors
///
/// Usage: a file without a mesh, a mesh that is too large or does not have three axes, or all vertices in one plane. The errors of [`Import`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("open.obj");
/// std::fs::write(&file, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\n")?;
/// let hull = zvf_query::Region::hull(&[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]])?;
/// assert_eq!(zvf_convert::hull_region(&file)?, hull);
/// # Ok(())
/// # }
/// ```
pub fn hull_region(file: &Path) -> Result<Region, ConvertError> {
    let (vertices, _) = read_mesh(file)?;
    let region = Region::hull(&vertices);
    region.map_err(|error| refused(&file.display().to_string(), &error))
}

/// The vertices and triangles of a mesh file.
type MeshData = (Vec<[f64; 3]>, Vec<[u32; 3]>);

fn read_mesh(file: &Path) -> Result<MeshData, ConvertError> {
    let import = Import::open(&[file.to_owned()], &Options::default())?;
    let name = file.display().to_string();
    if import.spec().kind != Kind::Mesh {
        let found = import.spec().kind.name();
        return Err(ConvertError::usage(name, found, "a mesh"));
    }
    if import.vertices() > Region::MOST_MESH_VERTICES {
        let found = format!("{} vertices", import.vertices());
        let expected = format!("at most {}", Region::MOST_MESH_VERTICES);
        return Err(ConvertError::usage(name, found, expected));
    }
    if import.spec().axes.len() != 3 {
        let found = format!("{} axes", import.spec().axes.len());
        return Err(ConvertError::usage(name, found, "a mesh of three axes"));
    }
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    import.record_batches(|part| {
        let Imported::Vertices(rows, faces) = part else {
            return Ok(());
        };
        let positions = rows.column_by_name("position");
        let positions = floats(positions.or_bug("vertices without positions")?).values;
        let (points, rest) = positions.as_chunks::<3>();
        internal!(rest.is_empty(), "positions that do not have three axes");
        vertices.extend_from_slice(points);
        let Some(faces) = faces else {
            return Ok(());
        };
        let list = faces.column_by_name("vertices");
        let list = list.and_then(|list| list.as_fixed_size_list_opt());
        let list = list.or_bug("faces without a list of vertices")?;
        let ends = list.values().as_primitive_opt::<UInt64Type>();
        let ends = ends.or_bug("vertices of faces that are not numbers")?;
        let width = usize::try_from(list.value_length()).or_bug("faces of a negative length")?;
        for face in ends.values().chunks_exact(width.max(1)) {
            let corner =
                |end: &u64| u32::try_from(*end).or_bug("a vertex beyond the limit of a mesh");
            let face = face.iter().map(corner).collect::<Result<Vec<u32>, _>>()?;
            // A fan around the first corner.
            let [first, rest @ ..] = face.as_slice() else {
                continue;
            };
            let pairs = rest.iter().zip(rest.iter().skip(1));
            triangles.extend(pairs.map(|(a, b)| [*first, *a, *b]));
        }
        Ok::<_, ConvertError>(())
    })?;
    Ok((vertices, triangles))
}
