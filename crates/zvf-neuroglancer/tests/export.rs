//! Views as files, compared with the input of the stores.

use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::cast::AsArray;
use zvf_neuroglancer::{ExportedFolder, Shards, export_precomputed};
use zvf_query::Table;
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
    WriteOptions,
};

fn exported(case: &str, folder: &Path) -> Result<ExportedFolder> {
    with_shards(case, folder, Shards::Auto)
}

fn with_shards(case: &str, folder: &Path, shards: Shards) -> Result<ExportedFolder> {
    let store = zvf_testkit::unpack(case)?;
    let runtime = Runtime::new()?;
    let store = runtime.wait(Store::open(&store.path().display().to_string()))?;
    Ok(runtime.wait(export_precomputed(store, folder, 16 << 20, shards))?)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize> {
    let four = bytes.get(at..at + 4).context("cut")?;
    Ok(usize::try_from(u32::from_le_bytes(four.try_into()?))?)
}

/// Names and contents of the files of a folder, without files of folders in it.
fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            found.push((name.into_owned(), std::fs::read(&path)?));
        }
    }
    Ok(found)
}

#[test]
fn points_have_a_file_each_and_stand_in_one_cell() -> Result<()> {
    for case in ["points_ids", "0.9.4/additive_points"] {
        let home = tempfile::tempdir()?;
        let done = exported(case, home.path())?;
        assert_eq!(done.views, ["points"], "{case}");
        let count = zvf_testkit::truth(case)?.positions.rows();
        let folder = home.path().join("points");
        assert_eq!(files(&folder.join("by_id"))?.len(), count, "{case}");
        let mut in_cells = 0;
        for level in 0.. {
            let level = folder.join(format!("s{level}"));
            if !level.exists() {
                break;
            }
            for (_, bytes) in files(&level)? {
                in_cells += u32_at(&bytes, 0)?;
            }
        }
        assert_eq!(in_cells, count, "{case}");
    }
    Ok(())
}

#[test]
fn graphs_and_meshes_have_all_their_links() -> Result<()> {
    let home = tempfile::tempdir()?;
    let done = exported("graph", home.path())?;
    assert_eq!(done.views, ["skeletons"]);
    let folder = home.path().join("skeletons");
    let edges = zvf_testkit::truth("graph")?.edges.context("edges")?.rows();
    let mut found = 0;
    for (name, bytes) in files(&folder)? {
        if name != "info" {
            found += u32_at(&bytes, 4)?;
        }
    }
    assert_eq!(found, edges);
    assert!(folder.join("properties/info").is_file());

    let home = tempfile::tempdir()?;
    let done = exported("mesh", home.path())?;
    assert_eq!(done.views, ["multilod", "meshes"]);
    let faces = zvf_testkit::truth("mesh")?.faces.context("faces")?.rows();
    let mut found = 0;
    for (name, bytes) in files(&home.path().join("meshes"))? {
        if name.matches(':').count() == 2 {
            found += (bytes.len() - 4 - 12 * u32_at(&bytes, 0)?) / 12;
        }
    }
    assert_eq!(found, faces);
    Ok(())
}

#[test]
fn lines_are_there_as_annotations_and_as_skeletons() -> Result<()> {
    let home = tempfile::tempdir()?;
    let done = exported("streamlines", home.path())?;
    assert_eq!(done.views, ["lines", "skeletons"]);
    let vertices = zvf_testkit::truth("streamlines")?.positions.rows();
    let mut found = 0;
    for (_, bytes) in files(&home.path().join("lines/by_id"))? {
        found += u32_at(&bytes, 0)?;
    }
    assert_eq!(found, vertices);
    let mut found = 0;
    for (name, bytes) in files(&home.path().join("skeletons"))? {
        if name != "info" {
            found += u32_at(&bytes, 0)?;
        }
    }
    assert_eq!(found, vertices);
    assert_eq!(done.bytes, sizes(home.path())?);
    Ok(())
}

/// Bytes of all files below a folder.
fn sizes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        sum += match path.is_dir() {
            true => sizes(&path)?,
            false => std::fs::metadata(&path)?.len(),
        };
    }
    Ok(sum)
}

/// The numbers of vertices and objects of a folder, as an import reads them, and the sorted rows of its vertices.
fn imported(folder: &Path) -> Result<(u64, u64, Vec<String>)> {
    let home = tempfile::tempdir()?;
    let address = home.path().join("store.zarrvectors");
    let address = address.to_string_lossy().into_owned();
    let import = zvf_convert::Import::open(&[folder.to_owned()], &zvf_convert::Options::default())?;
    let counts = (import.vertices(), import.objects());
    let runtime = Runtime::new()?;
    let rows = runtime.wait(async {
        let options = zvf_write::WriteOptions::new();
        let spec = import.spec().clone();
        let mut writer = zvf_write::StoreWriter::create(&address, spec, options).await?;
        import.read(&mut writer)?;
        writer.finish().await?;
        let store = Store::open(&address).await?;
        let answer = zvf_query::query(&store, zvf_query::Query::default()).await?;
        let answer = answer.collect().await?;
        let mut rows = Vec::new();
        if let Some(batch) = answer.table(zvf_query::Table::Vertices)? {
            for row in 0..batch.num_rows() {
                rows.push(format!("{:?}", batch.slice(row, 1).columns()));
            }
        }
        anyhow::Ok(rows)
    })?;
    let mut rows = rows;
    rows.sort();
    Ok((counts.0, counts.1, rows))
}

