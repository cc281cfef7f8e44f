//! `/store/…`, the pages and the token.

use std::collections::BTreeSet;

use anyhow::Result;
use zvf_serve::{AccessToken, ServeOptions};

use crate::client::Served;

fn served(case: &str) -> Result<(zvf_testkit::TempStore, Served)> {
    let store = zvf_testkit::unpack(case)?;
    let served = Served::start(&[store.path().display().to_string()])?;
    Ok((store, served))
}

/// The name of the store in paths: the folder's, without its ending.
const NAME: &str = "/store/store";

#[test]
fn every_object_is_sent_as_it_is_stored() -> Result<()> {
    let (store, served) = served("real_skeleton")?;
    let files = zvf_testkit::files("real_skeleton")?;
    assert!(files.len() > 10);
    for (key, bytes) in files {
        let reply = served.get(&format!("{NAME}/{key}"))?;
        assert_eq!(
            (reply.status, reply.body.len()),
            (200, bytes.len()),
            "{key}"
        );
        assert!(reply.body == bytes, "{key}");
        let head = served.ask("HEAD", &format!("{NAME}/{key}"), &[])?;
        assert_eq!(head.status, 200);
        assert_eq!(
            head.header("content-length"),
            Some(bytes.len().to_string().as_str()),
            "{key}"
        );
        assert_eq!(head.header("etag"), reply.header("etag"));
    }
    drop(store);
    Ok(())
}

#[test]
fn ranges_conditions_and_origins() -> Result<()> {
    let (store, served) = served("graph")?;
    let path = format!("{NAME}/zarr.json");
    let whole = std::fs::read(store.path().join("zarr.json"))?;
    let size = whole.len();
    let part = served.ask(
        "GET",
        &path,
        &[("Range", "bytes=5-9"), ("Origin", "http://example.org")],
    )?;
    assert_eq!((part.status, part.body.as_slice()), (206, &whole[5..10]));
    assert_eq!(
        part.header("content-range"),
        Some(format!("bytes 5-9/{size}").as_str())
    );
    assert_eq!(part.header("access-control-allow-origin"), Some("*"));
    let exposed = part
        .header("access-control-expose-headers")
        .unwrap_or_default();
    for name in ["content-range", "content-length", "etag", "accept-ranges"] {
        assert!(exposed.contains(name), "{exposed}");
    }
    let tail = served.ask("GET", &path, &[("Range", "bytes=-4")])?;
    assert_eq!(
        (tail.status, tail.body.as_slice()),
        (206, &whole[size - 4..])
    );
    let beyond = served.ask("GET", &path, &[("Range", &format!("bytes={size}-"))])?;
    assert_eq!(beyond.status, 416);
    assert_eq!(
        beyond.header("content-range"),
        Some(format!("bytes */{size}").as_str())
    );
    let head = served.ask("HEAD", &path, &[("Range", "bytes=0-0")])?;
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some(size.to_string().as_str())),
        "only GET has ranges"
    );

    let etag = served
        .get(&path)?
        .header("etag")
        .unwrap_or_default()
        .to_owned();
    let same = served.ask("GET", &path, &[("If-None-Match", &etag)])?;
    assert_eq!((same.status, same.body.len()), (304, 0));
    let stale = [("Range", "bytes=0-1"), ("If-Range", "\"other\"")];
    assert_eq!(served.ask("GET", &path, &stale)?.status, 200);
    let fresh = [("Range", "bytes=0-1"), ("If-Range", etag.as_str())];
    assert_eq!(served.ask("GET", &path, &fresh)?.status, 206);

    // `If-Match` with the ETag that the client has, and with others.
    for (value, status) in [
        (etag.as_str(), 200),
        ("*", 200),
        ("\"a\", \"b\"", 412),
        (&*format!("\"a\", {etag}"), 200),
        (&*format!("W/{etag}"), 412),
        ("", 412),
    ] {
        for method in ["GET", "HEAD"] {
            let asked = served.ask(method, &path, &[("If-Match", value)])?;
            assert_eq!(asked.status, status, "{method} {value}");
        }
        let range = [("If-Match", value), ("Range", "bytes=0-1")];
        let part = served.ask("GET", &path, &range)?.status;
        assert_eq!(part, if status == 200 { 206 } else { 412 }, "{value}");
    }
    let both = [("If-Match", "\"a\""), ("If-None-Match", etag.as_str())];
    assert_eq!(served.ask("GET", &path, &both)?.status, 412);

    std::fs::write(store.path().join("zarr.json"), b"{} ")?;
    let stale = served.ask("GET", &path, &[("If-Match", &etag)])?;
    assert_eq!(stale.status, 412);
    let changed = served.ask("GET", &path, &[("If-None-Match", &etag)])?;
    assert_eq!(
        (changed.status, changed.body.as_slice()),
        (200, b"{} ".as_slice())
    );

    let asked = [
        ("Origin", "http://example.org"),
        ("Access-Control-Request-Method", "GET"),
        ("Access-Control-Request-Headers", "range"),
    ];
    let preflight = served.ask("OPTIONS", &path, &asked)?;
    assert_eq!(preflight.status, 200);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        assert_eq!(served.ask(method, &path, &[])?.status, 405, "{method}");
    }
    Ok(())
}

