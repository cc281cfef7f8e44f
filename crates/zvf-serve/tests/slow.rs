//! Clients that receive slowly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use object_store::memory::InMemory;
use zvf_serve::ServeOptions;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

use crate::client::{Reply, Served};

const ADDRESS: &str = "memory:///store.zarrvectors";

/// So many that their JSON is longer than the buffers of a connection.
const POINTS: usize = 400_000;

/// A store of points in many chunks.
async fn points() -> Result<Arc<InMemory>> {
    let bucket = Arc::new(InMemory::new());
    let open = zvf_store::OpenOptions::new().with_object_store(bucket.clone());
    let options = WriteOptions::new().with_open(open);
    let spec = StoreSpec::new(Kind::PointCloud, [10.0, 10.0, 10.0]);
    let mut writer = StoreWriter::create(ADDRESS, spec, options).await?;
    let positions: Vec<f32> = (0..3 * POINTS)
        .map(|number| (number * 7919 % 99_991) as f32 / 2000.0)
        .collect();
    writer.push(&Batch::new(&positions[..]))?;
    writer.finish().await?;
    Ok(bucket)
}

#[test]
fn a_client_that_does_not_read_on_keeps_no_other_from_an_answer() -> Result<()> {
    let runtime = zvf_store::blocking::Runtime::new()?;
    let bucket = runtime.wait(points())?;
    let mut options = ServeOptions::new();
    options.work = 1;
    options.open = options.open.with_object_store(bucket);
    let served = Served::with(&[ADDRESS.to_owned()], options)?;
    let mut slow = TcpStream::connect(served.address)?;
    let host = served.address;
    write!(
        slow,
        "GET /query?format=ndjson HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )?;
    let mut reply = vec![0; 64];
    slow.read_exact(&mut reply)?;
    // Less than the time after which a client that does not read is disconnected.
    let begun = Instant::now();
    let other = served.bytes("/query?format=ndjson&limit=1")?;
    assert_eq!(other.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert!(begun.elapsed() < Duration::from_secs(45));
    // The slow client receives the rest.
    slow.read_to_end(&mut reply)?;
    let reply = Reply::parse(&reply, false)?;
    assert_eq!(reply.status, 200);
    let rows = reply.body.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(rows, POINTS);
    Ok(())
}
