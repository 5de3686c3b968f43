//! The macro that declares an app type.

/// The name of a key whose field is called `name`, or `r#name` where that is a word of Rust.
#[doc(hidden)]
pub const fn key_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares an app type; see [`app`](crate::app) for an example.
///
/// The parts are `config`, a struct with a documented field per key, of a type that is a
/// [`Setting`](crate::app::Setting), with its default unless it must be given; `ports`, with
/// direction, flow and count; and `traits`, of which there are `pulls`, `begins`, `passes`,
/// `exclusive`, `device`, `divides` and `kernel`.
#[macro_export]
macro_rules! declare {
    (
        $(#[doc = $about:literal])+
        app $App:ident {
            config $Config:ident {
                $($(#[doc = $key_about:literal])+ $key:ident : $Type:ty $(= $default:expr)?,)*
            }
            ports {
                $(
                    $(#[doc = $port_about:literal])+
                    $port:ident : $direction:ident($pacing:ident, $count:ident),
                )*
            }
            traits { $($trait:ident),* }
        }
    ) => {
        #[doc = concat!("What a graph says of a `", stringify!($App), "`.")]
        #[derive(Clone, Debug)]
        pub struct $Config {
            $($(#[doc = $key_about])+ pub $key: $Type,)*
        }

        impl $crate::app::Settings for $Config {
            fn read(config: &$crate::app::Config) -> Result<$Config, $crate::app::ConfigError> {
                let _ = config;
                Ok($Config {
                    $($key: match config.get($crate::declare!(@key $key)) {
                        Some(value) => <$Type as $crate::app::Setting>::read(value)
                            .map_err(|bad| {
                                let key = $crate::declare!(@key $key);
                                $crate::app::ConfigError::new(key, bad.to_string())
                            })?,
                        None => $crate::declare!(@missing $key $($default)?),
                    },)*
                })
            }
        }

        impl $crate::app::Declared for $App {
            type Config = $Config;

            fn declaration() -> &'static $crate::app::Declaration {
                static DECLARATION: $crate::app::Declaration = $crate::app::Declaration {
                    name: stringify!($App),
                    about: concat!($($about, "\n"),+),
                    keys: &[$($crate::app::Key {
                        name: $crate::declare!(@key $key),
                        about: concat!($($key_about, "\n"),+),
                        type_name: <$Type as $crate::app::Setting>::TYPE,
                        default: $crate::declare!(@default $Type; $($default)?),
                        read: |value| {
                            <$Type as $crate::app::Setting>::read(value).map(|_| ())
                        },
                    }),*],
                    ports: &[$($crate::app::Port {
                        name: stringify!($port),
                        about: concat!($($port_about, "\n"),+),
                        direction: $crate::app::Direction::$direction,
                        pacing: $crate::app::Pacing::$pacing,
                        count: $crate::app::Count::$count,
                    }),*],
                    pulls: $crate::declare!(@has pulls $($trait)*),
                    begins: $crate::declare!(@has begins $($trait)*),
                    passes: $crate::declare!(@has passes $($trait)*),
                    exclusive: $crate::declare!(@has exclusive $($trait)*),
                    device: $crate::declare!(@has device $($trait)*),
                    divides: $crate::declare!(@has divides $($trait)*),
                    kernel: $crate::declare!(@has kernel $($trait)*),
                    validate: |_, config| $crate::app::validate_config::<$App>(config),
                    construct: |_, config, start| {
                        $crate::app::construct::<$App>(config, start)
                    },
                    source: None,
                    definition: None,
                    same: || std::any::TypeId::of::<$App>(),
                };
                &DECLARATION
            }
        }
    };
    (@key $key:ident) => { $crate::app::key_name(stringify!($key)) };
    (@missing $key:ident $default:expr) => { $default };
    (@missing $key:ident) => {
        return Err($crate::app::ConfigError::new($crate::declare!(@key $key), "it is missing"))
    };
    (@default $Type:ty; $default:expr) => {
        Some($crate::app::Default::Made(|| {
            let default: $Type = $default;
            $crate::app::Setting::value(&default)
        }))
    };
    (@default $Type:ty;) => { None };
    (@has pulls pulls $($rest:ident)*) => { true };
    (@has begins begins $($rest:ident)*) => { true };
    (@has passes passes $($rest:ident)*) => { true };
    (@has exclusive exclusive $($rest:ident)*) => { true };
    (@has device device $($rest:ident)*) => { true };
    (@has divides divides $($rest:ident)*) => { true };
    (@has kernel kernel $($rest:ident)*) => { true };
    (@has $wanted:ident $other:ident $($rest:ident)*) => {
        $crate::declare!(@has $wanted $($rest)*)
    };
    (@has $wanted:ident) => { false };
}