#[test]
fn folders_are_pages_of_links() -> Result<()> {
    let (_store, served) = served("graph")?;
    let page = served.ask("GET", &format!("{NAME}/"), &[("Accept", "text/html")])?;
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-type")
            .unwrap_or_default()
            .starts_with("text/html")
    );
    let text = page.text();
    for link in [
        "<a href=\"0/\">0/</a>",
        "<a href=\"zarr.json\">zarr.json</a>",
    ] {
        assert!(text.contains(link), "{text}");
    }
    let below = served.ask(
        "GET",
        &format!("{NAME}/0/vertices/"),
        &[("Accept", "text/html")],
    )?;
    assert!(below.text().contains("<a href=\"c/\">"), "{}", below.text());
    // Without a slash a folder is not an object, and there is no redirect, because Neuroglancer does not follow redirects.
    assert_eq!(served.get(&format!("{NAME}/0"))?.status, 404);
    assert_eq!(served.get(&format!("{NAME}/nothing/"))?.status, 404);
    let other = served.ask(
        "GET",
        &format!("{NAME}/"),
        &[("Accept", "application/json")],
    )?;
    assert_eq!(other.status, 406);
    Ok(())
}

#[test]
fn links_out_of_a_store_are_not_followed() -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        let (store, served) = served("graph")?;
        let outside = tempfile::tempdir()?;
        std::fs::write(outside.path().join("secret"), b"outside")?;
        symlink(outside.path().join("secret"), store.path().join("leak"))?;
        symlink(outside.path(), store.path().join("folder"))?;
        symlink(store.path().join("zarr.json"), store.path().join("inside"))?;
        symlink("round", store.path().join("round"))?;
        symlink("b", store.path().join("a"))?;
        symlink("a", store.path().join("b"))?;
        for path in [
            "leak",
            "folder/secret",
            "folder/",
            "round",
            "round/",
            "a",
            "b/zarr.json",
        ] {
            assert_eq!(served.get(&format!("{NAME}/{path}"))?.status, 404, "{path}");
        }
        let inside = served.get(&format!("{NAME}/inside"))?;
        assert_eq!(inside.body, std::fs::read(store.path().join("zarr.json"))?);
        let page = served.get(&format!("{NAME}/"))?.text();
        assert!(!page.contains("round"), "{page}");
        assert!(page.contains("\"inside\"") && !page.contains("leak") && !page.contains("folder"));
    }
    Ok(())
}

#[test]
fn a_token_is_the_first_segment_of_every_path() -> Result<()> {
    let store = zvf_testkit::unpack("graph")?;
    let mut options = ServeOptions::new();
    let token = AccessToken::new()?;
    let secret = token.digits().to_owned();
    options.token = Some(token);
    let served = Served::with(&[store.path().display().to_string()], options)?;
    assert_eq!(served.url, format!("http://{}/{secret}", served.address));
    for path in [
        "/",
        "/store/store/zarr.json",
        "/state.json",
        "/0123/store/store/zarr.json",
    ] {
        assert_eq!(served.get(path)?.status, 404, "{path}");
    }
    let root = served.json(&format!("/{secret}/store/store/zarr.json"))?;
    assert_eq!(root["node_type"], "group");
    let rows = served.json(&format!("/{secret}/query?limit=3&format=json"))?;
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    let state = served.json(&format!("/{secret}/state.json"))?;
    let source = state["layers"][0]["source"].to_string();
    assert!(
        source.contains(&format!("{}/precomputed/store/skeletons", served.url)),
        "{source}"
    );
    let page = served.get(&format!("/{secret}/stores"))?.text();
    assert!(
        page.contains(&format!("{}/store/store/|zarr-vectors:", served.url)),
        "{page}"
    );
    Ok(())
}

