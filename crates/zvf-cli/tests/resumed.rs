//! A killed copy resumes from its journal, with the same result as an undisturbed one.

use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Result, ensure};
use zvf_testkit::StoppingServer;

use crate::run::{command, files, zvf_in};
use zvf_testkit::sample::Sample;

fn arguments<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["rechunk", url, "new.zv", "--journal", "kept", "--quiet"];
    all.extend(more);
    all
}

fn start(home: &Path, url: &str, more: &[&str]) -> Result<Child> {
    let mut command = command(home, &arguments(url, more));
    Ok(command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?)
}

#[test]
fn a_killed_copy_goes_on() -> Result<()> {
    let stored = zvf_testkit::files("streamlines")?;
    // Copies chunk by chunk into shards, and copies that distribute rows to other chunks.
    for more in [
        &["--shard-shape", "2,2,2"][..],
        &["--chunk-shape", "40,30,40"],
    ] {
        let home = tempfile::tempdir()?;
        let server = StoppingServer::start(stored.clone(), u64::MAX)?;
        let status = start(home.path(), server.url(), more)?.wait()?;
        ensure!(status.success(), "{more:?}: {status}");
        let whole = files(&home.path().join("new.zv"))?;
        ensure!(!home.path().join("kept").exists());
        let requests = server.asked();
        ensure!(requests > 40, "{requests} requests");
        let mut begun = 0;
        let sample = Sample::new("requests of a copy");
        for moment in sample.some((0..requests).step_by(usize::try_from(requests / 8)?), 3) {
            let home = tempfile::tempdir()?;
            let server = StoppingServer::start(stored.clone(), moment)?;
            let mut child = start(home.path(), server.url(), more)?;
            let stopped = server.wait_until_stopped(|| matches!(child.try_wait(), Ok(Some(_))));
            ensure!(stopped, "ended by itself after {moment} requests");
            // On Unix this is SIGKILL: the program runs no further code.
            child.kill()?;
            child.wait()?;
            let there = home.path().join("new.zv");
            begun += u64::from(there.join("zvf-unfinished.json").exists());
            // Another server has the same store under another address, but with the same contents.
            let server = StoppingServer::start(stored.clone(), u64::MAX)?;
            let ran = zvf_in(home.path(), &arguments(server.url(), more))?;
            ensure!(ran.code == 0, "{moment}: {}", ran.stderr);
            ensure!(files(&there)? == whole, "{more:?}, request {moment}");
            ensure!(!home.path().join("kept").exists());
        }
        ensure!(begun > 2 || !sample.is_whole(), "{begun} begun");
    }
    Ok(())
}
