//! Reads parts of objects below an address, and prints each request that was sent. The address may also be a bucket or a web server.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_io::{Ask, Cap, IoOptions, IoTrace, Kv};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("log.txt"), "first\nsecond\nthird\n")?;

    let trace = IoTrace::on();
    let options = IoOptions::new().with_trace(trace.clone());
    let objects = Kv::open(&folder.path().to_string_lossy(), &options)?;
    let cap = Cap::cell(objects.limits());
    for (key, part) in [
        ("log.txt", Ask::Suffix(6)),
        ("log.txt", Ask::Range(6..12)),
        ("none.txt", Ask::Whole),
    ] {
        match objects.get(key, part, cap).await? {
            Some(part) => println!("{key}: {:?} of {} bytes", part.bytes, part.size),
            None => println!("{key}: there is no such object"),
        }
    }
    for request in trace.take() {
        println!(
            "{:?} {}: {:?} bytes",
            request.method, request.key, request.bytes
        );
    }
    Ok(())
}
