//! The only `unsafe` code of this package: two functions that exchange memory with Python by address.
//!
//! PyO3 has no safe way to implement the buffer protocol, and an Arrow capsule is an address by definition. The crate `pyo3-arrow`
//! implements both, but depends on NumPy's C interface, time zones, and other features of crates that the workspace compiles already,
//! all of which would be compiled a second time. The functions are called once for each column or stream, never for each row.

use std::ffi::{CStr, c_int};

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_buffer::Buffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::misuse;

/// Name of a stream capsule in the Arrow PyCapsule interface.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// An Arrow buffer that NumPy views without a copy. Views are read-only, because other tables may share the buffer.
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
    /// Only the interpreter may call this method, with a view that it owns and that is valid for writing.
    #[expect(unsafe_code, reason = "the buffer protocol passes an address")]
    unsafe fn __getbuffer__(
        slf: PyRef<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err(
                "found a null pointer, expected a view",
            ));
        }
        let bytes = slf.0.as_slice();
        let length = ffi::Py_ssize_t::try_from(bytes.len())
            .map_err(|_| PyBufferError::new_err("found more bytes than a view holds"))?;
        // SAFETY: `view` is valid for writing (above). The address is that of `length` bytes, which live as long as this object:
        // it is frozen, and a `Buffer` never moves its bytes. `PyBuffer_FillInfo` stores a reference to the object in the view, so
        // the object outlives the view. The flag for read-only buffers (1) makes it refuse writable views.
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

/// Takes the stream out of a capsule, and leaves an empty one in its place.
///
/// # Errors
/// Misuse: a capsule with another name; a stream that was taken out before, or that returns no schema.
#[expect(unsafe_code, reason = "an Arrow capsule holds an address")]
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
    // empty one in its place, so that it is released once. The producer is responsible for the functions of the stream.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(place.as_ptr()) };
    ArrowArrayStreamReader::try_new(stream)
        .map_err(|error| misuse(format!("expected a stream that was not read yet: {error}")))
}
