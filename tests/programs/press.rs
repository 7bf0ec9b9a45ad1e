// SPDX-License-Identifier: BSD-2-Clause
//! A printing press in Rust: press [--seconds S]. Each round sets type (computes, in a method),
//! dries the ink (sleeps, in a method of a trait) and prints (computes, in a generic
//! function). A second thread dries paper (computes), independently. The last line is
//! {"rounds": N, "set": [WITHOUT, ALL], "dry": [WITHOUT, ALL], "print": [WITHOUT, ALL]}: shares of the
//! time of the rounds, without and with what the thread waited for a CPU meanwhile.

use std::ptr::read_volatile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static ENDING: AtomicBool = AtomicBool::new(false);

/// A value that the compiler does not know.
fn opaque(value: u64) -> u64 {
    unsafe { read_volatile(&value) }
}

fn compute(mut seed: u64, loops: u32) -> u64 {
    for _ in 0..loops {
        seed = opaque(seed.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
    seed
}

struct Type {
    lines: u64,
}

impl Type {
    #[inline(never)]
    fn set(&mut self) {
        self.lines = compute(self.lines, 1_500_000);
    }
}

trait Dry {
    fn dry(&self);
}

struct Ink;

impl Dry for Ink {
    #[inline(never)]
    fn dry(&self) {
        thread::sleep(Duration::from_micros(800));
        opaque(0); // no tail call: the frame stays
    }
}

struct Paper;

impl Dry for Paper {
    #[inline(never)]
    fn dry(&self) {
        compute(1, 1000);
    }
}

#[inline(never)]
fn print<T: Into<u64>>(page: T) -> u64 {
    compute(page.into(), 400_000)
}

#[inline(never)]
fn printed(rounds: u64) -> u64 {
    opaque(rounds) + 1
}

/// The time that this thread has waited for a CPU.
fn run_queue() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1);
    Duration::from_nanos(waited.and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// The time that a function took, and the part of it that it waited for a CPU.
#[derive(Default)]
struct Spent {
    all: Duration,
    run_queue: Duration,
}

impl Spent {
    fn add<F: FnMut()>(&mut self, mut work: F) {
        let waited = run_queue();
        let begin = Instant::now();
        work();
        self.all += begin.elapsed();
        self.run_queue += run_queue() - waited;
    }

    fn shares(&self, whole: f64) -> String {
        let all = self.all.as_secs_f64();
        let without = all - self.run_queue.as_secs_f64();
        format!("[{:.4}, {:.4}]", without / whole, all / whole)
    }
}

fn main() {
    let seconds = std::env::args()
        .nth(2)
        .map_or(2, |text| text.parse().unwrap());
    let beside = thread::spawn(|| {
        while !ENDING.load(Ordering::Relaxed) {
            Paper.dry();
        }
    });
    let (mut set, mut dry, mut print_time) = (Spent::default(), Spent::default(), Spent::default());
    let mut letters = Type { lines: 1 };
    let mut rounds = 0;
    let begin = Instant::now();

    while begin.elapsed() < Duration::from_secs(seconds) {
        set.add(|| letters.set());
        dry.add(|| Ink.dry());
        print_time.add(|| {
            print(7u32);
        });
        rounds = printed(rounds);
    }
    let all = begin.elapsed().as_secs_f64();
    ENDING.store(true, Ordering::Relaxed);
    beside.join().unwrap();
    println!(
        "{{\"rounds\": {}, \"set\": {}, \"dry\": {}, \"print\": {}}}",
        rounds,
        set.shares(all),
        dry.shares(all),
        print_time.shares(all)
    );
}