#[test]
fn shards_import_as_files_do() -> Result<()> {
    for (case, views) in [
        ("points_ids", vec!["points"]),
        ("0.9.4/additive_points", vec!["points"]),
        ("skeleton", vec!["skeletons"]),
        ("streamlines", vec!["lines", "skeletons"]),
        ("mesh", vec!["multilod"]),
    ] {
        let files = tempfile::tempdir()?;
        with_shards(case, files.path(), Shards::None)?;
        for bits in [0, 3] {
            let shards = tempfile::tempdir()?;
            let done = with_shards(case, shards.path(), Shards::Bits(bits))?;
            assert_eq!(done.bytes, sizes(shards.path())?, "{case}");
            for view in &views {
                let (one, other) = (files.path().join(view), shards.path().join(view));
                assert_eq!(imported(&one)?, imported(&other)?, "{case} {view} {bits}");
            }
        }
    }
    Ok(())
}

#[test]
fn levels_of_detail_are_one_for_a_mesh_without_levels() -> Result<()> {
    let home = tempfile::tempdir()?;
    exported("mesh", home.path())?;
    let truth = zvf_testkit::truth("mesh")?;
    let faces = truth.faces.as_ref().context("faces")?.rows();
    let import = zvf_convert::Import::open(
        &[home.path().join("multilod")],
        &zvf_convert::Options::default(),
    )?;
    // The mesh has one fragment, so that nothing is cut.
    assert_eq!(import.vertices(), truth.positions.rows() as u64);
    assert!(faces > 0);
    Ok(())
}

/// JSON has no infinite numbers, and segments have a number and a text each; a note names the attributes whose infinite or missing values are lost.
#[test]
fn infinite_and_missing_properties_are_noted() -> Result<()> {
    let home = tempfile::tempdir()?;
    let address = home.path().join("s.zv").display().to_string();
    let done = Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::Polyline, [10.0; 3])
            .with_objects()
            .with_object_attribute(AttributeSpec::number("f", NumberType::F64))
            .with_object_attribute(AttributeSpec::number("g", NumberType::F64))
            .with_object_attribute(AttributeSpec::text("t"))
            .with_object_attribute(AttributeSpec::text("u"));
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        let places = (0..9_u8).map(f64::from).collect::<Vec<_>>();
        let batch = Batch::new(places).with_object_ids(&[1, 2, 3][..]);
        writer.push(&batch)?;
        let objects = ObjectTable::new(&[1, 2, 3][..])
            .with_attribute("f", vec![f64::INFINITY, f64::NEG_INFINITY, 1.5])
            .with_attribute("g", vec![f64::NAN, 1.0, 2.0])
            .with_attribute("t", Values::optional_texts([Some("a"), None, Some("")]))
            .with_attribute("u", Values::texts(["a", "", "c"]));
        writer.push_objects(&objects)?;
        let groups = Groups::new(vec![vec![1, 2]]).with_names(["AF"]);
        writer.set_groups(&groups.with_attribute("weight", vec![0.5_f64]))?;
        writer.finish().await?;
        let store = Store::open(&address).await?;
        let out = home.path().join("out");
        anyhow::Ok(export_precomputed(store, &out, 16 << 20, Shards::Auto).await?)
    })?;
    let told = "skeletons: attribute weight of groups is left out: tags have none";
    assert!(
        done.notes.iter().any(|note| note == told),
        "{:?}",
        done.notes
    );
    for (lost, attribute, becomes) in [
        (
            "infinite values",
            "f",
            "0 in the properties: JSON numbers cannot represent them",
        ),
        (
            "missing values",
            "g",
            "0 in the properties: JSON numbers cannot represent them",
        ),
        (
            "missing texts",
            "t",
            "empty in the properties; only `zvf import` reads them as missing",
        ),
    ] {
        let start = format!("skeletons: {lost} of attribute ");
        let found: Vec<_> = done
            .notes
            .iter()
            .filter(|note| note.starts_with(&start))
            .collect();
        let wanted = format!("{start}{attribute} are {becomes}");
        assert_eq!(found, [&wanted], "{:?}", done.notes);
    }
    // An import has the texts as they were.
    let skeletons = home.path().join("out/skeletons");
    let import = zvf_convert::Import::open(&[skeletons], &zvf_convert::Options::default())?;
    let address = home.path().join("back.zv").display().to_string();
    let listed = Runtime::new()?.wait(async {
        let spec = import.spec().clone();
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        import.read(&mut writer)?;
        writer.finish().await?;
        let store = Store::open(&address).await?;
        let objects = zvf_query::list_objects(&store, 0, true).await?;
        anyhow::Ok(objects.collect().await?.table(Table::Objects)?)
    })?;
    let listed = listed.context("no objects")?;
    for (name, wanted) in [
        ("t", [Some("a"), None, Some("")]),
        ("u", [Some("a"), Some(""), Some("c")]),
    ] {
        let texts = listed.column_by_name(name).context(name)?;
        let texts = texts.as_string_opt::<i32>().context("no texts")?;
        assert_eq!(texts.iter().collect::<Vec<_>>(), wanted, "{name}");
    }
    Ok(())
}

