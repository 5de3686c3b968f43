//! Programs that switch to another version while they run: existing components finish on the code
//! they have, new ones get the new code; on both engines.

use tidemill_cl::compile::{Checkpoints, Choices, compile, compile_next};
use tidemill_cl::interpret::{interpret, interpret_next};
use tidemill_cl::ir;
use tidemill_cl::ir::succession::{Succession, merge};
use tidemill_proc::console::{Console, Lines};
use tidemill_proc::program::Executable;
use tidemill_proc::{Options, Worker};

use crate::engines::compare::{self, Log, Program};

const CHOICES: Choices =
    Choices { checkpoints: Checkpoints::Count, several: false, listing: false, observed: false };

#[derive(Clone, Copy, Debug)]
enum Engine {
    Compiled,
    Interpreted,
}

fn load(source: &str) -> Program {
    compare::load(source).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// A run that goes from version to version.
struct Versions {
    engine: Engine,
    ir: ir::Program,
    made: Executable,
    worker: Box<Worker>,
    log: Log,
}

impl Versions {
    fn start(engine: Engine, source: &str) -> Versions {
        let Program { sources, ir } = load(source);
        let made = match engine {
            Engine::Compiled => {
                compile(&ir, &sources, 1, &CHOICES).expect("code can be made").program
            }
            Engine::Interpreted => interpret(&ir, &sources, 1, true),
        };
        let log = Log::default();
        let console = Console::new(Box::new(log.clone()), Lines::Each);
        let reports = Box::new(log.clone());
        let options = Options { console, reports, ..Options::quiet() };
        let mut worker = Worker::new(made.clone(), options);
        worker.start().expect("there is memory");
        Versions { engine, ir, made, worker, log }
    }

    /// Continues with another version.
    fn replace(&mut self, source: &str) -> Succession {
        let Program { sources, ir: next } = load(source);
        let succession = merge(&self.ir, &next);
        assert_eq!(ir::verify::verify(&succession.program), Ok(()));
        assert!(!succession.begins_otherwise, "the entry component is the same");
        let made = match self.engine {
            Engine::Compiled => compile_next(&self.made, &succession, (&sources, 1), &CHOICES)
                .expect("code can be made"),
            Engine::Interpreted => interpret_next(&self.made, &succession, (&sources, 1), true),
        };
        self.worker.go_on(&made).expect("it goes on from what runs");
        (self.ir, self.made) = (succession.program.clone(), made);
        succession
    }

    /// Runs until `lines` lines have been written.
    fn run_to(&mut self, lines: usize) {
        for _ in 0..100_000 {
            if self.log.text().matches('\n').count() >= lines || self.worker.ended().is_some() {
                return;
            }
            self.worker.run(5);
        }
        panic!("{:?}: after {} it writes no more", self.engine, self.log.text());
    }

    fn end(mut self) -> String {
        for _ in 0..100_000 {
            if self.worker.ended().is_some() {
                break;
            }
            self.worker.run(100);
        }
        let ended = format!("{:?}", self.worker.ended());
        self.worker.clear();
        let counts = self.worker.counts();
        let alive = [counts.components, counts.processes, counts.channels, counts.texts];
        assert_eq!(alive.map(|count| count.alive), [0; 4], "{:?}", self.engine);
        format!("{}{ended}", self.log.text())
    }
}

/// Main keeps a component and queries it and a new one in each round.
fn program(declared: &str, answer: &str, more: &str) -> String {
    format!(
        "INTERFACE Ask; {{ IN Question OUT Answer(t: TEXT) }} END Ask;\n\
         {declared}\n\
         COMPONENT Oracle OFFERS Ask;\n\
           VARIABLE seen[i: INTEGER]: TEXT {{ARRAY}}; count: INTEGER; by[name: TEXT]: INTEGER;\n\
           {more}\n\
           IMPLEMENTATION Ask;\n\
             BEGIN {{EXCLUSIVE}} WHILE ?Question DO ?Question; {answer} END\n\
           END Ask;\n\
         END Oracle;\n\
         COMPONENT {{ENTRYPOINT}} Main;\n\
           VARIABLE kept, made: Oracle; other: ANY; t: TEXT; i: INTEGER;\n\
           BEGIN\n\
             NEW(kept);\n\
             FOR i := 1 TO 6 DO\n\
               NEW(made);\n\
               kept!Question; kept?Answer(t); WRITE(t); WRITE(\" \");\n\
               made!Question; made?Answer(t); WRITE(t);\n\
               MOVE(made, other);\n\
               IF other IS Oracle THEN WRITE(\" oracle\") END;\n\
               DELETE(other);\n\
               WRITELINE\n\
             END\n\
         END Main;\n"
    )
}

#[test]
fn new_components_have_the_new_code_and_old_ones_finish_on_theirs() {
    for engine in [Engine::Compiled, Engine::Interpreted] {
        let first = program("", "INC(count); !Answer(\"first\")", "");
        let mut run = Versions::start(engine, &first);
        run.run_to(2);
        // Another layout, with a procedure, texts and a collection that the first has not.
        let procedure = "PROCEDURE Say(n: INTEGER): TEXT; BEGIN RETURN TEXT(20 + n) END Say;";
        let second = program(
            "(* Moves all places in the source. *)\n\n",
            "IF ~EXISTS(by[\"asked\"]) THEN by[\"asked\"] := 0 END;\n\
             INC(by[\"asked\"]); NEW(seen, 2); seen[1] := Say(by[\"asked\"]); !Answer(seen[1])",
            procedure,
        );
        let succession = run.replace(&second);
        assert_eq!(succession.successors.len(), 1, "only the oracle has changed");
        run.run_to(4);
        run.replace(&program("", "!Answer(\"third\")", ""));
        assert_eq!(
            run.end(),
            "first first oracle\nfirst first oracle\nfirst first oracle\n\
             first 21 oracle\nfirst 21 oracle\n\
             first third oracle\nSome(Finished)",
            "{engine:?}"
        );
    }
}

#[test]
fn what_is_the_same_is_not_made_again() {
    let source = program("", "INC(count); !Answer(\"first\")", "");
    let first = load(&source).ir;
    let moved = format!("(* Another comment. *)\n\n{}", source.replace("  ", "\n"));
    let succession = merge(&first, &load(&moved).ir);
    assert_eq!(succession.program, first);
    assert!(succession.successors.is_empty() && succession.replaced.is_empty());
}

/// A constant that is equal as a number, and is another one.
#[test]
fn constants_are_compared_bit_by_bit() {
    let source = |zero: &str| {
        format!(
            "COMPONENT Zero; VARIABLE x: REAL; BEGIN x := {zero}; WRITE(1.0 / x) END Zero;\n\
             COMPONENT {{ENTRYPOINT}} Main; VARIABLE z: Zero; BEGIN NEW(z) END Main;\n"
        )
    };
    let (one, other) = (load(&source("0.0")).ir, load(&source("0.00")).ir);
    assert!(merge(&one, &other).successors.is_empty());
    let third = load(&source("1.0E-300")).ir;
    assert_eq!(merge(&one, &third).successors.len(), 1);
}

#[test]
fn a_type_changes_with_the_interfaces_that_it_names() {
    let source = |message: &str| {
        format!(
            "INTERFACE Tell; {{ IN {message} }} END Tell;\n\
             COMPONENT Inner OFFERS Tell;\n\
               IMPLEMENTATION Tell; BEGIN WHILE ?{message} DO ?{message} END END Tell;\n\
             END Inner;\n\
             COMPONENT Outer; VARIABLE inner: Inner; BEGIN NEW(inner) END Outer;\n\
             COMPONENT {{ENTRYPOINT}} Main; VARIABLE outer: Outer; BEGIN NEW(outer) END Main;\n"
        )
    };
    let (one, other) = (load(&source("This")).ir, load(&source("That")).ir);
    let succession = merge(&one, &other);
    let names = |id: ir::ComponentId| succession.program.components[id].name.as_str();
    let pairs = succession.successors.iter().map(|(from, to)| (names(*from), names(*to)));
    // Outer offers and requires the same, so it has a successor; Inner does not.
    assert_eq!(pairs.collect::<Vec<_>>(), [("Outer", "Outer")]);
    assert_eq!(succession.replaced.len(), 1);
    assert!(!succession.begins_otherwise);
}

#[test]
fn another_entry_component_is_noticed() {
    let first = program("", "!Answer(\"first\")", "");
    let other = first.replace("1 TO 6", "1 TO 7");
    assert!(merge(&load(&first).ir, &load(&other).ir).begins_otherwise);
}
