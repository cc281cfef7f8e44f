//! Fuzzer binary of `zvf_fuzz::cross_cells`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::cross_cells(data));
