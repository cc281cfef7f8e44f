//! Tables with a table of edges or faces beside them, imported and exported.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array};
use proptest::prelude::*;
use zvf_convert::export::{ExportOptions, LinksFile};
use zvf_convert::{Format, Options};
use zvf_store::Class;
use zvf_write::{AttributeType, Kind, NumberType};

use crate::parse;
use crate::records::{ipc, table};
use crate::support::{Folder, Got, column, ends, open, refused, small, sorted, texts};

const NODES: &str = "x,y,name\n0,0,a\n4,0,b\n4,4,c\n0,4,d\n9,9,e\n";
const EDGES: &str = "weight,source,target,note\n0.5,0,1,n\n1.5,4,1,n\n-2,2,2,m\n0.25,0,1,n\n";

fn linked(file: PathBuf, faces: bool) -> Options {
    let mut options = small();
    if faces {
        options.faces = Some(file);
    } else {
        options.edges = Some(file);
    }
    options
}

/// Links by the names of their ends, with a column.
fn named(got: &Got, attribute: &str) -> Vec<(Vec<String>, String)> {
    let values = column(got.links.as_ref().unwrap(), attribute);
    sorted(ends(got, "name").into_iter().zip(values).collect())
}

/// Exports the tables of a selection as two files with this ending, and imports them.
fn through(folder: &Folder, ending: &str, faces: bool, kind: Kind) -> (Folder, Got) {
    let links = folder.place(&format!("links.{ending}"));
    let mut options = ExportOptions::default();
    let format = Format::of(&links).unwrap();
    options.links = Some(LinksFile::new(format, &links, faces));
    let (out, done) = folder.export(&format!("rows.{ending}"), &options);
    assert!(
        done.notes
            .iter()
            .all(|note| note.starts_with("attributes of objects")),
        "{:?}",
        done.notes
    );
    let mut options = linked(links, faces);
    options.kind = Some(kind);
    options.object_column = Some("object_id".to_owned());
    let again = Folder::new();
    let import = open(&[out], &options);
    assert_eq!(import.links(), done.links);
    let got = again.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
    (again, got)
}

fn endings() -> Vec<&'static str> {
    let mut endings = vec!["csv", "arrow"];
    if cfg!(feature = "parquet") {
        endings.push("parquet");
    }
    endings
}

/// The positions of objects, in their order.
fn chains(folder: &Folder, ids: &[i64]) -> Vec<Vec<String>> {
    let rows = ids
        .iter()
        .map(|id| column(&folder.objects(&[*id]), "position"));
    rows.collect()
}

#[test]
fn ply_and_obj_have_whole_chains_whose_rows_span_chunks() {
    let rows =
        "object_id,x,y,z\n7,5,5,5\n7,25,5,5\n7,6,6,6\n7,26,6,6\n3,4,4,4\n3,27,4,4\n3,8,8,8\n";
    for kind in [Kind::Polyline, Kind::Streamline] {
        let folder = Folder::new();
        let mut options = small();
        options.kind = Some(kind);
        folder.store(&open(&[folder.file("a.csv", rows)], &options), |spec| {
            spec.chunk_shape = vec![10.0; 3];
        });
        let want = chains(&folder, &[3, 7]);
        let (out, done) = folder.export("o.ply", &ExportOptions::default());
        assert_eq!((done.vertices, done.links, done.objects), (7, 5, 2));
        let (_, edges) = parse::ply(&std::fs::read(&out).unwrap());
        assert_eq!(edges.len(), 5);
        let again = Folder::new();
        let import = open(&[out], &options);
        assert!(import.notes().is_empty(), "{:?}", import.notes());
        again.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
        assert_eq!(chains(&again, &[3, 7]), want);
        let (out, _) = folder.export("o.obj", &ExportOptions::default());
        let text = std::fs::read_to_string(out).unwrap();
        let links: Vec<&str> = text.lines().filter(|line| line.starts_with('l')).collect();
        assert_eq!(links, ["l 1 2", "l 2 3", "l 4 5", "l 5 6", "l 6 7"]);
        // A box selects whole chains.
        let mut selected = ExportOptions::default();
        selected.query.bbox = Some(zvf_query::BBox::parse("26.5,0,0:30,9,9").unwrap());
        let (_, done) = folder.export("o.ply", &selected);
        assert_eq!((done.vertices, done.links), (3, 2));
    }
}

