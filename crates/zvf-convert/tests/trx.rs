//! TRX, imported and exported.

use std::path::PathBuf;

use serde_json::{Value, json};
use zvf_convert::export::ExportOptions;
use zvf_convert::{Options, groups_of};
use zvf_query::{Query, query};
use zvf_store::blocking::Runtime;
use zvf_store::{Class, Store};
use zvf_write::NumberType;

use crate::parse;
use crate::records::zip;
use crate::support::{Folder, column, open, refused, small};

/// Three streamlines of 3, 0 and 2 points.
pub(crate) fn arrays(closed: bool) -> Vec<(String, Vec<u8>)> {
    let head = json!({
        "DIMENSIONS": [10, 20, 30],
        "VOXEL_TO_RASMM": [[2.0, 0.0, 0.0, -9.0], [0.0, 2.0, 0.0, -8.0], [0.0, 0.0, 2.0, -7.0], [0.0, 0.0, 0.0, 1.0]],
        "NB_VERTICES": 5,
        "NB_STREAMLINES": 3,
    });
    let floats = |list: &[f32]| {
        list.iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let mut offsets = vec![0_u32, 3, 3];
    if closed {
        offsets.push(5);
    }
    let positions: Vec<f32> = (0_u8..15).map(|at| f32::from(at) * 1.5 - 4.0).collect();
    [
        ("header.json", head.to_string().into_bytes()),
        ("positions.3.float32", floats(&positions)),
        (
            "offsets.uint32",
            offsets
                .iter()
                .flat_map(|offset| offset.to_le_bytes())
                .collect(),
        ),
        ("dpv/color.3.uint8", (0..15).collect()),
        ("dpv/fa.float32", floats(&[0.1, 0.2, 0.3, 0.4, 0.5])),
        (
            "dps/weight.float64",
            [0.1_f64, 2.0, -1.0 / 3.0]
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        ),
        (
            "dps/label.int16",
            [7_i16, -8, 9]
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        ),
        ("groups/right.uint32", vec![2, 0, 0, 0, 1, 0, 0, 0]),
        ("groups/left.uint32", vec![0; 4]),
        ("groups/none.uint32", Vec::new()),
        ("dpg/right/mean.float32", floats(&[1.5])),
        ("dpg/left/mean.float32", floats(&[-0.25])),
        (
            "dpg/left/ends.6.float32",
            floats(&[1.0, 2.0, 3.0, 4.0, 5.0, f32::NAN]),
        ),
    ]
    .map(|(name, content)| (name.to_owned(), content))
    .to_vec()
}

#[test]
fn points_attributes_and_frame_come_back_with_their_types() {
    for (closed, deflated) in [(false, true), (true, false)] {
        let folder = Folder::new();
        let want = arrays(closed);
        let import = open(&[folder.file("a.trx", zip(&want, deflated))], &small());
        assert_eq!((import.vertices(), import.objects()), (5, 3));
        assert_eq!(import.spec().positions, NumberType::F32);
        assert!(import.notes().is_empty(), "{:?}", import.notes());
        assert_eq!(import.frame().unwrap()["voxel_to_rasmm"][0][3], json!(-9.0));
        folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
        let listed = folder.listed();
        assert_eq!(
            column(&listed, "weight"),
            ["0.1", "2.0", "-0.3333333333333333"]
        );
        assert_eq!(column(&listed, "label"), ["7", "-8", "9"]);
        assert_eq!(
            column(&folder.objects(&[2]), "position"),
            ["9.5 11.0 12.5", "14.0 15.5 17.0"]
        );
        assert_eq!(
            column(&folder.objects(&[0]), "color"),
            ["0 1 2", "3 4 5", "6 7 8"]
        );
        let (out, done) = folder.export("out.trx", &ExportOptions::default());
        assert_eq!((done.vertices, done.objects), (5, 3));
        assert!(done.notes.is_empty(), "{:?}", done.notes);
        let got = parse::members(&std::fs::read(&out).unwrap());
        let head: Value = serde_json::from_slice(&got["header.json"]).unwrap();
        let sent: Value = serde_json::from_slice(&want[0].1).unwrap();
        assert_eq!(head, sent);
        for (name, content) in want
            .iter()
            .filter(|(name, _)| !name.starts_with("offsets") && name != "header.json")
        {
            assert_eq!(&got[name], content, "{name}");
        }
        let offsets = [0_u64, 3, 3, 5]
            .iter()
            .flat_map(|offset| offset.to_le_bytes());
        assert_eq!(got["offsets.uint64"], offsets.collect::<Vec<u8>>());
        let again = Folder::new();
        again.store(&open(std::slice::from_ref(&out), &small()), |spec| {
            spec.chunk_shape = vec![9.0; 3]
        });
        let (twice, _) = again.export("out.trx", &ExportOptions::default());
        assert_eq!(std::fs::read(twice).unwrap(), std::fs::read(out).unwrap());
    }
}

/// The numbers of a group in an archive.
fn group(archive: &std::collections::BTreeMap<String, Vec<u8>>, name: &str) -> Vec<u32> {
    let bytes = archive[&format!("groups/{name}.uint32")].chunks(4);
    bytes
        .map(|four| u32::from_le_bytes(four.try_into().unwrap()))
        .collect()
}

#[test]
fn groups_follow_their_streamlines() {
    let folder = Folder::new();
    let file = folder.file("a.trx", zip(&arrays(true), false));
    let mut second = arrays(true);
    second.retain(|(name, _)| !name.starts_with("groups/none") && !name.starts_with("dpg/right"));
    second.push(("groups/more.uint8".to_owned(), vec![1]));
    // A group without an integer attribute cannot mark it as missing. An array that is one row need not state its width.
    second.push(("dpg/more/count.uint8".to_owned(), vec![9]));
    second.push((
        "dpg/more/ends.float32".to_owned(),
        [2.5_f32; 6]
            .iter()
            .flat_map(|one| one.to_le_bytes())
            .collect(),
    ));
    second.push(("dpg/nobody/mean.float32".to_owned(), vec![0; 4]));
    let other = folder.file("b.trx", zip(&second, true));
    let import = open(&[file, other], &small());
    let notes = import.notes().join("\n");
    for said in [
        "dpg \"mean\" of group \"left\" is not kept: a member of the same name was read before it",
        "dpg \"count\" is not kept: 1 of 4 groups have it",
        "dpg \"mean\" of group \"nobody\" is not kept: there is no such group",
    ] {
        assert!(notes.contains(said), "{notes}");
    }
    folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
    let (out, done) = folder.export("all.trx", &ExportOptions::default());
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    let got = parse::members(&std::fs::read(out).unwrap());
    assert_eq!(group(&got, "left"), [0, 3]);
    assert_eq!(group(&got, "right"), [2, 1, 5, 4]);
    assert_eq!(group(&got, "more"), [4]);
    assert_eq!(group(&got, "none"), Vec::<u32>::new());
    assert_eq!(got["dpg/more/ends.6.float32"], second[second.len() - 2].1);
    assert!(
        !got.contains_key("dpg/none/mean.float32") && !got.contains_key("dpg/more/mean.float32")
    );
    // The groups of a selection have places in the selection.
    let mut options = ExportOptions::default();
    options.query.objects = Some(vec![5, 0, 5]);
    let (out, done) = folder.export("some.trx", &options);
    assert_eq!(
        done.notes,
        [
            "ids of objects are not kept: the file has their order only",
            "5 members of groups are not among the streamlines of the file"
        ]
    );
    let got = parse::members(&std::fs::read(out).unwrap());
    assert_eq!(
        (group(&got, "left"), group(&got, "right")),
        (vec![1], vec![0, 2])
    );
}

#[test]
fn archives_that_contradict_themselves_are_refused() {
    let folder = Folder::new();
    let good = arrays(true);
    let changed = |name: &str, content: Option<&[u8]>| {
        let mut list = good.clone();
        match content {
            Some(content) => list
                .iter_mut()
                .filter(|one| one.0 == name)
                .for_each(|one| one.1 = content.to_vec()),
            None => list.retain(|one| one.0 != name),
        }
        let (_, text) = refused(
            &[folder.file("a.trx", zip(&list, false))],
            &Options::default(),
        );
        text
    };
    for (name, content, said) in [
        ("header.json", None, "found no header.json"),
        ("header.json", Some(&b"{"[..]), "expected JSON"),
        ("positions.3.float32", None, "found no positions"),
        (
            "positions.3.float32",
            Some(&[0; 13]),
            "expected NAME.TYPE or NAME.COLUMNS.TYPE",
        ),
        (
            "offsets.uint32",
            Some(&[0; 8]),
            "found 2 offsets, expected 3",
        ),
        (
            "offsets.uint32",
            Some(&[0, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0]),
            "found offset 1, which is out of order",
        ),
        (
            "offsets.uint32",
            Some(&[1, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0]),
            "found offset 0, which is out of order",
        ),
        (
            "dpv/fa.float32",
            Some(&[0; 16]),
            "found dpv \"fa\" of 4 rows, expected 5",
        ),
        (
            "groups/left.uint32",
            Some(&[3, 0, 0, 0]),
            "found 3 in group \"left\", expected streamlines from 0, below 3",
        ),
        (
            "groups/left.uint32",
            Some(&[3, 0, 0]),
            "expected NAME.uint32",
        ),
        (
            "dpg/left/ends.6.float32",
            Some(&[0; 12]),
            "expected NAME.TYPE or NAME.COLUMNS.TYPE, one row of numbers",
        ),
        (
            "dps/label.int16",
            Some(&[0; 2]),
            "found dps \"label\" of 1 rows, expected 3",
        ),
    ] {
        let text = changed(name, content);
        assert!(text.contains(said), "{name}: {text}");
    }
    let whole = zip(&good, true);
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x21;
        let _ = zvf_convert::Import::open(&[folder.file("b.trx", bytes)], &Options::default());
        let _ = refused(&[folder.file("b.trx", &whole[..at])], &Options::default());
    }
}

