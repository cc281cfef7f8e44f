//! A module for a page: it opens a store, runs a box and hands out the positions. The page fetches what the module asks for.
//!
//! Exports are plain functions of numbers. Texts and bytes go through one buffer: the page asks for its place by [`buffer`], writes, and calls; results
//! are read from there. `page/page.js` is the other side.
//!
//! ```text
//! buffer(length) -> address     makes room for an argument, or shows the result
//! open(verify)                  begins to open the store; the buffer has the box, such as 0,0,0:10,10,10, or nothing
//! step() -> length              < 0: an error, its text is in the buffer
//!                               0: done, rows() rows; positions() -> address of x, y, z of each as float32
//!                               > 0: the buffer has requests as lines: id, first byte or -, length or -, key
//! answer(id, start, size)       the buffer has the bytes; size < 0: there is no such object
//! ```
//!
//! # Unsafe
//!
//! This is not product code and is not under the workspace lints: names of exports are attributes that count as unsafe.

use std::cell::RefCell;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::RecordBatch;
use zvf_query::{BBox, Outputs, Query, Table, query};
use zvf_store::io::Ask;
use zvf_store::{CallerRun, CallerStep, CallerStore, IoError, Object, OpenOptions, Store};

type Failure = Box<dyn std::error::Error>;
type Run = CallerRun<'static, Result<Vec<f32>, Failure>>;

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    run: Option<Run>,
    positions: Vec<f32>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Makes room for so many bytes, and returns their address. What is there already stays.
#[unsafe(no_mangle)]
pub extern "C" fn buffer(length: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        state.buffer.resize(length as usize, 0);
        state.buffer.as_ptr() as u32
    })
}

/// Begins to read a store. Returns 0, or a negative number for an error.
#[unsafe(no_mangle)]
pub extern "C" fn open(verify: u32) -> i32 {
    STATE.with_borrow_mut(|state| {
        let text = String::from_utf8_lossy(&state.buffer).into_owned();
        let store = CallerStore::new();
        let options = OpenOptions::new()
            .with_caller_store(store.clone())
            .with_verify(verify != 0);
        match store.run(read(text, options)) {
            Ok(run) => {
                state.run = Some(run);
                0
            }
            Err(error) => state.fail(&error),
        }
    })
}

/// Goes on until objects are needed, or to the end.
#[unsafe(no_mangle)]
pub extern "C" fn step() -> i32 {
    STATE.with_borrow_mut(|state| {
        let step = match &mut state.run {
            Some(run) => run.step(),
            None => Err(IoError::misuse("nothing was opened")),
        };
        match step {
            Ok(CallerStep::Fetch(wanted)) => {
                state.buffer.clear();
                for one in wanted {
                    let (first, length) = match &one.ask {
                        Ask::Whole => ("-".to_owned(), "-".to_owned()),
                        Ask::Prefix(length) => ("0".to_owned(), length.to_string()),
                        Ask::Suffix(length) => ("-".to_owned(), length.to_string()),
                        Ask::Range(range) => (
                            range.start.to_string(),
                            range.end.saturating_sub(range.start).to_string(),
                        ),
                    };
                    let line = format!("{} {first} {length} {}\n", one.id, one.key);
                    state.buffer.extend_from_slice(line.as_bytes());
                }
                i32::try_from(state.buffer.len()).unwrap_or(i32::MAX)
            }
            Ok(CallerStep::Done(Ok(positions))) => {
                state.positions = positions;
                state.run = None;
                0
            }
            Ok(CallerStep::Done(Err(error))) => state.fail(error.as_ref()),
            Err(error) => state.fail(&error),
        }
    })
}

/// Answers a request by the bytes in the buffer. Returns 0, or a negative number for an error.
#[unsafe(no_mangle)]
pub extern "C" fn answer(id: u32, start: f64, size: f64) -> i32 {
    STATE.with_borrow_mut(|state| {
        let bytes = std::mem::take(&mut state.buffer);
        let object = (size >= 0.0).then(|| Object::new(bytes, start as u64, size as u64));
        let answered = match &mut state.run {
            Some(run) => run.answer(u64::from(id), Ok(object)),
            None => Err(IoError::misuse("nothing was opened")),
        };
        match answered {
            Ok(()) => 0,
            Err(error) => state.fail(&error),
        }
    })
}

/// Rows of the result.
#[unsafe(no_mangle)]
pub extern "C" fn rows() -> u32 {
    STATE.with_borrow(|state| u32::try_from(state.positions.len() / 3).unwrap_or(u32::MAX))
}

/// The address of the result.
#[unsafe(no_mangle)]
pub extern "C" fn positions() -> u32 {
    STATE.with_borrow(|state| state.positions.as_ptr() as u32)
}

impl State {
    /// Puts an error into the buffer; returns its length, negative.
    fn fail(&mut self, error: &dyn std::error::Error) -> i32 {
        self.run = None;
        self.buffer = error.to_string().into_bytes();
        -i32::try_from(self.buffer.len()).unwrap_or(i32::MAX).max(1)
    }
}

/// The positions inside a box, three numbers a row; axes that a store lacks are 0.
async fn read(bbox: String, options: OpenOptions) -> Result<Vec<f32>, Failure> {
    let store = Store::open_with("page", options).await?;
    let bbox = match bbox.is_empty() {
        true => None,
        false => Some(BBox::parse(&bbox)?),
    };
    let asked = Query {
        bbox,
        outputs: Outputs {
            links: false,
            objects: false,
            ..Outputs::default()
        },
        ..Query::default()
    };
    let mut answer = query(&store, asked).await?;
    let mut positions = Vec::new();
    while let Some((table, batch)) = answer.next().await? {
        if table == Table::Vertices {
            append(&batch, &mut positions)?;
        }
    }
    Ok(positions)
}

fn append(batch: &RecordBatch, out: &mut Vec<f32>) -> Result<(), Failure> {
    let column = batch.column_by_name("position").ok_or("no positions")?;
    let lists = column.as_fixed_size_list_opt().ok_or("no lists")?;
    let axes = usize::try_from(lists.value_length())?;
    let values = lists.values();
    let values: Vec<f32> = match values.as_primitive_opt::<Float32Type>() {
        Some(values) => values.values().to_vec(),
        None => {
            let values = values.as_primitive_opt::<Float64Type>();
            let values = values.ok_or("positions of another type")?;
            values.values().iter().map(|value| *value as f32).collect()
        }
    };
    for row in values.chunks_exact(axes) {
        out.extend((0..3).map(|axis| row.get(axis).copied().unwrap_or(0.0)));
    }
    Ok(())
}
