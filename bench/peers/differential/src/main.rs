//! The workloads of `bench datalog` in differential dataflow, with one worker.
//!
//! `PROGRAM KEYS FOLDER` reads the relations of a program from CSV files in a folder and prints the
//! number of tuples at the fixed point, the CPU seconds to reach it, and those including the
//! reading. If the folder has changes of the edges (`off.csv`, `on.csv`), it continues: all of them
//! at once, then each edge of `single.csv` inserted and deleted by itself. It prints the tuples and
//! CPU seconds of the first, then the tuples and the mean CPU seconds of inserting and deleting an
//! edge.

mod dataflows;
mod facts;
mod run;

use facts::Folder;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, keys, folder] = &arguments[..] else { panic!("PROGRAM KEYS FOLDER") };
    let folder = Folder::new(folder);
    match (program.as_str(), keys.as_str()) {
        ("closure", "near") => run::closure::<i32>(&folder, |row| (row[0], row[1])),
        ("closure", "far") => run::closure::<i64>(&folder, |row| (row[0], row[1])),
        ("closure", "text") => {
            run::closure::<String>(&folder, |row| (row[0].clone(), row[1].clone()));
        }
        ("closure-3", "near") => {
            run::closure_of::<i32, (i32, i32)>(&folder, |row| ((row[0], row[1]), (row[0], row[2])));
        }
        ("closure-4", "near") => run::closure_of::<i32, (i32, i32, i32)>(&folder, |row| {
            ((row[0], row[1], row[2]), (row[0], row[1], row[3]))
        }),
        ("same-generation", "near") => run::same_generation(&folder),
        ("points-to", "near") => run::points_to(&folder),
        ("shortest", "near") => run::shortest(&folder),
        other => panic!("no program {other:?}"),
    }
}
