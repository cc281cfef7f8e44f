//! What conversions keep, what they report as lost, and what one damaged or unusual part does to the others.

use std::path::Path;

use serde_json::{Value, json};
use zvf_caterva::Writer;
use zvf_store::IoOptions;
use zvf_store::blocking::Runtime;
use zvf_tet::{DType, DatasetMetadata, DatasetSpec, Footer, HistoryRow, Metadata, TetWriter};
use zvf_volume::{
    AxisUse, ConvertOptions, Selection, Volume, VolumeError, VolumePlacement, convert,
};

fn open(address: &str) -> Result<Volume, VolumeError> {
    Runtime::new()
        .unwrap()
        .wait(Volume::open(address, &IoOptions::new()))
}

fn list(address: &str) -> Result<Vec<Volume>, VolumeError> {
    Runtime::new()
        .unwrap()
        .wait(Volume::list(address, &IoOptions::new()))
}

fn whole(volume: &Volume) -> Vec<u8> {
    let all = Selection::all(&volume.info().shape).unwrap();
    Runtime::new().unwrap().wait(volume.read(&all)).unwrap().0
}

/// Converts to a new file, and returns it with what was lost, as one text.
fn converted(source: &Volume, out: &Path) -> (Volume, String) {
    let options = ConvertOptions::default();
    let done = Runtime::new()
        .unwrap()
        .wait(convert(source, out, &options, |_, _| {}))
        .unwrap();
    let copy = open(out.to_str().unwrap()).unwrap();
    assert_eq!(whole(&copy), whole(source), "{}", out.display());
    (copy, done.lost.join("; "))
}

/// A Zarr array of 2 x 3 numbers `<i2` in one chunk.
fn zarr(folder: &Path, changes: &Value) {
    let mut document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [2, 3], "data_type": "int16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {},
    });
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    std::fs::create_dir_all(folder.join("c/0")).unwrap();
    std::fs::write(folder.join("zarr.json"), document.to_string()).unwrap();
    let numbers = [1_i16, 2, -9999, 4, 5, 6];
    let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
    std::fs::write(folder.join("c/0/0"), bytes).unwrap();
}

#[test]
fn attributes_fill_value_and_names_of_zarr_are_kept_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let attributes = json!({"units": "kelvin", "scale_factor": 0.1});
    zarr(
        &path,
        &json!({"attributes": attributes, "fill_value": -9999, "dimension_names": [null, "x"]}),
    );
    let source = open(path.to_str().unwrap()).unwrap();
    let out = folder.path().join("b.zarr");
    let (_, lost) = converted(&source, &out);
    assert_eq!(lost, "");
    let text = std::fs::read(out.join("zarr.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    for name in ["units", "scale_factor"] {
        assert_eq!(document["attributes"][name], attributes[name]);
    }
    assert_eq!(document["fill_value"], -9999);
    assert_eq!(document["dimension_names"], json!([null, "x"]));
    for ending in ["tet", "b2nd"] {
        let (_, lost) = converted(&source, &folder.path().join(format!("b.{ending}")));
        for wanted in ["units", "scale_factor", "fill value -9999", "names of axes"] {
            assert!(lost.contains(wanted), "{ending}: {lost}");
        }
    }
}

#[test]
fn names_of_axes_that_tet_does_not_have_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    zarr(&path, &json!({"dimension_names": ["", "x"]}));
    let source = open(path.to_str().unwrap()).unwrap();
    let (copy, lost) = converted(&source, &folder.path().join("b.tet"));
    assert!(lost.contains("names of axes"), "{lost}");
    assert!(copy.info().axes.iter().all(|axis| axis.name.is_none()));
}

#[test]
fn description_and_history_of_tet_are_kept_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tet");
    let mut own = DatasetMetadata {
        dim_names: vec!["x".to_owned()],
        ..DatasetMetadata::default()
    };
    own.attrs.insert("units".to_owned(), "kelvin".to_owned());
    let labels = zvf_tet::Coords {
        labels: vec!["a".to_owned(), "b".to_owned()],
        ..zvf_tet::Coords::default()
    };
    own.coords.insert("x".to_owned(), labels);
    let mut metadata = Metadata::default();
    metadata.datasets.insert("t".to_owned(), own.clone());
    let footer = Footer {
        history: vec![HistoryRow::new("make", "x", "1")],
        metadata: Some(metadata),
        ..Footer::default()
    };
    let spec = DatasetSpec::new("t", DType::U8, &[2], &[2]);
    let write = zvf_tet::WriteOptions::default().with_footer(footer.clone());
    let mut writer = TetWriter::create(&path, vec![spec], write).unwrap();
    writer.write_array(&[7, 8]).unwrap();
    writer.finish().unwrap();
    let source = open(path.to_str().unwrap()).unwrap();
    let out = folder.path().join("b.tet");
    let (_, lost) = converted(&source, &out);
    assert_eq!(lost, "");
    let copy = zvf_tet::TetFile::open(&out).unwrap();
    let found = copy.footer().unwrap();
    assert_eq!(found.history, footer.history);
    assert_eq!(found.metadata.as_ref().unwrap().datasets["t"], own);
    let (_, lost) = converted(&source, &folder.path().join("b.b2nd"));
    for wanted in [
        "attributes (units)",
        "labels of the axes (x)",
        "the history",
    ] {
        assert!(lost.contains(wanted), "{lost}");
    }
}