/// Annotations of lines may have any number of axes; skeletons, which have two or three, are left out and named.
#[test]
fn lines_of_one_axis_are_exported_without_skeletons() -> Result<()> {
    let home = tempfile::tempdir()?;
    let address = home.path().join("s.zv").display().to_string();
    let out = home.path().join("out");
    let done = Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::Polyline, [10.0]).with_objects();
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        let batch = Batch::new(vec![0.0, 1.0, 5.0, 9.0]).with_object_ids(&[1, 1, 2, 2][..]);
        writer.push(&batch)?;
        writer.finish().await?;
        let store = Store::open(&address).await?;
        anyhow::Ok(export_precomputed(store, &out, 16 << 20, Shards::Auto).await?)
    })?;
    assert_eq!(done.views, ["lines"], "{:?}", done.notes);
    let told =
        "skeletons are left out: skeletons and meshes have 2 or 3 axes of space, the store has 1";
    assert!(
        done.notes.iter().any(|note| note.starts_with(told)),
        "{:?}",
        done.notes
    );
    assert_eq!(files(&out.join("lines/by_id"))?.len(), 2);
    Ok(())
}

/// The export of a new store.
fn made(
    home: &Path,
    spec: StoreSpec,
    batch: &Batch,
    objects: Option<&ObjectTable>,
) -> Result<ExportedFolder> {
    let address = home.join("s.zv").display().to_string();
    Runtime::new()?.wait(async {
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        writer.push(batch)?;
        if let Some(objects) = objects {
            writer.push_objects(objects)?;
        }
        writer.finish().await?;
        let store = Store::open(&address).await?;
        let out = home.join("out");
        anyhow::Ok(export_precomputed(store, &out, 16 << 20, Shards::Auto).await?)
    })
}

/// A segment is one object: what joins two of them is in no file, and is counted.
#[test]
fn links_and_faces_between_objects_are_noted() -> Result<()> {
    let places: Vec<f32> = (0_u8..6)
        .flat_map(|at| [f32::from(at), f32::from(at * at), 0.0])
        .collect();
    let ids: [i64; 6] = [1, 1, 1, 2, 2, 2];
    let edges: &[u64] = &[0, 1, 1, 2, 3, 4, 2, 3];
    let faces: &[u64] = &[0, 1, 2, 3, 4, 5, 1, 2, 3];
    for (kind, links, noun) in [(Kind::Graph, edges, "links"), (Kind::Mesh, faces, "faces")] {
        let ends = if kind == Kind::Mesh { 3 } else { 2 };
        for kept in [links.len(), links.len() - ends] {
            let home = tempfile::tempdir()?;
            let spec = StoreSpec::new(kind, [3.0; 3]).with_objects();
            let batch = Batch::new(&places[..])
                .with_object_ids(&ids[..])
                .with_links(&links[..kept]);
            let done = made(home.path(), spec, &batch, None)?;
            let told = format!(
                "{noun} whose vertices are not all in one object are left out: 1; a segment is one object"
            );
            let found = done.notes.contains(&told);
            assert_eq!(found, kept == links.len(), "{kind:?}: {:?}", done.notes);
            assert!(
                !done
                    .notes
                    .iter()
                    .any(|note| note.contains("left out") && *note != told)
            );
        }
    }
    Ok(())
}

/// Lines lack texts of objects, which the skeletons of the same objects have.
#[test]
fn texts_of_lines_are_in_the_properties_of_skeletons() -> Result<()> {
    let home = tempfile::tempdir()?;
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 3])
        .with_objects()
        .with_object_attribute(AttributeSpec::text("kind"));
    let places = (0..12_u8).map(f32::from).collect::<Vec<_>>();
    let batch = Batch::new(&places[..]).with_object_ids(&[1, 1, 2, 2][..]);
    let objects = ObjectTable::new(&[1, 2][..]).with_attribute("kind", Values::texts(["a", "b"]));
    let done = made(home.path(), spec, &batch, Some(&objects))?;
    assert_eq!(done.left_out, Vec::<String>::new());
    let told = "lines: attribute kind is left out: annotations have no values of its type; the properties of skeletons have it";
    assert!(
        done.notes.iter().any(|note| note == told),
        "{:?}",
        done.notes
    );
    Ok(())
}
