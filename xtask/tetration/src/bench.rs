//! Times of both for the same files, round by round in turns.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use tetration::layout::mmap_file_read;
use tetration::query::{
    materialize_read_plan_f32_le_into_parallel, parse_query_json, plan_read_for_document,
};
use zvf_tet::{
    Axis, DType, DatasetSpec, OpenOptions, PlannedTile, TetFile, TetWriter, TileCodec, WriteOptions,
};

use crate::Outcome;

const SIDE: u64 = 8192;

fn write(path: &Path, chunk: &[u64; 2], codec: TileCodec, elements: &[u8]) -> Outcome {
    let spec = DatasetSpec::new("a", DType::F32, &[SIDE, SIDE], chunk).with_codec(codec);
    let options = WriteOptions::default().with_packed(true);
    let mut writer = TetWriter::create(path, vec![spec], options)?;
    writer.write_array(elements)?;
    Ok(writer.finish()?)
}

/// Seconds that `job` takes.
fn time(job: &mut dyn FnMut() -> Outcome) -> Outcome<f64> {
    let start = Instant::now();
    job()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// One row of the table: jobs in turns, medians; ours is the first.
fn row(what: &str, rounds: usize, jobs: &mut [(&str, &mut dyn FnMut() -> Outcome)]) -> Outcome {
    let mut times = vec![Vec::new(); jobs.len()];
    for round in 0..=rounds {
        for (kept, (_, job)) in times.iter_mut().zip(jobs.iter_mut()) {
            let seconds = time(*job)?;
            // The first round warms caches and maps.
            if round > 0 {
                kept.push(seconds);
            }
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    let cells: Vec<String> = jobs
        .iter()
        .zip(&medians)
        .map(|((name, _), seconds)| {
            format!(
                "{name} {:.3} ms ({:.2}x)",
                seconds * 1e3,
                seconds / medians[0]
            )
        })
        .collect();
    println!("{what:<44} {}", cells.join("   "));
    Ok(())
}

pub(crate) fn run(folder: &Path, rounds: usize) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let elements: Vec<u8> = (0..SIDE * SIDE)
        .flat_map(|n| {
            let noise = n.wrapping_mul(2_654_435_761) >> 13 & 7;
            (n as f32 + noise as f32 / 8.0).to_le_bytes()
        })
        .collect();
    let mut ours_buffer = vec![0_u8; elements.len()];
    let mut their_buffer = vec![0_f32; elements.len() / 4];
    println!(
        "{SIDE} x {SIDE} f32, {} MiB, {rounds} rounds in turns, medians; (times ours)",
        elements.len() >> 20
    );
    for (name, chunk, codec) in [
        ("raw 64x8192", [64, 8192], TileCodec::Raw),
        ("raw 512x512", [512, 512], TileCodec::Raw),
        ("zstd 512x512", [512, 512], TileCodec::Zstd),
        ("raw 32x32, 65 536 chunks", [32, 32], TileCodec::Raw),
    ] {
        let path = folder.join("bench.tet");
        write(&path, &chunk, codec, &elements)?;
        let mapped = TetFile::map(&path, OpenOptions::default())?;
        let one = TetFile::map(&path, OpenOptions::default().with_threads(1))?;
        let read = TetFile::open(&path)?;
        let map = mmap_file_read(&path)?;
        let dataset = mapped.dataset("a")?;
        let all = dataset.all();
        let query = |text: &str| parse_query_json(text);
        if chunk == [32, 32] {
            let whole = query(r#"{"dataset":"a"}"#)?;
            let mut tiles: Vec<PlannedTile> = Vec::new();
            row(
                &format!("{name}: plan"),
                rounds,
                &mut [
                    ("ours", &mut || {
                        tiles.clear();
                        tiles.extend(mapped.plan(dataset, &all)?);
                        assert_eq!(black_box(&tiles).len(), 65_536);
                        Ok(())
                    }),
                    ("ours with opening", &mut || {
                        let file = TetFile::map(&path, OpenOptions::default())?;
                        let dataset = file.dataset("a")?;
                        let tiles: Vec<_> = file.plan(dataset, &all)?.collect();
                        assert_eq!(black_box(tiles).len(), 65_536);
                        Ok(())
                    }),
                    ("reference", &mut || {
                        black_box(plan_read_for_document(&whole, &map)?);
                        Ok(())
                    }),
                ],
            )?;
            continue;
        }
        let whole = query(r#"{"dataset":"a"}"#)?;
        let reference = |query: &tetration::query::QueryDocument, into: &mut [f32]| -> Outcome {
            let plan = plan_read_for_document(query, &map)?;
            materialize_read_plan_f32_le_into_parallel(&map, &plan.read_plan, None, into)?;
            Ok(())
        };
        let ours = std::cell::RefCell::new(&mut ours_buffer);
        row(
            &format!("{name}: all, into a warm buffer"),
            rounds,
            &mut [
                ("ours", &mut || {
                    mapped.read_into(dataset, &all, &mut ours.borrow_mut())?;
                    Ok(())
                }),
                ("ours, 1 thread", &mut || {
                    one.read_into(dataset, &all, &mut ours.borrow_mut())?;
                    Ok(())
                }),
                ("ours, plain reads", &mut || {
                    read.read_into(read.dataset("a")?, &all, &mut ours.borrow_mut())?;
                    Ok(())
                }),
                ("memcpy", &mut || {
                    ours.borrow_mut().copy_from_slice(black_box(&elements));
                    black_box(&ours);
                    Ok(())
                }),
                ("reference", &mut || reference(&whole, &mut their_buffer)),
            ],
        )?;
        mapped.read_into(dataset, &all, &mut ours.borrow_mut())?;
        if **ours.borrow() != elements {
            return Err("we read other bytes".into());
        }
        for (what, axes, selection) in [
            (
                "one column",
                [Axis::all(SIDE), Axis::at(4001)],
                r#"{"dataset":"a","selection":[{},{"start":4001,"stop":4002}]}"#,
            ),
            (
                "box of 1000 x 1000",
                [Axis::new(3000, 4000, 1), Axis::new(2500, 3500, 1)],
                r#"{"dataset":"a","selection":[{"start":3000,"stop":4000},{"start":2500,"stop":3500}]}"#,
            ),
        ] {
            let wanted = dataset.select(&axes)?;
            let bytes = dataset.result_bytes(&wanted)? as usize;
            let query = query(selection)?;
            row(
                &format!("{name}: {what}"),
                rounds,
                &mut [
                    ("ours", &mut || {
                        mapped.read_into(dataset, &wanted, &mut ours.borrow_mut()[..bytes])?;
                        Ok(())
                    }),
                    ("ours, plain reads", &mut || {
                        read.read_into(
                            read.dataset("a")?,
                            &wanted,
                            &mut ours.borrow_mut()[..bytes],
                        )?;
                        Ok(())
                    }),
                    ("reference", &mut || {
                        reference(&query, &mut their_buffer[..bytes / 4])
                    }),
                ],
            )?;
            let same = ours.borrow()[..bytes]
                .chunks_exact(4)
                .zip(&their_buffer)
                .all(|(a, b)| a == b.to_le_bytes());
            if !same {
                return Err(format!("{name}: {what}: the two read different bytes").into());
            }
        }
    }
    std::fs::remove_file(folder.join("bench.tet"))?;
    Ok(())
}
