//! Fuzzer binary of `zvf_fuzz::tet_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::tet_file(data));
