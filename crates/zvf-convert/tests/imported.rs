//! Files as record batches. Every test that makes a store (`Folder::store`) also checks that the record batches make the same store,
//! byte for byte, for files of every format, in small batches.

use std::path::Path;

use arrow_array::RecordBatch;
use zvf_convert::export::ExportOptions;
use zvf_convert::{ConvertError, Imported, Options};
use zvf_store::Stop;

use crate::support::{Folder, column, open, refused, small};

/// The tables of a file, each as the rows of all its record batches, and the kinds of tables in their order.
fn tables(file: &Path, options: &Options) -> (Vec<RecordBatch>, Vec<RecordBatch>, String) {
    let (mut vertices, mut links, mut order) = (Vec::new(), Vec::new(), String::new());
    let take = |part| {
        match part {
            Imported::Vertices(table, of_links) => {
                order.push('v');
                vertices.push(table);
                links.extend(of_links);
            }
            Imported::Objects(_) => order.push('o'),
            Imported::Groups(_) => order.push('g'),
        }
        Ok::<_, ConvertError>(())
    };
    open(&[file.to_owned()], options)
        .record_batches(take)
        .unwrap();
    (vertices, links, order)
}

fn all(tables: &[RecordBatch], name: &str) -> Vec<String> {
    tables
        .iter()
        .flat_map(|table| column(table, name))
        .collect()
}

#[test]
fn rows_come_in_the_order_of_the_file() {
    let folder = Folder::new();
    let file = folder.file(
        "a.csv",
        "x,y,track,fa,side\n0,1,5,0.5,left\n2,3,5,0.25,right\n4,5,5,1,\n6,7,-2,2,left\n",
    );
    let mut options = small();
    options.object_column = Some("track".to_owned());
    let (vertices, links, order) = tables(&file, &options);
    // A batch has three rows.
    assert_eq!((&*order, vertices.len(), links.len()), ("vv", 2, 0));
    assert_eq!(
        all(&vertices, "position"),
        ["0.0 1.0", "2.0 3.0", "4.0 5.0", "6.0 7.0"]
    );
    assert_eq!(all(&vertices, "object_id"), ["5", "5", "5", "-2"]);
    assert_eq!(all(&vertices, "fa"), ["0.5", "0.25", "1.0", "2.0"]);
    assert_eq!(all(&vertices, "side"), ["left", "right", "null", "left"]);
}

#[test]
fn links_count_through_all_batches() {
    let folder = Folder::new();
    let file = folder.file(
        "a.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 5 5 5\nf 1 2 3\nf 3 4 -1\n",
    );
    let (vertices, links, order) = tables(&file, &small());
    assert_eq!(all(&vertices, "position").len(), 5);
    assert_eq!(all(&links, "vertices"), ["0 1 2", "2 3 4"]);
    assert!(order.ends_with('o'), "{order}");
}

#[test]
fn an_error_of_the_caller_ends_the_reading() {
    #[derive(Debug)]
    enum Failed {
        Enough,
        Reading(ConvertError),
    }
    impl From<ConvertError> for Failed {
        fn from(error: ConvertError) -> Self {
            Self::Reading(error)
        }
    }
    let folder = Folder::new();
    let file = folder.file("a.csv", "x,y\n0,1\n2,3\n4,5\n6,7\n");
    let import = open(&[file], &small());
    let mut taken = 0;
    let error = import
        .record_batches(|_| {
            taken += 1;
            Err(Failed::Enough)
        })
        .unwrap_err();
    assert!(matches!(error, Failed::Enough), "{error:?}");
    assert_eq!(taken, 1);
    // The error about a changed file takes precedence.
    folder.file("a.csv", "x,y\n0,one\n");
    let error = import.record_batches(|_| Err(Failed::Enough)).unwrap_err();
    let Failed::Reading(error) = error else {
        panic!("{error:?}")
    };
    assert!(error.to_string().contains("one"), "{error}");
}

#[test]
fn tables_of_other_columns_name_them() {
    let folder = Folder::new();
    let table = |name: &str, text: &str| {
        folder.store(&open(&[folder.file("a.csv", text)], &small()), |_| {});
        folder.export(name, &ExportOptions::default()).0
    };
    let first = table("a.arrow", "x,y,v,w\n1,2,3,a\n");
    for (text, found) in [
        (
            "x,y,v,u\n1,2,3,4\n",
            "found no columns w; new columns u, expected",
        ),
        (
            "x,y,v,w\n1,2,0.5,a\n",
            "found column v of Float32, not Int32, expected",
        ),
    ] {
        let (_, text) = refused(&[first.clone(), table("b.arrow", text)], &small());
        assert!(
            text.contains(found) && text.contains("--attributes"),
            "{text}"
        );
    }
}

#[test]
fn the_first_pass_ends_when_it_is_asked_to() {
    let folder = Folder::new();
    let files = [
        folder.file("a.csv", "x,y\n1,2\n3,4\n"),
        folder.file("a.ndjson", "{\"x\":1,\"y\":2}\n{\"x\":3,\"y\":4}\n"),
        folder.file("1.swc", "1 1 0 0 0 1 -1\n2 3 1 1 0 1 1\n"),
        folder.file("1.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
        crate::las::file("gps-1.2.las"),
    ];
    let stop = Stop::default();
    let mut options = small();
    options.stop = Some(stop.clone());
    for file in &files {
        assert!(open(std::slice::from_ref(file), &options).vertices() > 0);
    }
    stop.ask();
    for file in files {
        let (error, text) = refused(&[file], &options);
        assert!(matches!(error, ConvertError::Store(_)), "{text}");
    }
}
