//! Thousands of histories of one account: messages that come twice, late, in any order and under
//! new ids, sends that fail in every way, lost connections, a disk that fails, crashes, a clock
//! that is set, and a machine that sleeps.

mod oracle;
mod platform;
mod rng;
mod world;

use world::World;

/// Tells which history it was when it fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the history that failed is SCV_SIMULATION_SEED={}", self.0);
        }
    }
}

/// One history when `SCV_SIMULATION_SEED` names it; otherwise always the same ones.
fn histories(seeds: std::ops::Range<u64>) {
    if let Ok(seed) = std::env::var("SCV_SIMULATION_SEED") {
        return World::new(seed.parse().expect("a number")).run();
    }
    for seed in seeds {
        let _seed = Seed(seed);
        World::new(seed).run();
    }
}

/// Ten thousand in all, in four tests that can run beside each other.
macro_rules! histories {
    ($($name:ident: $seeds:expr;)*) => {
        $(#[test]
        fn $name() {
            histories($seeds);
        })*
    };
}

histories! {
    nothing_is_lost_or_done_twice_1: 0..2_500;
    nothing_is_lost_or_done_twice_2: 2_500..5_000;
    nothing_is_lost_or_done_twice_3: 5_000..7_500;
    nothing_is_lost_or_done_twice_4: 7_500..10_000;
}
