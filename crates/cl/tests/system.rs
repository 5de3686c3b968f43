//! The interfaces of the system, and the types of their messages.

use tidemill_cl::check::check;
use tidemill_cl::parse::parse_file;
use tidemill_cl::system::{Response, System, file_system, messages, pore};
use tidemill_cl::{ast, ir};
use tidemill_diag::FileId;
use tidemill_proc::{Value, Values};

/// A program that requires all of them, checked.
fn checked() -> tidemill_cl::tree::Program {
    let names: Vec<&str> = System::ALL.map(System::name).into();
    let text = format!("COMPONENT Main REQUIRES {}; END Main;", names.join(", "));
    let (file, diagnostics) = parse_file(FileId(0), &text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let (tree, diagnostics) = check(&ast::Program { files: vec![file] });
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    tree
}

#[test]
fn each_text_declares_its_interface() {
    for system in System::ALL {
        let (file, diagnostics) = parse_file(FileId(0), system.text());
        assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", system.name());
        let [ast::Definition::Interface(declared)] = &file.definitions[..] else {
            panic!("{}: one interface", system.name());
        };
        assert_eq!(declared.name.text, system.name());
        assert_eq!(System::named(system.name()), Some(system));
    }
    assert_eq!(System::named("Nothing"), None);
}

#[test]
fn numbers_are_those_of_the_checker() {
    let tree = checked();
    let is_request = |system: System, number: u32| {
        let values = Values::default();
        macro_rules! of {
            ($($variant:ident => $module:ident),*) => {
                match system {
                    $(System::$variant => tidemill_cl::system::$module::Request::of(number, &values)
                        .map(|request| format!("{request:?}")),)*
                }
            };
        }
        of!(Time => system_time, Files => file_system, View => graphic_view, Input => input,
            Arguments => arguments, Network => network, Pore => pore, Xenstore => xenstore,
            Packets => packets, Messages => messages)
    };
    let mut compared = 0;
    for system in System::ALL {
        let known = tree.interfaces.iter().find(|it| it.name == system.name()).expect("declared");
        for (number, message) in known.messages.iter().enumerate() {
            let request = is_request(system, number as u32);
            let name = request.as_deref().and_then(|it| it.split(' ').next());
            let is_in = message.direction == ir::Direction::In;
            assert_eq!(name, is_in.then_some(message.name.as_str()), "{}", system.name());
            compared += 1;
        }
        assert!(is_request(system, known.messages.len() as u32).is_none());
    }
    assert!(compared > 80, "{compared}");
}

#[test]
fn answers_have_the_number_and_the_parameters_of_the_message() {
    let tree = checked();
    let sent = |system: System, name: &str| {
        let known = tree.interfaces.iter().find(|it| it.name == system.name()).expect("declared");
        known.messages.iter().position(|it| it.name == name).expect("a message") as u32
    };
    let came = pore::Response::Came { data: b"abc".into(), until: -1 };
    came.send(|number, values| {
        assert_eq!(number, sent(System::Pore, "Came"));
        assert_eq!(values, [Value::Text(b"abc".into()), Value::Word(u64::MAX)]);
    });
    file_system::Response::EOF.send(|number, values| {
        assert_eq!((number, values), (sent(System::Files, "EOF"), &[][..]));
    });
    messages::Response::Real { value: 1.5 }.send(|number, values| {
        assert_eq!(number, sent(System::Messages, "Real"));
        assert_eq!(values, [Value::Word(1.5_f64.to_bits())]);
    });
    messages::Response::Boolean { value: true }.send(|_, values| {
        assert_eq!(values, [Value::Word(1)]);
    });
    file_system::Response::Byte { x: 200 }.send(|_, values| {
        assert_eq!(values, [Value::Word(200)]);
    });
}
