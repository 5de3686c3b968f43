//! What people get to see: symbols, places in the source, listings, reports, the map for perf.

use crate::common::{finish, import, of_integers};
use tidemill_jit::build::{CallConv, InstBuilder, Signature, StackSlotData, StackSlotKind, types};
use tidemill_jit::{Code, FuncId, Level, Module, Options};

const C: CallConv = CallConv::SystemV;

fn c_signature() -> Signature {
    of_integers(C, 1)
}

extern "C" fn helper(x: i64) -> i64 {
    x + 1
}

/// `inner` and `outer`, which calls `inner` at place 10 and `helper` at place 20.
fn example(options: Options) -> (Code, FuncId, FuncId) {
    let mut module = Module::new(options).unwrap();
    let helper = import(&mut module, "helper", c_signature(), helper as *const ());
    let inner = module.declare("inner", c_signature());
    let outer = module.declare("outer", c_signature());
    module
        .define(outer, |body| {
            let x = body.begin()[0];
            body.source(10);
            let x = body.call(inner, &[x])[0];
            body.source(20);
            let x = body.call(helper, &[x])[0];
            body.ins().return_(&[x]);
        })
        .unwrap();
    module
        .define(inner, |body| {
            let x = body.begin()[0];
            let result = body.ins().imul_imm_s(x, 3);
            body.ins().return_(&[result]);
        })
        .unwrap();
    let code = finish(module).unwrap();
    assert_eq!(function!(code, outer, fn(i64) -> i64)(5), 16);
    (code, inner, outer)
}

#[test]
fn addresses_have_names() {
    let (code, inner, outer) = example(Options::named("names"));
    let (inner, start) = (code.address(inner) as usize, code.address(outer) as usize);
    let symbol = code.symbolise(inner + 1).unwrap();
    assert_eq!((symbol.function, symbol.offset, symbol.source), ("inner", 1, None));
    let size = code.stats().find(|stats| stats.name == "outer").unwrap().bytes;
    let symbols = (start..start + size).map(|address| code.symbolise(address).unwrap());
    let mut sources: Vec<Option<u32>> = Vec::new();
    for (offset, symbol) in symbols.enumerate() {
        assert_eq!((symbol.function, symbol.offset as usize), ("outer", offset));
        sources.push(symbol.source);
    }
    sources.dedup();
    sources.retain(Option::is_some);
    assert_eq!(sources, [Some(10), Some(20)]);
    let spans = code.spans(outer);
    assert!(spans.is_sorted_by_key(|span| span.start) && spans[0].source == 10, "{spans:?}");
    for outside in [start + size, start - 4096 * 4, 0, helper as *const () as usize] {
        assert_eq!(code.symbolise(outside), None, "{outside:x}");
    }
}

#[test]
fn listings_have_names() {
    let (code, inner, outer) = example(Options { listing: true, ..Options::named("names") });
    let listing = code.listing(outer).unwrap();
    assert!(listing.starts_with("names::outer: "), "{listing}");
    for part in ["block0:", " inner\n", " helper", "source:", " at 10\n", " at 20\n"] {
        assert!(listing.contains(part), "no {part} in {listing}");
    }
    assert!(!listing.contains("userextname"), "{listing}");
    let again = example(Options { listing: true, ..Options::named("names") });
    assert_eq!(again.0.listing(outer).unwrap(), listing, "the same on every run");
    assert!(!code.listing(inner).unwrap().contains("source:"));
    let (code, _, outer) = example(Options::named("names"));
    assert_eq!(code.listing(outer), None);
}

#[test]
fn a_report_adds_up() {
    let (code, ..) = example(Options { optimise: Level::None, ..Options::named("names") });
    let report = code.report();
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), 4, "{report}");
    assert_eq!(lines[0], "     bytes   compile_us  function");
    assert!(lines[1].ends_with("  inner") && lines[2].ends_with("  outer"), "{report}");
    assert!(lines[3].ends_with("  names: 2 functions"), "{report}");
    let bytes = |line: &str| line.split_whitespace().next().unwrap().parse::<usize>().unwrap();
    assert_eq!(bytes(lines[1]) + bytes(lines[2]), bytes(lines[3]), "{report}");
    assert_eq!(code.stats().map(|stats| stats.bytes).sum::<usize>(), bytes(lines[3]));
    assert!(code.stats().all(|stats| stats.compile_ns > 0 && stats.bytes > 0));
}

#[test]
fn perf_finds_the_functions() {
    let named = |name: &str| Options { perf_map: true, ..Options::named(name) };
    let path = tidemill_jit::perf_map_path();
    assert_eq!(path.to_str().unwrap(), format!("/tmp/perf-{}.map", std::process::id()));
    std::fs::write(&path, "1000 10 of_an_earlier_process\n").unwrap();
    let (first, inner, outer) = example(named("first"));
    let (second, ..) = example(named("second\n"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    for (code, id, name) in [
        (&first, inner, "first::inner"),
        (&first, outer, "first::outer"),
        (&second, inner, "second_::inner"),
    ] {
        let function = &name[name.len() - 5..];
        let bytes = code.stats().find(|stats| stats.name == function).unwrap().bytes;
        let line = format!("{:x} {bytes:x} {name}", code.address(id) as usize);
        assert!(text.lines().any(|found| found == line), "no `{line}` in {text}");
    }
}

/// A frame of many pages touches all of them in order, and works.
#[test]
fn large_frames() {
    let mut module = Module::new(Options::named("frames")).unwrap();
    let f = module.declare("f", c_signature());
    module
        .define(f, |body| {
            let x = body.begin()[0];
            let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 64 * 1024, 4);
            let slot = body.create_sized_stack_slot(slot);
            body.ins().stack_store(types::I64, x, slot, 0);
            let x = body.ins().stack_load(types::I64, types::I64, slot, 0);
            body.ins().return_(&[x]);
        })
        .unwrap();
    let code = finish(module).unwrap();
    assert_eq!(function!(code, f, fn(i64) -> i64)(-7), -7);
}
