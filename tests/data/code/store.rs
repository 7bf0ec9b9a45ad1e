// SPDX-License-Identifier: BSD-2-Clause
// What Rust adds: traits, closures, much of the library inlined.
use std::collections::HashMap;

struct Store {
    rows: HashMap<String, i64>,
}

impl Store {
    #[inline(never)]
    fn put(&mut self, key: &str, value: i64) {
        self.rows.insert(key.to_string(), value);
    }

    fn total(&self) -> i64 {
        self.rows.values().map(|v| v * 2).sum()
    }
}

trait Area {
    fn area(&self) -> f64;
}

struct Square(f64);

impl Area for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

fn main() {
    let mut store = Store { rows: HashMap::new() };
    let mut areas: Vec<f64> = Vec::new();

    for (i, name) in std::env::args().enumerate() {
        store.put(&name, i as i64);
        areas.push(Square(i as f64).area());
    }
    areas.sort_by(|a, b| b.partial_cmp(a).unwrap());
    println!("{} {:?}", store.total(), areas);
}