#[test]
fn queries_are_answered_in_arrow_and_json() -> Result<()> {
    let (_store, served) = served("graph")?;
    let truth = zvf_testkit::truth("graph")?;
    let count = truth.positions.shape[0];
    let rows = served.json("/query?format=json")?;
    assert_eq!(rows.as_array().map(Vec::len), Some(count));
    let owned = rows.as_array().into_iter().flatten();
    let owned = owned.filter(|row| row["object_id"].is_i64()).count();
    assert_eq!(
        owned, count,
        "each vertex of this store belongs to an object"
    );
    let lines = served.bytes("/query?format=ndjson&table=links")?;
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 155);
    let arrow = served.bytes("/query?store=store&attributes=none")?;
    let reader = arrow_ipc::reader::StreamReader::try_new(arrow.as_slice(), None)?;
    let mut found = 0;
    for batch in reader {
        found += batch?.num_rows();
    }
    assert_eq!(found, count);
    for wrong in [
        "nonsense=1",
        "bbox=a",
        "level=99",
        "limit=-1",
        "store=other",
        "where=(",
        "table=x",
        "format=x",
        "objects=1e9",
        "limit=1&limit=2",
        "format=json&format=arrow",
    ] {
        let status = served.get(&format!("/query?{wrong}"))?.status;
        assert!((400..500).contains(&status), "{wrong}: {status}");
    }
    // Latin-1.
    let answer = served.get("/query?where=name%3D%27zo%F6%27")?;
    let text = String::from_utf8_lossy(&answer.body);
    assert!(answer.status == 400 && text.contains("UTF-8"), "{text}");
    Ok(())
}

/// Dates are dates in each format, and a missing one is null.
#[test]
fn dates_have_their_type_in_arrow_and_json() -> Result<()> {
    use arrow_array::Array;
    use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};
    let runtime = zvf_store::blocking::Runtime::new()?;
    let bucket = Bucket::default();
    let open = zvf_store::OpenOptions::new().with_object_store(bucket.clone());
    runtime.wait(async {
        let day = AttributeSpec::number("day", NumberType::I64).with_unit("days since 1970-01-01");
        let spec = StoreSpec::new(Kind::PointCloud, [10.0, 10.0, 10.0]).with_vertex_attribute(day);
        let options = WriteOptions::new().with_open(open);
        let mut writer = StoreWriter::create(ADDRESS, spec, options).await?;
        let (positions, days) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1_i64, i64::MIN]);
        writer.push(&Batch::new(&positions[..]).with_attribute("day", &days[..]))?;
        writer.finish().await?;
        anyhow::Ok(())
    })?;
    let mut options = ServeOptions::new();
    options.open = options.open.with_object_store(bucket);
    let served = Served::with(&[ADDRESS.to_owned()], options)?;
    let rows = lines(&served, "&columns=day")?;
    assert_eq!(rows[0]["day"], "1970-01-02");
    assert!(rows[1]["day"].is_null());
    let arrow = served.bytes("/query?columns=day")?;
    let mut days = Vec::new();
    for batch in arrow_ipc::reader::StreamReader::try_new(arrow.as_slice(), None)? {
        let batch = batch?;
        let column = batch.column(0).as_any();
        let column = column.downcast_ref::<arrow_array::Date32Array>();
        days.extend(column.into_iter().flatten());
    }
    assert_eq!(days, [Some(1), None]);
    Ok(())
}

#[test]
fn conditions_on_groups_select_their_members() -> Result<()> {
    let (_store, served) = served("points_ids")?;
    for (group, members) in zvf_testkit::case("points_ids")?.groups {
        let query = format!("/query?format=json&columns=object_id&where=group.number%3D{group}");
        let rows = served.json(&query)?;
        let rows = rows.as_array().into_iter().flatten();
        let found: BTreeSet<i64> = rows.filter_map(|row| row["object_id"].as_i64()).collect();
        assert_eq!(found, members.into_iter().collect(), "group {group}");
    }
    Ok(())
}

