//! GraphicView: a screen of 1024 x 768 pixels in layers.
//!
//! Colours are 0RRGGBBH. Who has not named a layer draws on layer 0, which is seen at once;
//! what is drawn on others is seen from the next DrawLayers on, which draws all layers in
//! ascending order on a black ground. A layer shows what is below it wherever nothing has been
//! drawn on it. What lies outside of the screen is not drawn.
mod screen;

use tidemill_event::Loop;
use tidemill_proc::{Communication, Values};

use crate::components::system::values::integer;
use crate::machine::Machine;
pub(super) use screen::View;
use screen::{CLEAR, GROUND, HEIGHT, Rectangle, WIDTH};

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let next = || values.integer();
    let color = |value: i64| (value & 0xFF_FFFF) as u32;
    let view = &mut world.node.systems.view;
    match message {
        "Clear" => {
            let all = Rectangle::clipped(0, 0, WIDTH as i64, HEIGHT as i64);
            view.paint(from, &all, CLEAR);
        }
        "GetSize" => {
            let size = [WIDTH as i64, HEIGHT as i64, i64::from(GROUND)].map(integer);
            world.answer(lp, from, "Size", &size);
        }
        "Pixel" => {
            let part = Rectangle::clipped(next(), next(), 1, 1);
            view.paint(from, &part, color(next()));
        }
        "Fill" => {
            let part = Rectangle::clipped(next(), next(), next(), next());
            view.paint(from, &part, color(next()));
        }
        "Font" => {
            let (x, y, character) = (next(), next(), next());
            view.character(from, x, y, character as u8, color(next()));
        }
        "SetLayer" => {
            view.levels.insert(from, next());
        }
        "DrawLayers" => view.draw_layers(),
        _ => {}
    }
}
