//! System tables: rules read the state of the run, and nothing is done unless a rule reads it.

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Engine, Listen, RunOptions};
use tidemill::sim::SimOptions;
use tidemill::tape::taped;

fn load(texts: &[(&str, &str)]) -> Program {
    let program = Program::of_texts(texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    program
}

#[test]
fn rules_read_the_apps_links_and_components_of_their_run() {
    let rules = "
        a1 app(@N, App, Type, State) :- sys::app(@N, App, Type, State, _, _, _).
        a2 moved(@N, From, To, Packets) :- sys::link(@N, From, To, _, Packets, _, _), Packets > 0.
        a3 part(@N, Path, Type) :- sys::component(@N, Path, Type, _, _, _).
        watchmod(app, \"c\"). watchmod(moved, \"c\"). watchmod(part, \"c\").";
    let graph = "src :: Source { packets: 7 }\nend :: Sink\nsrc -> end";
    let component = "COMPONENT Main REQUIRES SystemTime;
        BEGIN SystemTime!Wait(1500); SystemTime?Passed END Main;";
    let program = load(&[("a.olg", rules), ("a.flow", graph), ("a.com", component)]);
    let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    assert_eq!(notes.text(), "");
    assert!(report.is_well());
    let text = data.text();
    for line in [
        ", \"src\", \"Source\", \"running\")",
        ", \"end\", \"Sink\", \"running\")",
        ", \"src.output\", \"end.src\", 7)",
        ", \"Main\", \"Main\")",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn rules_read_the_time_that_apps_take() {
    let graph = "src :: Source { packets: 1000000000 }\nend :: Sink\nsrc -> end";
    let rules = "t1 spent(@N, App, Ns > 1000000, Ns < 4000000000) :-
            sys::app(@N, App, _, _, _, Ns, _), Ns != null.
        watchmod(spent, \"c\").";
    let program = load(&[("a.olg", rules), ("a.flow", graph)]);
    let mut options = RunOptions { end_ns: Some(2_500_000_000), ..RunOptions::default() };
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, data, _) = taped();
    program.run(options, console).expect("it runs");
    for app in ["src", "end"] {
        let line = format!("\"{app}\", true, true)");
        assert!(data.text().contains(&line), "{line} in\n{}", data.text());
    }
}

/// The output of a simulation, and its summary.
fn simulated(rules: &str) -> (String, tidemill::summary::Summary) {
    let program = load(&[("a.olg", rules)]);
    let options = SimOptions { nodes: 2, end_ns: Some(5_500_000_000), ..SimOptions::default() };
    let (console, data, _) = taped();
    let report = program.sim(options, console).expect("it runs");
    (data.text(), report.nodes.expect("nodes"))
}

#[test]
fn rules_read_their_own_rules_and_tables_once_a_second() {
    let rules = "
        materialize(seen, infinity, infinity, keys(1, 2)).
        r1 seen(@N, E) :- periodic(@N, E, 0.25, 18).
        r2 report(@N, Rows, Inserted) :- sys::table(@N, \"seen\", Rows, Bytes, Inserted, 0, 0).
        r3 fired(@N, Count) :- sys::rule(@N, \"r1\", Count, _, _).
        watchmod(report, \"c\"). watchmod(fired, \"c\").";
    let (text, summary) = simulated(rules);
    let reports = text.lines().filter(|line| line.contains(" n0:1 c r2 report(")).count();
    assert!((5..=7).contains(&reports), "{reports} in\n{text}");
    assert!(text.contains("report(\"n0:1\", 18, 18)"), "{text}");
    assert!(text.contains("fired(\"n1:1\", 18)"), "{text}");
    assert_eq!(simulated(rules), (text, summary));
}

/// The rows that have come and gone explain those that are there, of views too; a row that is
/// inserted again comes once.
#[test]
fn tables_count_what_comes_and_goes() {
    let rules = "
        materialize(a, infinity, infinity, keys(1, 2)).
        materialize(b, infinity, infinity, keys(1, 2)).
        materialize(last, infinity, 1, keys(1, 2)).
        materialize(brief, 1.5, infinity, keys(1, 2)).
        r0 a(@N, 0) :- periodic(@N, E, 0.3, 3).
        r1 a(@N, 1) :- periodic(@N, E, 0.5, 2).
        r1b a(@N, 2) :- periodic(@N, E, 0.7, 2).
        r2 delete a(@N, 0) :- periodic(@N, E, 3.6, 1).
        r3 last(@N, C) :- a(@N, C).
        r4 brief(@N, 7) :- periodic(@N, E, 0.1, 1).
        v1 b(@N, X + 10) :- a(@N, X).
        r5 report(@N, T, Rows, Inserted, Deleted, Expired) :-
            sys::table(@N, T, Rows, _, Inserted, Deleted, Expired).
        watchmod(report, \"c\").";
    let (text, _) = simulated(rules);
    let last = |table: &str| {
        let named = format!("report(\"n0:1\", \"{table}\", ");
        let found = text.lines().rev().find_map(|line| line.split_once(&named));
        found.unwrap_or_else(|| panic!("no {table} in {text}")).1.to_owned()
    };
    assert_eq!(last("a"), "2, 3, 1, 0)");
    assert_eq!(last("b"), "2, 3, 1, 0)");
    assert_eq!(last("last"), "1, 3, 2, 0)");
    assert_eq!(last("brief"), "0, 1, 0, 1)");
}

#[test]
fn nothing_is_done_for_tables_that_no_rule_reads() {
    let ticks = "materialize(seen, infinity, 1, keys(1)).
        r1 seen(@N, E) :- periodic(@N, E, 0.25, 20).";
    let (_, plain) = simulated(ticks);
    assert_eq!(plain.turns, 40);
    let (_, read) = simulated(&format!("{ticks} r2 x(@N) :- sys::program(@N, _, _, _)."));
    // The row of each node is inserted once, and nothing more.
    assert_eq!(read.turns, 40 + 2 + 2, "{read}");
}

/// A simulation that reads a system table, and has nothing else to do, ends.
#[test]
fn a_simulation_without_an_end_ends() {
    let rules = "r1 x(@N, R) :- sys::rule(@N, R, _, _, _). watchmod(x, \"c\").";
    let program = load(&[("a.olg", rules)]);
    let report = program.sim(SimOptions::default(), Console::silent());
    assert!(report.expect("it runs").is_well());
}

#[test]
fn rules_read_the_channels_and_pores_of_components() {
    let rules = "
        c1 channel(@N, From, To, I, Queued) :- sys::channel(@N, From, To, I, Queued, _).
        p1 pore(@N, Kind, Owner, R, W) :- sys::pore(@N, _, Kind, Owner, R, W).
        watchmod(channel, \"c\"). watchmod(pore, \"c\").";
    let components = "
        INTERFACE Work; { IN Put(n: INTEGER) } END Work;
        INTERFACE Gate; IN Open END Gate;
        COMPONENT Server OFFERS Work, Gate;
          VARIABLE isOpen: BOOLEAN;
          IMPLEMENTATION Work; VARIABLE n: INTEGER;
          BEGIN {SHARED} AWAIT(isOpen); WHILE ?Put DO ?Put(n) END END Work;
          IMPLEMENTATION Gate; BEGIN {EXCLUSIVE} ?Open; isOpen := TRUE END Gate;
        END Server;
        COMPONENT {ENTRYPOINT} Main REQUIRES SystemTime, Pore;
          VARIABLE server: Server; size: INTEGER; why: TEXT;
        BEGIN
          NEW(server);
          Work(server)!Put(1); Work(server)!Put(2); Work(server)!Put(3);
          Pore!Open(\"io_uring\", \"pore.bin\");
          IF Pore?Opened THEN Pore?Opened(size) ELSE Pore?Failed(why); WRITE(why) END;
          SystemTime!Wait(1500); SystemTime?Passed;
          Gate(server)!Open
        END Main;";
    let program = load(&[("a.olg", rules), ("a.com", components)]);
    let root = std::env::temp_dir().join(format!("tidemill-system-{}", std::process::id()));
    std::fs::create_dir_all(&root).expect("a folder");
    let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    options.components.root = Some(root.clone());
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    std::fs::remove_dir_all(&root).expect("it is there");
    assert_eq!(notes.text(), "");
    assert!(report.is_well());
    let text = data.text();
    let channel = ", \"Main\", \"Main/server\", \"Work\", 3)";
    assert!(text.contains(channel), "{channel} in\n{text}");
    let pore = ", \"io_uring\", \"Main\", ";
    assert!(text.contains(pore), "{pore} in\n{text}");
}

/// Instances of a stage have one type and no owner, and processes have variables of one name.
#[test]
fn components_and_processes_of_one_name_have_rows_of_their_own() {
    let rules = "
        stage(\"cl:Outer\", ask, answer, keys(2)).
        a1 ask(@N, \"a\") :- periodic(@N, E, 0.01, 1).
        a2 ask(@N, \"b\") :- periodic(@N, E, 0.01, 1).
        p1 process(@N, Path, Process) :- sys::process(@N, Path, Process, _, _, _).
        c1 part(@N, Path, Type) :- sys::component(@N, Path, Type, _, _, _).
        watchmod(process, \"c\"). watchmod(part, \"c\"). watch(answer).";
    let components = "
        INTERFACE Gate; { IN Open OUT Opened } END Gate;
        COMPONENT Inner OFFERS Gate;
          IMPLEMENTATION Gate; BEGIN WHILE ?Open DO ?Open; !Opened END END Gate;
        END Inner;
        INTERFACE Asking; { IN Ask(key: TEXT) { OUT Answer(key: TEXT) } OUT Done } END Asking;
        COMPONENT Outer OFFERS Asking;
          VARIABLE own: Inner;
          IMPLEMENTATION Asking; VARIABLE key: TEXT; local: Inner;
          BEGIN
            NEW(local); local!Open; local?Opened;
            WHILE ?Ask DO ?Ask(key); !Done END
          END Asking;
        BEGIN NEW(own); own!Open; own?Opened
        END Outer;";
    let program = load(&[("a.olg", rules), ("a.com", components)]);
    let mut options =
        RunOptions { seed: Some(1), end_ns: Some(1_600_000_000), ..RunOptions::default() };
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, data, notes) = taped();
    program.run(options, console).expect("it runs");
    assert_eq!(notes.text(), "");
    let text = data.text();
    let rows = |rule: &str| {
        let of_rule = text.lines().filter(|line| line.contains(rule));
        let mut rows: Vec<&str> =
            of_rule.filter_map(|line| line.split_once(", \"")).map(|it| it.1).collect();
        rows.sort_unstable();
        rows
    };
    // The two instances, and of each the component that it owns, and the one of its process.
    let parts = rows(" c1 part(");
    let of_type =
        |name: &str| parts.iter().filter(|row| row.ends_with(&format!("\"{name}\")"))).count();
    assert_eq!((of_type("Outer"), of_type("Inner")), (2, 4), "{text}");
    let is_numbered = |row: &&str| row.starts_with("Outer#");
    assert!(parts.iter().all(is_numbered), "{text}");
    assert_eq!(parts.iter().filter(|row| row.contains("/own\"")).count(), 2, "{text}");
    assert_eq!(parts.iter().filter(|row| row.contains("/local#")).count(), 2, "{text}");
    // A server process for the stage, and for each communication that is open.
    assert_eq!(rows(" p1 process(").len(), 4, "{text}");
}

/// Two clients of a server: one has sent three messages, of which the server has taken two, and one
/// to the system; the other has had one answered.
const CLIENTS: &str = "
    INTERFACE Work; { IN Put(n: INTEGER) | IN Ask OUT Sum(n: INTEGER) } END Work;
    COMPONENT Server OFFERS Work;
      IMPLEMENTATION Work; VARIABLE n, total: INTEGER;
      BEGIN
        REPEAT
          IF ?Put THEN ?Put(n); INC(total, n) ELSE ?Ask; !Sum(total) END
        UNTIL n = 2;
        PASSIVATE(100)
      END Work;
    END Server;
    COMPONENT Second REQUIRES Work;
      VARIABLE n: INTEGER;
    ACTIVITY {EXCLUSIVE} Work!Ask; Work?Sum(n); PASSIVATE(100)
    END Second;
    COMPONENT {ENTRYPOINT} Main REQUIRES SystemTime;
      VARIABLE server: Server; second: Second;
    BEGIN
      NEW(server); NEW(second); CONNECT(Work(second), server);
      Work(server)!Put(1); Work(server)!Put(2); Work(server)!Put(3);
      SystemTime!Wait(2500); SystemTime?Passed; HALT(0)
    END Main;";

#[test]
fn rules_read_the_messages_of_processes_and_channels() {
    let rules = "
        p1 process(@N, C, P, M, Since <= f_now()) :- sys::process(@N, C, P, _, Since, M).
        c1 channel(@N, From, To, Queued, M) :- sys::channel(@N, From, To, \"Work\", Queued, M).
        watchmod(process, \"c\"). watchmod(channel, \"c\").";
    for engine in [Engine::Native, Engine::Interpreter] {
        let program = load(&[("a.olg", rules), ("a.com", CLIENTS)]);
        let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
        options.nodes.listen = Listen::Address("localhost:0".to_owned());
        options.components.engine = engine;
        let (console, data, notes) = taped();
        let report = program.run(options, console).expect("it runs");
        assert_eq!(notes.text(), "");
        assert!(report.is_well());
        let text = data.text();
        for line in [
            // What the server takes and answers, and what its client sends.
            ", \"Main/server\", 0, 2, true)",
            ", \"Main/server\", 1, 2, true)",
            ", \"Main\", 0, 4, true)",
            ", \"Main\", \"Main/server\", 1, 3)",
            ", \"Main/second\", \"Main/server\", 0, 2)",
        ] {
            assert!(text.contains(line), "{line} with {engine:?} in\n{text}");
        }
    }
}

#[test]
fn messages_are_not_counted_unless_a_rule_reads_them() {
    let rules = "p1 process(@N, C, P, State) :- sys::process(@N, C, P, State, _, _).
        q1 all(@N, M) :- tick(@N), sys::channel(@N, _, _, _, _, M).
        watchmod(process, \"c\").";
    let with_messages = load(&[("a.olg", rules), ("a.com", CLIENTS)]);
    let rules = with_messages.rules.program.as_ref().expect("rules");
    let uses = |table, column| rules.uses_column(table, column);
    assert!(uses("sys::process", 3) && uses("sys::channel", 5));
    assert!(!uses("sys::process", 4) && !uses("sys::process", 5) && !uses("sys::channel", 4));
    assert!(!uses("sys::rule", 4), "it is not in the program");
}