/// All repeated conditions on objects apply, as on the command line.
#[test]
fn conditions_on_objects_may_be_repeated() -> Result<()> {
    let (_store, served) = served("streamlines")?;
    let objects = |parameters: &str| -> Result<usize> {
        let rows = served.json(&format!("/query?table=objects&format=json{parameters}"))?;
        Ok(rows.as_array().map_or(0, Vec::len))
    };
    let (one, other) = ("touching(box(x=:30))", "touching(box(x=30:))");
    let both = objects(&format!("&passing={one}&passing={other}"))?;
    assert_eq!(both, objects(&format!("&passing={one}%20and%20{other}"))?);
    assert!(both < objects(&format!("&passing={one}"))?, "{both}");
    assert!(both < objects(&format!("&passing={other}"))?, "{both}");
    Ok(())
}

#[test]
fn a_query_as_json_is_the_same_query() -> Result<()> {
    let (_store, served) = served("graph")?;
    let asked = "bbox=0,0,0:60,60,60&limit=5&columns=position,row&format=ndjson";
    let by_text = served.bytes(&format!("/query?{asked}"))?;
    let body = br#"{"bbox": [[0, 0, 0], [60, 60, 60]], "limit": 5, "columns": ["position", "row"], "format": "ndjson"}"#;
    let reply = served.post("/query", body)?;
    assert_eq!(
        (reply.status, reply.body.as_slice()),
        (200, by_text.as_slice())
    );
    for (wrong, message) in [
        (&b"["[..], "query: found no JSON"),
        (b"[]", "query: found [], expected an object"),
        (
            b"{\"limt\": 1}",
            "limt: found a member that is not known (did you mean \"limit\"?)",
        ),
        (
            b"{\"limit\": 1, \"limit\": 2}",
            "query: found the member \"limit\" twice",
        ),
        (b"{\"objects\": [1, {}]}", "objects[1]: found {}, expected"),
        (
            b"{\"memory_budget\": 1}",
            "memory_budget: found a member that the server sets itself",
        ),
        (
            b"{\"table\": 3}",
            "table: found no text, expected vertices, links or objects",
        ),
    ] {
        let reply = served.post("/query", wrong)?;
        let text = String::from_utf8_lossy(&reply.body);
        assert!(
            reply.status == 400 && text.starts_with(message),
            "{} {text}",
            reply.status
        );
    }
    let beside = served.post("/query?limit=1", b"{}")?;
    let text = String::from_utf8_lossy(&beside.body);
    assert!(
        beside.status == 400 && text.starts_with("query: found parameters beside a body"),
        "{text}"
    );
    // The query string gives the same error.
    let reply = served.get("/query?objects=1,x")?;
    let text = String::from_utf8_lossy(&reply.body);
    assert!(text.starts_with("objects: found \"x\", expected"), "{text}");
    Ok(())
}

#[test]
fn a_server_that_stops_ends_what_it_began() -> Result<()> {
    let (_store, served) = served("graph")?;
    let waiting = std::net::TcpStream::connect(served.address)?;
    assert_eq!(served.get("/state.json")?.status, 200);
    served.end()?;
    drop(waiting);
    Ok(())
}

/// Rows of an answer in NDJSON.
fn lines(served: &Served, parameters: &str) -> Result<Vec<serde_json::Value>> {
    let bytes = served.bytes(&format!("/query?format=ndjson{parameters}"))?;
    let lines = std::str::from_utf8(&bytes)?.lines();
    Ok(lines
        .map(serde_json::from_str)
        .collect::<Result<_, serde_json::Error>>()?)
}

#[test]
fn a_split_of_another_state_is_refused() -> Result<()> {
    let (store, served) = served("graph")?;
    let runtime = zvf_store::blocking::Runtime::new()?;
    let address = store.path().display().to_string();
    let tag = zvf_query::StateTag::of(&runtime.wait(zvf_store::Store::open(&address))?);
    let split = |tag: &str| served.get(&format!("/query?format=ndjson&split=0/2@{tag}"));
    assert_eq!(split(&tag.to_string())?.status, 200);
    let other = split("00000000")?;
    assert_eq!(other.status, 412, "{}", other.text());
    assert!(other.text().contains("tag 00000000"), "{}", other.text());
    Ok(())
}

#[test]
fn queries_after_a_change_are_answered_whole() -> Result<()> {
    let (store, served) = served("graph")?;
    let count = zvf_testkit::truth("graph")?.positions.shape[0];
    for round in 0..3 {
        assert_eq!(lines(&served, "")?.len(), count, "{round}");
        // An edit of cells that the query does not read changes only the root.
        let root = store.path().join("zarr.json");
        let text = std::fs::read_to_string(&root)?;
        std::fs::remove_file(&root)?;
        std::fs::write(&root, format!("{text}\n"))?;
    }
    Ok(())
}