#[test]
fn metalayers_of_frames_are_kept_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let write = zvf_caterva::WriteOptions::new(1, &[2], &[2])
        .with_dtype("|u1")
        .with_metalayer("fixed", b"\x07")
        .with_vlmetalayer("unit", b"\xa6kelvin");
    let mut writer = Writer::create(&path, &[2], write).unwrap();
    writer.write_all(&[7, 8]).unwrap();
    writer.finish().unwrap();
    let source = open(path.to_str().unwrap()).unwrap();
    let out = folder.path().join("b.b2nd");
    let (_, lost) = converted(&source, &out);
    assert_eq!(lost, "");
    let frame = zvf_caterva::Frame::open(&out).unwrap();
    assert_eq!(frame.vlmeta("unit", 64).unwrap().unwrap(), b"\xa6kelvin");
    assert_eq!(frame.metalayers().unwrap().get("fixed").unwrap(), b"\x07");
    let (_, lost) = converted(&source, &folder.path().join("b.zarr"));
    assert_eq!(lost, "metalayers (fixed, unit)");
}

#[test]
fn an_array_that_cannot_be_read_does_not_hide_the_others_of_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    std::fs::write(folder.path().join("zarr.json"), group.to_string()).unwrap();
    zarr(
        &folder.path().join("names"),
        &json!({"data_type": "string"}),
    );
    let address = folder.path().to_str().unwrap();
    assert!(open(address).unwrap_err().to_string().contains("string"));
    zarr(&folder.path().join("temp"), &json!({}));
    let found = list(address).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].info().name, "temp");
    let notes = &found[0].info().notes;
    assert!(
        notes[0].contains("array names") && notes.len() == 1,
        "{notes:?}"
    );
    let picked = open(&format!("{address}#temp")).unwrap();
    assert!(picked.info().notes.is_empty());
    let error = open(&format!("{address}#names")).unwrap_err().to_string();
    assert!(error.contains("string"), "{error}");
}

#[test]
fn a_level_of_an_image_opens_if_another_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "omero": {},
        "multiscales": [{"axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
        "datasets": [{"path": "0", "coordinateTransformations": []}, {"path": "1", "coordinateTransformations": []}]}]}}});
    std::fs::write(folder.path().join("zarr.json"), group.to_string()).unwrap();
    zarr(&folder.path().join("0"), &json!({}));
    let address = folder.path().to_str().unwrap();
    let error = open(address).unwrap_err().to_string();
    assert!(error.contains("#NAME"), "{error}");
    let level = open(&format!("{address}#0")).unwrap();
    assert!(level.info().axes[0].place.is_some());
    let out = tempfile::tempdir().unwrap();
    let (_, lost) = converted(&level, &out.path().join("a.zarr"));
    assert!(lost.contains("attributes of the image (omero)"), "{lost}");
    assert!(open(&format!("{address}#1")).is_err());
}

#[test]
fn the_limit_of_the_caller_comes_before_the_budget_of_a_tet_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tet");
    let spec = DatasetSpec::new("t", DType::U8, &[4096], &[2048]);
    let spec = spec.with_codec(zvf_tet::TileCodec::Zstd);
    let mut write = zvf_tet::WriteOptions::default();
    write.memory_budget_bytes = 64;
    let mut writer = TetWriter::create(&path, vec![spec], write).unwrap();
    let elements: Vec<u8> = (0..4096_u32).map(|one| (one % 251) as u8).collect();
    writer.write_array(&elements).unwrap();
    writer.finish().unwrap();
    let address = path.to_str().unwrap();
    let volume = open(address).unwrap();
    assert_eq!(whole(&volume), elements);
    converted(&volume, &folder.path().join("a.zarr"));
    // Part of a tile is decoded beside the result, which the limit of the caller bounds.
    let mut options = IoOptions::new();
    options.limits.cell_bytes = 100;
    let runtime = Runtime::new().unwrap();
    let volume = runtime.wait(Volume::open(address, &options)).unwrap();
    let error = runtime.wait(volume.read_box(&[5], &[6])).unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Limit);
    assert!(error.to_string().contains("--memory-budget"), "{error}");
}

#[test]
fn two_axes_of_one_name_are_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    zarr(&path, &json!({"dimension_names": ["x", "x"]}));
    let volume = open(path.to_str().unwrap()).unwrap();
    let world = ["x", "y"].map(|name| zvf_meta::Axis::new(name, "space"));
    let uses = [AxisUse::Space; 2];
    let error = VolumePlacement::new(&volume, &uses, None, &world).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("called x") && said.contains("--affine"),
        "{said}"
    );
}

#[test]
fn what_the_container_does_not_have_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    zarr(&path, &json!({}));
    let source = open(path.to_str().unwrap()).unwrap();
    let refused = |out: &str, options: &ConvertOptions| {
        let out = folder.path().join(out);
        let done = Runtime::new()
            .unwrap()
            .wait(convert(&source, &out, options, |_, _| {}));
        done.unwrap_err().to_string()
    };
    let mut options = ConvertOptions::default();
    options.name = Some("t".to_owned());
    assert!(refused("b.b2nd", &options).contains("--name"));
    let mut options = ConvertOptions::default();
    options.block = Some(vec![1, 1]);
    assert!(refused("b.tet", &options).contains("--block-shape"));
    let mut options = ConvertOptions::default();
    options.overwrite = true;
    for out in ["d.tet", "d.b2nd"] {
        std::fs::create_dir(folder.path().join(out)).unwrap();
        assert!(refused(out, &options).contains("is a folder"));
    }
}

#[test]
fn blocks_of_few_axes_are_long() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    zarr(
        &path,
        &json!({"shape": [1_000_000], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [500_000]}}}),
    );
    // Chunks that are missing have the fill value.
    std::fs::remove_dir_all(path.join("c")).unwrap();
    let source = open(path.to_str().unwrap()).unwrap();
    let (copy, _) = converted(&source, &folder.path().join("b.b2nd"));
    assert_eq!(&copy.info().block.unwrap()[..], [131_072]);
}
