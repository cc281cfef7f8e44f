//! The profile *viewer*: properties of a store that viewers cannot show, or show badly.
//!
//! The rules are the requirements of upstream's viewer and its instructions, and the limits of Neuroglancer's native formats, to which `zvf serve`
//! converts. They use only documents. Missing presence lists, which viewers also need, are found by the rule `presence-there`.

use zvf_format::dtype::DTypeKind;
use zvf_meta::{ArrayDoc, Kind, units};
use zvf_store::{Store, VertexAttribute};

use crate::check::Check;
use crate::documents::StoreDocuments;
use crate::finding::{Findings, Place};
use crate::level::LevelState;

/// Codecs that viewers can decode; the first three are not compressors but define the layout of cells.
const CODECS: [&str; 9] = [
    "bytes",
    "vlen-bytes",
    "sharding_indexed",
    "zstd",
    "blosc",
    "gzip",
    "zlib",
    "numcodecs.zlib",
    "crc32c",
];

/// Versions that upstream's viewer reads without a warning.
const VERSIONS: [&str; 5] = ["0.9.0", "0.9.1", "0.9.2", "0.9.3", "0.9.4"];

/// The number of vertices of level 0 above which a viewer needs coarse levels, because it loads a whole level when zoomed out.
const WHOLE: u64 = 5_000_000;

/// Checks all rules of the profile.
pub(crate) fn check(
    findings: &mut Findings,
    tree: &StoreDocuments,
    store: &Store,
    states: &[LevelState],
) {
    root(findings, store);
    codecs(findings, tree);
    for state in states {
        level(findings, state);
    }
    if let [only] = states
        && only.level.doc().vertex_count > WHOLE
    {
        let place = Place::at("0/zarr.json");
        let found = format!("{} vertices in one level", only.level.doc().vertex_count);
        let expected = format!("coarse levels above {WHOLE} vertices");
        findings.add(Check::ViewerLevels, place, found, expected);
    }
    if store.kind() == Kind::Mesh {
        mesh_chunks(findings, states);
    }
}

fn root(findings: &mut Findings, store: &Store) {
    let root = store.root();
    let version = root.zarr_vectors.zv_version.as_str();
    if !VERSIONS.contains(&version) {
        let place = Place::at("zarr.json").pointer("/attributes/zarr_vectors/zv_version");
        findings.add(Check::ViewerVersion, place, version, "0.9.0 to 0.9.4");
    }
    let axes = "/attributes/multiscales/0/axes";
    if root.dims() != 3 {
        let place = Place::at("zarr.json").pointer(axes);
        let found = format!("{} axes", root.dims());
        findings.add(Check::ViewerAxes, place, found, "3");
    }
    for (number, axis) in root.axes().iter().enumerate() {
        let unit = axis.unit.as_deref();
        if unit.and_then(units::name).is_none() {
            let place = Place::at("zarr.json").pointer(format!("{axes}/{number}/unit"));
            let found = unit.map_or("no unit".to_owned(), |unit| format!("{unit:?}"));
            let expected = "a unit of length, such as \"micrometer\"";
            findings.add(Check::ViewerUnit, place, found, expected);
        }
    }
}

/// Checks the codecs of all arrays, taken from the documents, because arrays with unsupported codecs cannot be opened.
fn codecs(findings: &mut Findings, tree: &StoreDocuments) {
    for (key, bytes) in &tree.documents {
        // Invalid documents are reported elsewhere.
        let Ok(doc) = ArrayDoc::parse(bytes) else {
            continue;
        };
        for (number, codec) in doc.codecs.iter().enumerate() {
            if !CODECS.contains(&codec.name.as_str()) {
                let place = Place::at(key.as_str()).pointer(format!("/codecs/{number}"));
                let expected = "no compression, zstd, blosc, gzip or zlib";
                findings.add(Check::ViewerCodec, place, &codec.name, expected);
            }
        }
    }
}

fn level(findings: &mut Findings, state: &LevelState) {
    let level = &state.level;
    if level.doc().vertex_count == 0 && !state.chunks.is_empty() {
        let place = Place::at(state.path("zarr.json"))
            .pointer("/attributes/zarr_vectors_level/vertex_count");
        let found = format!("0, in {} chunks", state.chunks.len());
        let expected = "the number of vertices";
        findings.add(Check::ViewerCount, place, found, expected);
    }
    for attribute in level.vertex_attributes() {
        columns(findings, attribute);
    }
}

fn columns(findings: &mut Findings, attribute: &VertexAttribute) {
    let place = || Place::at(attribute.array.path());
    if let Some(width) = attribute.declared_width.filter(|&width| width > 1) {
        let found = format!("{width} values per row");
        let expected = "one value: viewers show the first or none";
        findings.add(Check::ViewerColumns, place(), found, expected);
    }
    let wide = [DTypeKind::F64, DTypeKind::I64, DTypeKind::U64];
    if wide.contains(&attribute.dtype.kind) {
        let expected = "at most 32 bits";
        findings.add(Check::ViewerNumbers, place(), attribute.dtype, expected);
    }
}

/// Checks that the chunks of each coarse level are twice as long, along every axis, as those of the next finer level.
fn mesh_chunks(findings: &mut Findings, states: &[LevelState]) {
    for pair in states.windows(2) {
        let [fine, coarse] = pair else { continue };
        let (fine, shape) = (fine.level.chunk_shape(), coarse.level.chunk_shape());
        let twice = |(fine, coarse): (&f64, &f64)| (coarse / fine - 2.0).abs() < 1e-6;
        if !fine.iter().zip(shape).all(twice) {
            let place = Place::at(coarse.path("zarr.json"))
                .pointer("/attributes/zarr_vectors_level/chunk_shape");
            let doubled: Vec<f64> = fine.iter().map(|one| one * 2.0).collect();
            let expected = format!("{doubled:?}, twice that of the finer level");
            findings.add(
                Check::ViewerMeshChunks,
                place,
                format!("{shape:?}"),
                expected,
            );
        }
    }
}