/// A new version is often published by renaming folders, or by changing a link.
#[cfg(unix)]
#[test]
fn a_store_that_was_replaced_or_moved_is_not_answered_any_more() -> Result<()> {
    use std::os::unix::fs::symlink;
    let (old, new) = (
        zvf_testkit::unpack("graph")?,
        zvf_testkit::unpack("points_ids")?,
    );
    let count = |case| anyhow::Ok(zvf_testkit::truth(case)?.positions.shape[0]);
    let (old_rows, new_rows) = (count("graph")?, count("points_ids")?);
    assert_ne!(old_rows, new_rows);
    let home = tempfile::tempdir()?;
    let place = home.path().join("store.zarrvectors");
    symlink(old.path(), &place)?;
    let served = Served::start(&[place.display().to_string()])?;
    let root = format!("{NAME}/zarr.json");
    let root_of = |store: &zvf_testkit::TempStore| std::fs::read(store.path().join("zarr.json"));
    assert_eq!(served.bytes(&root)?, root_of(&old)?);
    assert_eq!(lines(&served, "")?.len(), old_rows);

    // Another link.
    std::fs::remove_file(&place)?;
    symlink(new.path(), &place)?;
    assert_eq!(lines(&served, "")?.len(), new_rows);
    assert_eq!(served.bytes(&root)?, root_of(&new)?);

    // Nothing.
    std::fs::remove_file(&place)?;
    for path in ["/query?format=ndjson", &root] {
        assert_eq!(served.get(path)?.status, 404, "{path}");
    }

    // Another folder.
    for (from, rows) in [(&old, old_rows), (&new, new_rows)] {
        if place.exists() {
            std::fs::rename(&place, home.path().join("before"))?;
        }
        std::fs::rename(from.path(), &place)?;
        assert_eq!(lines(&served, "")?.len(), rows);
        let stored = std::fs::read(place.join("zarr.json"))?;
        assert_eq!(served.bytes(&root)?, stored);
    }
    Ok(())
}

/// A bucket.
type Bucket = std::sync::Arc<object_store::memory::InMemory>;

const ADDRESS: &str = "memory:///store.zarrvectors";

/// A store of one point in a small shard, which is read as a whole and cached.
async fn one_point(n: i32) -> Result<Bucket> {
    use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};
    let bucket = Bucket::default();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0, 10.0, 10.0])
        .with_shard_shape([2, 2, 2])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    let open = zvf_store::OpenOptions::new().with_object_store(bucket.clone());
    let options = WriteOptions::new().with_open(open);
    let mut writer = StoreWriter::create(ADDRESS, spec, options).await?;
    let (position, values) = ([1.0_f32, 2.0, 3.0], [n]);
    writer.push(&Batch::new(&position[..]).with_attribute("n", &values[..]))?;
    writer.finish().await?;
    Ok(bucket)
}

#[test]
fn an_answer_from_memory_is_not_older_than_its_request() -> Result<()> {
    use futures::TryStreamExt;
    use object_store::{ObjectStore, ObjectStoreExt};
    let runtime = zvf_store::blocking::Runtime::new()?;
    let bucket = runtime.wait(one_point(1))?;
    let mut options = ServeOptions::new();
    options.open = options.open.with_object_store(bucket.clone());
    let served = Served::with(&[ADDRESS.to_owned()], options)?;
    for _ in 0..2 {
        let rows = lines(&served, "")?;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["n"], 1);
        assert!(lines(&served, "&bbox=50,50,50:60,60,60")?.is_empty());
    }
    // Replaces the data like an edit: cells and documents, then the root.
    runtime.wait(async {
        let other = one_point(2).await?;
        let all: Vec<_> = other.list(None).try_collect().await?;
        let is_root =
            |key: &object_store::path::Path| key.as_ref() == "store.zarrvectors/zarr.json";
        let (roots, rest): (Vec<_>, Vec<_>) = all
            .into_iter()
            .map(|object| object.location)
            .partition(is_root);
        for key in rest.into_iter().chain(roots) {
            let bytes = other.get(&key).await?.bytes().await?;
            bucket.put(&key, bytes.into()).await?;
        }
        anyhow::Ok(())
    })?;
    assert_eq!(lines(&served, "")?[0]["n"], 2);
    Ok(())
}
