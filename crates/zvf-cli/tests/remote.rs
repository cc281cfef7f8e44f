//! Flags of remote reading, with a web server on this machine.

use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::run::{Home, STORE};
use crate::server::{LastCell, Server};

/// The lines of a trace file.
fn trace(home: &Home) -> Result<Vec<Value>> {
    let text = fs::read_to_string(home.file("trace"))?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

#[test]
fn a_web_server_that_cannot_list_gives_the_same_rows() -> Result<()> {
    let home = Home::new("points_ids")?;
    let server = Server::start(home.path(), LastCell::Given)?;
    let columns = [
        "--columns",
        "position,chunk,row",
        "--attributes",
        "none",
        "--format",
        "csv",
        "-q",
    ];
    let query = |store: &str| {
        let mut args = vec!["query", store];
        args.extend(columns);
        home.text(&args)
    };
    assert_eq!(query(server.store())?, query(STORE)?);
    Ok(())
}

#[test]
fn failures_that_may_pass_are_tried_again_as_often_as_told() -> Result<()> {
    for (retries, tries) in [("0", 1), ("2", 3)] {
        let home = Home::new("points_bins")?;
        let server = Server::start(home.path(), LastCell::Busy)?;
        let ran = home.zvf(&[
            "query",
            server.store(),
            "--retries",
            retries,
            "--trace-io",
            "trace",
            "-q",
        ])?;
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("503") && ran.stderr.contains("0/vertices/c/"),
            "{}",
            ran.stderr
        );
        let failed: Vec<Value> = trace(&home)?
            .into_iter()
            .filter(|line| !line["failed"].is_null())
            .map(|line| line["attempt"].clone())
            .collect();
        assert_eq!(failed, (1..=tries).map(Value::from).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn silence_ends_after_the_timeout() -> Result<()> {
    let home = Home::new("points_bins")?;
    let server = Server::start(home.path(), LastCell::Never)?;
    let ran = home.zvf(&["query", server.store(), "--timeout", "0.5", "-q"])?;
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("0/vertices/c/"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn nobody_there_and_nothing_there_are_io_in_one_line() -> Result<()> {
    let home = Home::new("points_bins")?;
    let server = Server::start(home.path(), LastCell::Given)?;
    let nothing = format!("{}.old", server.store());
    // A free port, on which nothing listens.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let nobody = format!("http://{nobody}/{STORE}");
    for address in [&nothing, &nobody] {
        let ran = home.zvf(&["info", address, "--retries", "1", "-q"])?;
        assert_eq!(ran.code, 3, "{address}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(address.as_str()), "{}", ran.stderr);
    }
    Ok(())
}
