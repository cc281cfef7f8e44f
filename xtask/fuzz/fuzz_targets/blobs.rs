//! Fuzzer binary of `zvf_fuzz::blobs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::blobs(data));
