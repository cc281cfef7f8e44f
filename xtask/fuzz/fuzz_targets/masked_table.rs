//! Fuzzer binary of `zvf_fuzz::masked_table`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::masked_table(data));
