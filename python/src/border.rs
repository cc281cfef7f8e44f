//! The two places where memory crosses the border to Python by its address: the only `unsafe` code of this package.
//!
//! Neither has a safe form. PyO3 has no safe way to offer a buffer, and a capsule of Arrow is an address by definition. The package
//! `pyo3-arrow` has both; it also brings NumPy's C interface, time zones and other features of crates that the workspace compiles
//! already, which would all be compiled a second time. Both are called once a column or once a stream, never once a row.

use std::ffi::{CStr, c_int};

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_buffer::Buffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::misuse;

/// Name of a capsule of a stream, as the Arrow PyCapsule interface has it.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// Bytes of Arrow that NumPy looks at without a copy. Read-only: other tables may share them.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) Buffer);

#[pymethods]
impl Bytes {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Fills in a view of the bytes.
    ///
    /// # Safety
    /// The interpreter calls it, with a view that is its own and valid for writing.
    #[expect(unsafe_code, reason = "the buffer protocol hands out an address")]
    unsafe fn __getbuffer__(
        slf: PyRef<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("found no view to fill in"));
        }
        let bytes = slf.0.as_slice();
        let length = ffi::Py_ssize_t::try_from(bytes.len())
            .map_err(|_| PyBufferError::new_err("found more bytes than a view holds"))?;
        // SAFETY: `view` is the interpreter's (above). The address is that of `length` bytes which live as long as this object does:
        // it is frozen and a `Buffer` never moves its bytes. `PyBuffer_FillInfo` stores a reference to the object in the view, so it
        // outlives the view. Read-only (1), it refuses a view for writing.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                bytes.as_ptr().cast_mut().cast(),
                length,
                1,
                flags,
            )
        };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// Takes the stream out of a capsule, which keeps an empty one.
///
/// # Errors
/// Misuse: a capsule of something else, or one whose stream was taken out before.
#[expect(unsafe_code, reason = "a capsule of Arrow is an address")]
pub(crate) fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowArrayStreamReader> {
    let place = capsule
        .pointer_checked(Some(STREAM))
        .map_err(|error| {
            misuse(format!(
                "expected a capsule named arrow_array_stream: {error}"
            ))
        })?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds the address of a stream that lives as long as the capsule, which the caller holds, and no
    // other thread accesses it meanwhile, since this thread is attached to the interpreter. `from_raw` moves the stream out and puts an
    // empty one in its place, so that it is released once. What the stream's own functions do is the producer's promise.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(place.as_ptr()) };
    ArrowArrayStreamReader::try_new(stream)
        .map_err(|error| misuse(format!("expected a stream that was not read yet: {error}")))
}
