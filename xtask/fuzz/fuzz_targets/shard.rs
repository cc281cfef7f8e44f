//! Fuzzer binary of `zvf_fuzz::shard`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::shard(data));