#[test]
fn ply_edges_that_are_no_chain_of_rows_are_no_polyline() {
    let head = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nproperty int object_id\n";
    let ply = |ids: [u8; 4], edges: &[[u8; 2]]| {
        let rows = ids.iter().enumerate();
        let rows: String = rows.map(|(row, id)| format!("{row} 0 0 {id}\n")).collect();
        let ends: String = edges.iter().map(|[a, b]| format!("{a} {b}\n")).collect();
        let count = edges.len();
        let edge = format!("element edge {count}\nproperty int vertex1\nproperty int vertex2\n");
        format!("{head}{edge}end_header\n{rows}{ends}")
    };
    let folder = Folder::new();
    let mut options = small();
    options.kind = Some(Kind::Streamline);
    for sound in [
        ply([1, 1, 1, 1], &[[0, 1], [2, 1], [3, 2]]),
        ply([1, 1, 2, 2], &[[2, 3], [0, 1], [0, 1]]),
    ] {
        assert_eq!(open(&[folder.file("a.ply", sound)], &options).links(), 0);
    }
    for (wrong, found) in [
        (
            ply([1, 1, 1, 1], &[[0, 2], [2, 1], [1, 3]]),
            "an edge of vertices 0 and 2",
        ),
        (
            ply([1, 1, 1, 1], &[[0, 1], [2, 3]]),
            "no edge of vertices 1 and 2",
        ),
        (
            ply([1, 1, 2, 2], &[[0, 1], [1, 2], [2, 3]]),
            "an edge of vertices 1 and 2",
        ),
    ] {
        let file = folder.file("a.ply", wrong);
        let (error, text) = refused(std::slice::from_ref(&file), &options);
        assert_eq!(error.class(), Class::Malformed, "{text}");
        assert!(
            text.contains(found) && text.contains("--kind graph"),
            "{text}"
        );
        let mut graph = small();
        graph.kind = Some(Kind::Graph);
        assert!(open(&[file], &graph).links() > 1);
    }
}

#[test]
fn the_edges_of_a_ply_with_faces_are_read_for_kinds_of_edges() {
    let text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
        property list uchar int vertex_indices\nelement edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n\
        0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n0 1\n1 2\n";
    let folder = Folder::new();
    let file = folder.file("a.ply", text);
    let mut options = small();
    for (kind, links, lost) in [
        (None, 1, "\"edge\""),
        (Some(Kind::Mesh), 1, "\"edge\""),
        (Some(Kind::Graph), 2, "\"face\""),
        (Some(Kind::Polyline), 0, "\"face\""),
    ] {
        options.kind = kind;
        let import = open(std::slice::from_ref(&file), &options);
        assert_eq!(import.links(), links, "{kind:?}");
        let note = format!("elements {lost} are not kept");
        assert!(import.notes().contains(&note), "{:?}", import.notes());
    }
}

#[test]
fn a_table_of_edges_makes_a_graph_and_comes_back() {
    let folder = Folder::new();
    let options = linked(folder.file("edges.csv", EDGES), false);
    let import = open(&[folder.file("7.csv", NODES)], &options);
    assert_eq!(
        (import.spec().kind, import.links(), import.objects()),
        (Kind::Graph, 4, 1)
    );
    assert!(
        import.notes().contains(
            &"column \"note\" of links is not kept: only numbers can be attributes of links"
                .to_owned()
        ),
        "{:?}",
        import.notes()
    );
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
    let want = [
        ("a", "b", "0.25"),
        ("a", "b", "0.5"),
        ("c", "c", "-2.0"),
        ("e", "b", "1.5"),
    ];
    let want = want.map(|(from, to, weight)| (texts([from, to]), weight.to_owned()));
    // Undirected links may be stored with their ends exchanged.
    let turned = |links: Vec<(Vec<String>, String)>| {
        sorted(
            links
                .into_iter()
                .map(|(ends, weight)| (sorted(ends), weight))
                .collect::<Vec<_>>(),
        )
    };
    let want = turned(want.to_vec());
    assert_eq!(turned(named(&got, "weight")), want);
    assert_eq!(column(&got.objects.unwrap(), "object_id"), ["7"]);
    for ending in endings() {
        let (_, got) = through(&folder, ending, false, Kind::Graph);
        assert_eq!(turned(named(&got, "weight")), want, "{ending}");
        assert_eq!(column(&got.objects.unwrap(), "object_id"), ["7"]);
    }
}

