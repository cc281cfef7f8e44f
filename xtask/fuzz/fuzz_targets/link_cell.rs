//! Fuzzer binary of `zvf_fuzz::link_cell`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::link_cell(data));
