//! Fuzzer binary of `zvf_fuzz::blosc_chunk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::blosc_chunk(data));