#[test]
fn edges_make_skeletons_of_several_objects() {
    let folder = Folder::new();
    let nodes = folder.file(
        "n.csv",
        "x,y,name,tree\n0,0,a,3\n4,0,b,-1\n4,4,c,3\n0,4,d,3\n9,9,e,-1\n",
    );
    for (text, explicit) in [
        ("child,parent\n2,0\n3,0\n4,1\n", false),
        ("child,parent,w\n2,0,1\n3,0,2\n4,1,3\n", true),
    ] {
        let mut options = linked(folder.file("e.csv", text), false);
        options.kind = Some(Kind::Skeleton);
        options.object_column = Some("tree".to_owned());
        let import = open(std::slice::from_ref(&nodes), &options);
        assert_eq!(
            (import.spec().links.explicit, import.objects()),
            (explicit, 2)
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
        let want = [["c", "a"], ["d", "a"], ["e", "b"]].map(texts);
        assert_eq!(sorted(ends(&got, "name")), want);
        for ending in endings() {
            let (_, got) = through(&folder, ending, false, Kind::Skeleton);
            assert_eq!(sorted(ends(&got, "name")), want, "{ending}");
            if explicit {
                assert_eq!(sorted(column(&got.links.unwrap(), "w")), ["1", "2", "3"]);
            }
        }
    }
    let mut options = linked(folder.file("e.csv", "child,parent\n2,0\n2,3\n"), false);
    options.kind = Some(Kind::Skeleton);
    let import = open(&[folder.file("n.csv", NODES)], &options);
    let error = folder.fails(&import);
    assert!(error.to_string().contains("two parents"), "{error}");
}

#[test]
fn faces_of_three_or_four_make_a_mesh() {
    let folder = Folder::new();
    for (text, want) in [
        (
            "a,b,c\n0,1,2\n0,2,3\n",
            vec![vec!["a", "b", "c"], vec!["a", "c", "d"]],
        ),
        (
            "vertices_0,vertices_1,vertices_2,vertices_3\n0,1,2,3\n",
            vec![vec!["a", "b", "c", "d"]],
        ),
    ] {
        let options = linked(folder.file("faces.csv", text), true);
        let import = open(&[folder.file("a.csv", NODES)], &options);
        assert_eq!(
            (import.spec().kind, import.links()),
            (Kind::Mesh, want.len() as u64)
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
        let turned = |got: &Got| {
            sorted(
                ends(got, "name")
                    .into_iter()
                    .map(crate::parse::turned)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(turned(&got), want);
        for ending in endings() {
            let (_, got) = through(&folder, ending, true, Kind::Mesh);
            assert_eq!(turned(&got), want, "{ending}");
        }
    }
}

#[test]
fn a_fourth_column_of_faces_is_an_attribute_if_its_type_or_the_option_says_so() {
    let folder = Folder::new();
    let nodes = folder.file("a.csv", NODES);
    let given = |name: &str, text: &str| linked(folder.file(name, text), true);
    let options = given("dates.csv", "a,b,c,d\n0,1,2,2024-01-01\n0,2,3,2024-01-02\n");
    let import = open(std::slice::from_ref(&nodes), &options);
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
    let links = got.links.as_ref().unwrap();
    assert_eq!(links.num_rows(), 2);
    assert!(links.column_by_name("d").is_some());
    assert!(ends(&got, "name").iter().all(|face| face.len() == 3));
    let way_out = "(--link-columns a,b,c names the corners if d is an attribute)";
    for (name, text) in [
        ("half.csv", "a,b,c,d\n0,1,2,0.5\n"),
        ("large.csv", "a,b,c,d\n0,1,2,9\n"),
    ] {
        let mut options = given(name, text);
        let (_, told) = refused(std::slice::from_ref(&nodes), &options);
        assert!(told.ends_with(way_out), "{told}");
        options.link_columns = Some(texts(["a", "b", "c"]));
        assert_eq!(open(std::slice::from_ref(&nodes), &options).links(), 1);
    }
}

#[test]
fn arrays_of_numpy_are_vertices_and_links() {
    let folder = Folder::new();
    let options = linked(folder.file("faces.csv", "a,b,c\n0,1,2\n0,2,3\n"), true);
    let import = open(&[folder.file("a.csv", NODES)], &options);
    folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
    let links = folder.place("links.npy");
    let mut options = ExportOptions::default();
    options.links = Some(LinksFile::new(Format::Npy, &links, true));
    let (out, done) = folder.export("out.npy", &options);
    assert_eq!((done.vertices, done.links), (5, 2));
    let again = Folder::new();
    let got = again.store(&open(&[out], &linked(links, true)), |spec| {
        spec.chunk_shape = vec![3.0; 2]
    });
    let places = ends(&got, "position").into_iter().map(crate::parse::turned);
    let want = [
        ["0.0 0.0", "4.0 0.0", "4.0 4.0"],
        ["0.0 0.0", "4.0 4.0", "0.0 4.0"],
    ];
    assert_eq!(sorted(places.collect()), want.map(texts));
}

#[cfg(feature = "parquet")]
#[test]
fn edges_of_pyarrow_join_vertices_of_pyarrow() {
    let made = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables");
    let folder = Folder::new();
    let mut options = linked(made.join("edges.parquet"), false);
    options.kind = Some(Kind::Skeleton);
    let import = open(&[made.join("points.parquet")], &options);
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 3]);
    // Row r has 3 r - 50 as `small`; edge r goes from row r + 1 to row r / 2 and has the weight r / 16.
    let weights = column(got.links.as_ref().unwrap(), "weight");
    let found: Vec<_> = ends(&got, "small").into_iter().zip(weights).collect();
    let small = |row: i32| (3 * row - 50).to_string();
    let want = (0_u8..39).map(|r| {
        let row = i32::from(r);
        (
            vec![small(row + 1), small(row / 2)],
            format!("{:?}", f32::from(r) / 16.0),
        )
    });
    assert_eq!(sorted(found), sorted(want.collect()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new();
    let nodes = || folder.file("n.csv", NODES);
    // Each file has a name of its own.
    let number = std::cell::Cell::new(0);
    let edges = |text: &str| {
        number.set(number.get() + 1);
        linked(folder.file(&format!("e{}.csv", number.get()), text), false)
    };
    let mut both = edges(EDGES);
    both.faces = Some(folder.file("f.csv", ""));
    let mut unnamed = edges(EDGES);
    unnamed.link_columns = Some(vec!["source".into(), "end".into()]);
    let mut kind = edges(EDGES);
    kind.kind = Some(Kind::Mesh);
    let mut alone = small();
    alone.kind = Some(Kind::Graph);
    let mut columns = small();
    columns.link_columns = Some(vec!["a".into()]);
    let cases: [(Options, Class, &str); 10] = [
        (
            edges("source,target\n0,1\n0,5\n"),
            Class::Malformed,
            "found in row 1: vertex 5, expected one of the 5 vertices, from 0",
        ),
        (
            edges("source,target\n0,-1\n"),
            Class::Malformed,
            "found in row 0: vertex -1, expected one of the 5 vertices, from 0",
        ),
        (
            edges("source,target\n0,1.5\n"),
            Class::Malformed,
            "found in row 0: column \"target\" of Float32, expected whole numbers",
        ),
        (
            edges("one,two\n0,1\n"),
            Class::Malformed,
            "found \"one, two\", expected columns vertices_0 and vertices_1",
        ),
        (
            edges("source,target,w\n0,1,2\n0,1,\n"),
            Class::Malformed,
            "",
        ),
        (
            both,
            Class::Misuse,
            "faces: found edges as well, expected one of the two",
        ),
        (
            unnamed,
            Class::Misuse,
            "link columns: found \"end\", expected one of the columns of",
        ),
        (
            kind,
            Class::Misuse,
            "kind: found mesh, expected graph or skeleton for CSV with edges",
        ),
        (
            alone,
            Class::Misuse,
            "graphs, skeletons and meshes need a table of edges or faces",
        ),
        (
            columns,
            Class::Misuse,
            "link columns: found some, expected none without a table of edges or faces",
        ),
    ];
    for (options, class, said) in cases {
        if said.is_empty() {
            // A missing value among floats is NaN.
            assert_eq!(open(&[nodes()], &options).links(), 2);
            continue;
        }
        let (error, text) = refused(&[nodes()], &options);
        assert!(text.contains(said), "{text}");
        assert_eq!(error.class(), class, "{text}");
    }
    let swc = folder.file("a.swc", "1 0 0 0 0 1 -1\n");
    let (_, text) = refused(&[swc], &edges(EDGES));
    assert!(
        text.starts_with("edges or faces: found one for SWC"),
        "{text}"
    );
    let (_, text) = refused(&[nodes(), folder.file("m.csv", NODES)], &edges(EDGES));
    assert!(text.contains("found 2 tables of vertices"), "{text}");
    // The same for exports.
    folder.store(&open(&[nodes()], &edges(EDGES)), |_| {});
    for (format, name, faces, said) in [
        (
            Format::Csv,
            "o.csv",
            true,
            "faces: found a store of kind graph, expected mesh",
        ),
        (
            Format::Obj,
            "o.csv",
            false,
            "edges: found a file of OBJ beside one of CSV",
        ),
        (
            Format::Csv,
            "o.obj",
            false,
            "edges: found a file of CSV beside one of OBJ",
        ),
    ] {
        let mut options = ExportOptions::default();
        options.links = Some(LinksFile::new(format, folder.place("l.csv"), faces));
        let error = folder.export_error(name, &options).to_string();
        assert!(error.contains(said), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_comes_back(
        nodes in prop::collection::vec(any::<[i8; 2]>(), 1..40),
        edges in prop::collection::vec((any::<[prop::sample::Index; 2]>(), any::<i32>()), 0..60),
    ) {
        let mut rows = "x,y,name\n".to_owned();
        for (number, [x, y]) in nodes.iter().enumerate() {
            rows.push_str(&format!("{x},{y},n{number}\n"));
        }
        let mut links = "from,to,w\n".to_owned();
        let mut want = Vec::new();
        for ([from, to], weight) in &edges {
            let [from, to] = [from, to].map(|end| end.index(nodes.len()));
            links.push_str(&format!("{from},{to},{weight}\n"));
            want.push((sorted(vec![format!("n{from}"), format!("n{to}")]), weight.to_string()));
        }
        let folder = Folder::new();
        let options = linked(folder.file("e.csv", links), false);
        folder.store(&open(&[folder.file("n.csv", rows)], &options), |spec| spec.chunk_shape = vec![40.0; 2]);
        let (_, got) = through(&folder, "arrow", false, Kind::Graph);
        let found = if edges.is_empty() { Vec::new() } else { named(&got, "w") };
        let found = found.into_iter().map(|(ends, weight)| (sorted(ends), weight));
        prop_assert_eq!(sorted(found.collect::<Vec<_>>()), sorted(want));
    }
}

/// Links by the names of their ends, sorted.
fn pairs(folder: &Folder, nodes: PathBuf, options: &Options) -> Vec<Vec<String>> {
    let got = folder.store(&open(&[nodes], options), |spec| {
        spec.chunk_shape = vec![3.0; 2]
    });
    sorted(ends(&got, "name").into_iter().map(sorted).collect())
}

#[test]
fn edges_name_vertices_by_their_ids() {
    let folder = Folder::new();
    let want = vec![texts(["a", "b"]).to_vec(), texts(["b", "c"]).to_vec()];
    // Ids of nodes a, b and c, and of edges b-a and c-b.
    for (number, (ids, edges)) in [
        (["2", "0", "1"], [["0", "2"], ["1", "0"]]),
        (
            ["10", "-7", "9007199254740993"],
            [["-7", "10"], ["9007199254740993", "-7"]],
        ),
        (
            ["18446744073709551615", "0", "5"],
            [["0", "18446744073709551615"], ["5", "0"]],
        ),
        (["n1", "n0", "n2"], [["n0", "n1"], ["n2", "n0"]]),
        (["007", "7", "70"], [["7", "007"], ["70", "7"]]),
        (["1e5", "2e5", "a"], [["2e5", "1e5"], ["a", "2e5"]]),
    ]
    .into_iter()
    .enumerate()
    {
        let rows = ids.iter().zip(["0,0,a", "4,0,b", "4,4,c"]);
        let rows = rows.map(|(id, rest)| format!("{id},{rest}\n"));
        let nodes = format!("ID,x,y,name\n{}", rows.collect::<String>());
        let nodes = folder.file(&format!("n{number}.csv"), nodes);
        let links = edges.map(|[from, to]| format!("{from},{to}\n")).concat();
        let links = folder.file(&format!("e{number}.csv"), format!("source,target\n{links}"));
        let mut options = linked(links, false);
        let (error, text) = refused(std::slice::from_ref(&nodes), &options);
        assert_eq!(error.class(), Class::Misuse, "{text}");
        assert!(
            text.contains("columns source, target beside a column \"ID\"")
                && text.contains("--node-id ID")
                && text.contains("--links-by-row"),
            "{text}"
        );
        options.node_id = Some("ID".into());
        assert_eq!(pairs(&folder, nodes.clone(), &options), want, "{ids:?}");
        // The ids are kept as an attribute unless they are excluded.
        let import = open(std::slice::from_ref(&nodes), &options);
        let names: Vec<&str> = import
            .spec()
            .vertex_attributes
            .iter()
            .map(|one| &*one.name)
            .collect();
        assert_eq!(names, ["ID", "name"]);
        options.exclude = vec!["ID".into()];
        assert_eq!(pairs(&folder, nodes.clone(), &options), want, "{ids:?}");
        options.exclude = Vec::new();
        options.attributes = Some(vec!["name".into()]);
        assert_eq!(pairs(&folder, nodes, &options), want, "{ids:?}");
    }
}

#[test]
fn ids_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    let nodes = |ids: [&str; 3]| {
        let rows = ids.iter().zip(["0,0,a", "4,0,b", "4,4,c"]);
        let rows = rows.map(|(id, rest)| format!("{id},{rest}\n"));
        folder.file(
            "n.csv",
            format!("node_id,x,y,name\n{}", rows.collect::<String>()),
        )
    };
    let mut options = linked(folder.file("e.csv", "from,to\n0,1\n1,2\n2,2\n1,0\n"), false);
    // Links are by rows if the column counts the rows, or if the options say so.
    let rows = vec![
        texts(["a", "b"]).to_vec(),
        texts(["a", "b"]).to_vec(),
        texts(["b", "c"]).to_vec(),
        texts(["c", "c"]).to_vec(),
    ];
    assert_eq!(pairs(&folder, nodes(["0", "1", "2"]), &options), rows);
    let import = open(&[nodes(["0", "1", "2"])], &options);
    for note in [
        "1 edges begin and end at the same vertex",
        "1 edges have the same ends as another edge: all are kept",
    ] {
        assert!(
            import.notes().contains(&note.to_owned()),
            "{:?}",
            import.notes()
        );
    }
    options.links_by_row = true;
    assert_eq!(pairs(&folder, nodes(["7", "1", "2"]), &options), rows);
    options.links_by_row = false;
    options.node_id = Some("node_id".into());
    let (_, text) = refused(&[nodes(["0", "1", "1"])], &options);
    assert_eq!(
        text,
        "node id: found 1 rows with an id of another row in column \"node_id\": 1, expected different ids for all vertices"
    );
    let (_, text) = refused(&[nodes(["0", "1", "7"])], &options);
    assert!(
        text.contains("found in row 1: 3 ends that no vertex has as its id: 2, …, expected values of column \"node_id\" of the vertex table")
            || text.contains("found in row 2: ") || text.contains("found in row 1: 1 ends that no vertex has as its id: 2, expected"),
        "{text}"
    );
    let (_, text) = refused(&[nodes(["0", "", "7"])], &options);
    assert!(
        text.starts_with("n.csv, line 3: found nothing, expected an id in column \"node_id\""),
        "{text}"
    );
    options.limits.ids = 20;
    let (_, text) = refused(&[nodes(["0", "1", "2"])], &options);
    assert!(text.contains("at most 20 bytes of ids"), "{text}");
    options.node_id = Some("no".into());
    let (_, text) = refused(&[nodes(["0", "1", "2"])], &options);
    assert!(
        text.starts_with("node id: found \"no\", expected one of the columns of the vertex table"),
        "{text}"
    );
}

/// Tables of positions of whole numbers, as Arrow files.
fn whole_positions(folder: &Folder, name: &str) -> Vec<PathBuf> {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array,
    };
    let columns: [fn(Vec<i64>) -> ArrayRef; 4] = [
        |list| {
            Arc::new(Int32Array::from_iter_values(
                list.iter().map(|one| i32::try_from(*one).unwrap()),
            ))
        },
        |list| Arc::new(Int64Array::from(list)),
        |list| {
            Arc::new(Int16Array::from_iter_values(
                list.iter().map(|one| i16::try_from(*one).unwrap()),
            ))
        },
        |list| {
            Arc::new(UInt8Array::from_iter_values(
                list.iter().map(|one| u8::try_from(*one).unwrap()),
            ))
        },
    ];
    let files = columns.iter().enumerate().map(|(number, column)| {
        let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d"]));
        let batch = RecordBatch::try_from_iter([
            ("x", column(vec![0, 4, 4, 0])),
            ("y", column(vec![0, 0, 4, 4])),
            ("name", names),
        ]);
        let batch = batch.unwrap();
        let mut bytes = Vec::new();
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        folder.file(&format!("{name}{number}.arrow"), bytes)
    });
    files.collect()
}

#[test]
fn positions_of_whole_numbers_make_every_kind() {
    let folder = Folder::new();
    for file in whole_positions(&folder, "n") {
        let edges = folder.file("e.csv", "source,target\n1,0\n2,1\n3,2\n");
        let faces = folder.file("f.csv", "a,b,c\n0,1,2\n0,2,3\n");
        for (faces, links, kind) in [
            (false, edges.clone(), Some(Kind::Graph)),
            (false, edges, Some(Kind::Skeleton)),
            (true, faces, None),
        ] {
            let mut options = linked(links, faces);
            options.kind = kind;
            let import = open(std::slice::from_ref(&file), &options);
            let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
            assert!(!import.spec().positions.to_string().contains("float"));
            assert_eq!(sorted(column(&got.vertices, "name")), ["a", "b", "c", "d"]);
            assert_eq!(got.links.unwrap().num_rows() as u64, import.links());
        }
        for kind in [Kind::PointCloud, Kind::Polyline, Kind::Streamline] {
            let mut options = small();
            options.kind = Some(kind);
            let got = folder.store(&open(std::slice::from_ref(&file), &options), |spec| {
                spec.chunk_shape = vec![3.0; 2]
            });
            assert_eq!(
                sorted(column(&got.vertices, "position")),
                ["0 0", "0 4", "4 0", "4 4"]
            );
        }
    }
}

#[test]
fn types_of_columns_of_one_table_are_not_asked_of_the_other() {
    let folder = Folder::new();
    let nodes = folder.file("n.csv", "x,y,code\n0,0,1\n4,0,2\n");
    let mut endings = vec![("e.csv", "source,target,w\n0,1,3\n".to_owned())];
    endings.push((
        "e.ndjson",
        "{\"source\":0,\"target\":1,\"w\":3}\n".to_owned(),
    ));
    for (name, table) in endings {
        let mut options = linked(folder.file(name, table), false);
        options.attribute_types = vec![
            ("code".to_owned(), AttributeType::Category),
            ("w".to_owned(), AttributeType::Number(NumberType::I8)),
        ];
        let import = open(std::slice::from_ref(&nodes), &options);
        let spec = import.spec();
        let code = spec.vertex_attributes.iter().find(|one| one.name == "code");
        assert_eq!(code.unwrap().values, AttributeType::Category, "{name}");
        let w = spec.links.attributes.first().unwrap();
        assert_eq!(w.values, AttributeType::Number(NumberType::I8), "{name}");
        options.attribute_types[1].0 = "v".to_owned();
        let (_, text) = refused(std::slice::from_ref(&nodes), &options);
        let says = "attribute types: found \"v\", expected one of the columns: x, y, code, source, target, w";
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn lists_of_texts_are_no_ends() {
    let folder = Folder::new();
    let ends = || {
        let mut ends = ListBuilder::new(StringBuilder::new());
        for end in ["a", "b"] {
            ends.values().append_value(end);
        }
        ends.append(true);
        Arc::new(ends.finish()) as ArrayRef
    };
    let weight = Arc::new(Float64Array::from(vec![1.0])) as ArrayRef;
    let both = table(vec![("vertices", ends()), ("w", weight)]);
    let mut options = linked(ipc(&folder, "e.arrow", &[both]), false);
    options.node_id = Some("name".to_owned());
    let (_, text) = refused(&[folder.file("n.csv", NODES)], &options);
    let says = "expected a column of lists of whole numbers of one length, or columns vertices_0";
    assert!(text.contains("column vertices of List("), "{text}");
    assert!(text.contains(says), "{text}");
    let alone = ipc(&folder, "v.arrow", &[table(vec![("vertices", ends())])]);
    let error = zvf_convert::read_table(&alone, &small()).unwrap_err();
    let says = "found none, expected columns of numbers";
    assert!(error.to_string().contains(says), "{error}");
}
