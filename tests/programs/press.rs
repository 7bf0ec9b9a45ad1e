// SPDX-License-Identifier: BSD-2-Clause
//! A printing press in Rust: press [--seconds S]. Each round sets type (computes, in a method),
//! lets the ink dry (sleeps, in a method of a trait) and prints (computes, in a generic
//! function). A second thread dries paper beside it (computes), and matters to nobody. The last line is
//! {"set": SHARE, "dry": SHARE, "print": SHARE, "rounds": N}: of the time of the rounds.

use std::ptr::read_volatile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static ENDING: AtomicBool = AtomicBool::new(false);

/// What a compiler does not know the value of.
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
        opaque(0); // so that the call is not the last thing done, and the frame stays
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

fn timed<F: FnMut()>(total: &mut Duration, mut work: F) {
    let begin = Instant::now();
    work();
    *total += begin.elapsed();
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
    let (mut set, mut dry, mut print_time) = Default::default();
    let mut letters = Type { lines: 1 };
    let mut rounds = 0;
    let begin = Instant::now();

    while begin.elapsed() < Duration::from_secs(seconds) {
        timed(&mut set, || letters.set());
        timed(&mut dry, || Ink.dry());
        timed(&mut print_time, || {
            print(7u32);
        });
        rounds = printed(rounds);
    }
    let all = begin.elapsed().as_secs_f64();
    ENDING.store(true, Ordering::Relaxed);
    beside.join().unwrap();
    println!(
        "{{\"set\": {:.4}, \"dry\": {:.4}, \"print\": {:.4}, \"rounds\": {}}}",
        set.as_secs_f64() / all,
        dry.as_secs_f64() / all,
        print_time.as_secs_f64() / all,
        rounds
    );
}