#[test]
fn a_wrong_number_of_vertices_is_said() {
    let folder = Folder::new();
    for (stated, said) in [
        (json!(5), None),
        (Value::Null, None),
        (json!(4), Some("NB_VERTICES 4, but there are 5 positions")),
        (
            json!(1_u64 << 62),
            Some("NB_VERTICES 4611686018427387904, but there are 5 positions"),
        ),
        (
            json!("five"),
            Some("NB_VERTICES \"five\", but there are 5 positions"),
        ),
    ] {
        let mut members = arrays(true);
        let mut head: Value = serde_json::from_slice(&members[0].1).unwrap();
        head["NB_VERTICES"] = stated;
        members[0].1 = head.to_string().into_bytes();
        let import = open(&[folder.file("a.trx", zip(&members, true))], &small());
        assert_eq!((import.vertices(), import.objects()), (5, 3));
        let notes = import.notes();
        match said {
            None => assert!(notes.is_empty(), "{notes:?}"),
            Some(said) => assert!(notes.len() == 1 && notes[0].contains(said), "{notes:?}"),
        }
    }
}

/// Groups are read after the rows. A change in between is reported as one, also if it looks like damage.
#[test]
fn groups_are_of_the_same_state_as_rows() {
    let folder = Folder::new();
    let file = folder.file("a.trx", zip(&arrays(true), false));
    folder.store(&open(&[file], &small()), |_| {});
    let place = PathBuf::from(folder.address());
    Runtime::new().unwrap().wait(async {
        for damaged in [false, true] {
            let store = Store::open(&folder.address()).await.unwrap();
            let rows = query(&store, Query::default()).await.unwrap();
            rows.collect().await.unwrap();
            let root = place.join("zarr.json");
            let mut bytes = std::fs::read(&root).unwrap();
            bytes.push(b' ');
            std::fs::write(&root, bytes).unwrap();
            if damaged {
                std::fs::remove_dir_all(place.join("0/groups/c")).unwrap();
            }
            let error = groups_of(&store, 0, None).await.unwrap_err();
            assert_eq!(error.class(), Class::Io, "{error}");
            assert!(error.to_string().contains("changed"), "{error}");
        }
    });
}
