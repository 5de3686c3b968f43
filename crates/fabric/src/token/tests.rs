use super::*;

fn token(text: &str) -> Token {
    Token::parse(text).unwrap()
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A channel's two sides, open, and all that was sent before.
fn opened() -> (Channel, Channel, Vec<u8>, Vec<u8>) {
    let (mut hello, mut reply, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let mut caller = Channel::call(&token(TOKEN), [1; 32], &mut hello).unwrap();
    let mut listener = Channel::answer(&token(TOKEN), [2; 32]).unwrap();
    assert!(!caller.is_open() && !listener.is_open());
    listener.receive(&hello, &mut plain, &mut reply).unwrap();
    caller.receive(&reply, &mut plain, &mut Vec::new()).unwrap();
    assert!(caller.is_open() && listener.is_open() && plain.is_empty());
    (caller, listener, hello, reply)
}

#[test]
fn weak_tokens_are_refused_and_say_how_to_make_one() {
    let weak = [
        "secret",
        "0123456789abcdef0123456789abcde",
        "12345678901234567890123456789012345678",
        &"a".repeat(500),
        &"ab".repeat(250),
        "abcdefghijklmnopqrstu",
    ];
    for text in weak {
        let error = Token::parse(text).unwrap_err();
        assert!(matches!(error, TokenError::Weak { bits } if bits < BITS_MIN), "{text}: {error}");
        assert!(error.to_string().ends_with("(`tidemill key FILE` makes one)"), "{error}");
    }
    assert_eq!(Token::parse("# nothing\n\n"), Err(TokenError::Empty));
    assert_eq!(Token::parse(&format!("{TOKEN}\n{TOKEN}")), Err(TokenError::TooMuch));
    assert_eq!(Token::parse(&"ab".repeat(5000)), Err(TokenError::TooMuch));
    assert_eq!(Token::parse("0123456789abcdef 0123456789abcdef"), Err(TokenError::Unprintable));
    assert_eq!(Token::parse("ärger456789abcdef0123456789abcdef"), Err(TokenError::Unprintable));
    for text in [TOKEN, "123456789012345678901234567890123456789", "dGhpcyBpcyBhIHRva2VuIQ"] {
        assert_eq!(token(text), token(&format!("# made today\n {text} \n")));
    }
    assert_ne!(token(TOKEN), token(&TOKEN.to_uppercase()));
    assert!(!format!("{:?}", token(TOKEN)).contains('0'));
}

#[test]
fn who_has_the_token_is_understood_both_ways() {
    let (mut caller, mut listener, hello, _) = opened();
    assert!(is_hello(&hello[4..]));
    let long: Vec<u8> = (0..100_000u32).map(|at| at as u8).collect();
    for text in [&b""[..], b"question", &long] {
        for turn in 0..2 {
            let (mut sealed, mut plain) = (Vec::new(), Vec::new());
            let (from, to) = match turn {
                0 => (&mut caller, &mut listener),
                _ => (&mut listener, &mut caller),
            };
            from.seal(text, &mut sealed).unwrap();
            // However it is cut.
            for piece in sealed.chunks(777) {
                to.receive(piece, &mut plain, &mut Vec::new()).unwrap();
            }
            assert_eq!(plain, text);
            assert!(text.len() < 8 || !sealed.windows(8).any(|window| window == &text[..8]));
        }
    }
}

#[test]
fn another_token_is_refused_and_learns_so() {
    let (mut hello, mut answer) = (Vec::new(), Vec::new());
    let other = token(&TOKEN.replace('a', "b"));
    let mut caller = Channel::call(&other, [1; 32], &mut hello).unwrap();
    let mut listener = Channel::answer(&token(TOKEN), [2; 32]).unwrap();
    let mut plain = Vec::new();
    assert_eq!(listener.receive(&hello, &mut plain, &mut answer), Err(Broken::Token));
    assert!(answer.len() < hello.len(), "no more than was sent");
    assert_eq!(caller.receive(&answer, &mut plain, &mut Vec::new()), Err(Broken::Token));
    // Nothing goes on after that.
    assert_eq!(listener.receive(&hello, &mut plain, &mut answer), Err(Broken::Frame));
    assert_eq!(listener.seal(b"x", &mut Vec::new()), Err(Broken::Frame));
    assert!(plain.is_empty());
}

#[test]
fn every_changed_bit_of_the_handshake_is_noticed() {
    let (_, _, hello, reply) = opened();
    for at in 4..hello.len() {
        let mut changed = hello.clone();
        changed[at] ^= 1;
        let mut listener = Channel::answer(&token(TOKEN), [2; 32]).unwrap();
        let received = listener.receive(&changed, &mut Vec::new(), &mut Vec::new());
        assert!(received.is_err() && !listener.is_open(), "{at}");
    }
    for at in 4..reply.len() {
        let mut changed = reply.clone();
        changed[at] ^= 1;
        let mut caller = Channel::call(&token(TOKEN), [1; 32], &mut Vec::new()).unwrap();
        let received = caller.receive(&changed, &mut Vec::new(), &mut Vec::new());
        assert!(received.is_err() && !caller.is_open(), "{at}");
    }
}

/// An attacker that has recorded a connection can replay the hello, but nothing after it.
#[test]
fn a_replayed_connection_comes_to_nothing() {
    let (mut caller, _, hello, _) = opened();
    let mut question = Vec::new();
    caller.seal(b"what is there?", &mut question).unwrap();
    let mut listener = Channel::answer(&token(TOKEN), [3; 32]).unwrap();
    let (mut plain, mut reply) = (Vec::new(), Vec::new());
    listener.receive(&hello, &mut plain, &mut reply).unwrap();
    assert_eq!(listener.receive(&question, &mut plain, &mut reply), Err(Broken::Seal));
    assert!(plain.is_empty());
}

#[test]
fn data_that_is_changed_repeated_or_left_out_ends_the_channel() {
    let sealed = || {
        let (mut caller, listener, ..) = opened();
        let mut frames = [Vec::new(), Vec::new()];
        frames.iter_mut().for_each(|frame| caller.seal(b"rows", frame).unwrap());
        (listener, frames)
    };
    let receive = |listener: &mut Channel, bytes: &[u8]| {
        let mut plain = Vec::new();
        let received = listener.receive(bytes, &mut plain, &mut Vec::new());
        assert_eq!(plain.is_empty(), received.is_err());
        received
    };
    let (mut listener, [first, _]) = sealed();
    receive(&mut listener, &first).unwrap();
    assert_eq!(receive(&mut listener, &first), Err(Broken::Seal), "repeated");
    let (mut listener, [_, second]) = sealed();
    assert_eq!(receive(&mut listener, &second), Err(Broken::Seal), "the first is left out");
    let (mut listener, [mut first, second]) = sealed();
    *first.last_mut().unwrap() ^= 1;
    assert_eq!(receive(&mut listener, &first), Err(Broken::Seal), "changed");
    assert_eq!(receive(&mut listener, &second), Err(Broken::Frame), "it is over");
    let (mut listener, _) = sealed();
    assert_eq!(receive(&mut listener, &u32::MAX.to_le_bytes()), Err(Broken::TooLong));
}
