//! Fuzzer binary of `zvf_fuzz::tet_writer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::tet_writer(data));
