//! What depends on the machine: `cargo xtask memory` and `cargo xtask latency` run this program.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use object_store::aws::AmazonS3Builder;
use object_store::{ObjectStore, RetryConfig};
use zvf_query::{BBox, Query};
use zvf_soak::servers::{Kind, Server};
use zvf_store::{IoTrace, OpenOptions, Store};
use zvf_testkit::faults::Faulty;
use zvf_trials::answers::ask;
use zvf_trials::points::{Form, Points};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", form, side, rows, folder] => {
            make(form, side.parse()?, rows.parse()?, Path::new(folder))
        }
        ["latency", milliseconds, rounds, folder] => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            let latency = Duration::from_millis(milliseconds.parse()?);
            runtime.block_on(measure(latency, rounds.parse()?, PathBuf::from(folder)))
        }
        _ => bail!(
            "zvf-trials make grid|blobs SIDE ROWS FOLDER, or latency MILLISECONDS ROUNDS FOLDER"
        ),
    }
}

/// Writes a store of points.
fn make(form: &str, side: u16, rows: u32, folder: &Path) -> Result<()> {
    let form = match form {
        "grid" => Form::Grid,
        "blobs" => Form::Blobs,
        other => bail!("no form {other}"),
    };
    let points = Points {
        side,
        rows,
        seed: 1,
        form,
    };
    points.write(folder)?;
    println!("{} {}", points.vertices(), points.bytes());
    Ok(())
}

/// A cold box of 1 % of a store of a thousand chunks, from a bucket, with and without latency at every request.
async fn measure(latency: Duration, rounds: usize, folder: PathBuf) -> Result<()> {
    for (name, form) in [("0.9", Form::Grid), ("0.7", Form::Blobs)] {
        let points = Points {
            side: 10,
            rows: 200,
            seed: 1,
            form,
        };
        let place = folder.join(name);
        points.write(&place)?;
        let server = Server::start(Kind::S3, &place)?;
        let (mut near, mut far) = (Vec::new(), Vec::new());
        let mut cost = (0, 0, 0);
        // Round 0 warms the server and is not counted.
        for round in 0..=rounds {
            let (without, _) = cold(server.url(), Duration::ZERO).await?;
            let (with, trace) = cold(server.url(), latency).await?;
            if round > 0 {
                near.push(without);
                far.push(with);
            }
            cost = trace;
        }
        let (near, far) = (median(near)?, median(far)?);
        let (requests, waits, bytes) = cost;
        let added = far.saturating_sub(near).as_secs_f64() / latency.as_secs_f64();
        println!(
            "{name}: {requests} requests in {waits} rounds, {bytes} bytes; {:.0} ms, with {} ms at every request {:.0} ms: \
             {added:.2} round trips more",
            near.as_secs_f64() * 1e3,
            latency.as_millis(),
            far.as_secs_f64() * 1e3,
        );
        ensure!(added < 5.0, "{name}: expected less than 5 round trips");
    }
    Ok(())
}

/// One cold box. Returns the time, and requests, rounds and bytes.
async fn cold(url: &str, latency: Duration) -> Result<(Duration, (usize, u32, u64))> {
    zvf_store::use_ring();
    let bucket = AmazonS3Builder::new()
        .with_endpoint(url)
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_access_key_id("test")
        .with_secret_access_key("test")
        .with_bucket_name("data")
        .with_retry(RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        })
        .build()?;
    let bucket: Arc<dyn ObjectStore> = Arc::new(bucket);
    let trace = IoTrace::on();
    let options = OpenOptions::new()
        .with_object_store(Arc::new(Faulty::new(bucket, 0).latency(latency)))
        .with_concurrency(256)
        .with_trace(trace.clone());
    let asked = Query {
        bbox: Some(BBox::new(vec![31.0; 3], vec![31.0 + 21.544; 3])?),
        ..Query::default()
    };
    let start = Instant::now();
    let store = Store::open_with("memory:///", options).await?;
    let told = ask(&store, asked).await?;
    let passed = start.elapsed();
    let rows = told.vertices.context("no rows")?.num_rows();
    ensure!(rows > 1000, "{rows} rows");
    let waits = trace.counts().rounds;
    let requests = trace.take();
    let bytes = requests.iter().filter_map(|request| request.bytes).sum();
    Ok((passed, (requests.len(), waits, bytes)))
}

fn median(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied().context("no rounds")
}
