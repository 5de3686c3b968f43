//! GraphicView: a screen of 1024 x 768 pixels in layers.
//!
//! Colours are 0RRGGBBH. A client that has not selected a layer draws on layer 0, which is visible
//! at once; drawings on other layers become visible with the next DrawLayers, which draws all
//! layers in ascending order on a black ground. A layer is transparent wherever nothing has been
//! drawn on it. Drawings are clipped to the screen.
mod screen;

use tidemill_cl::system::graphic_view::{Request, Response};
use tidemill_event::Loop;
use tidemill_proc::Communication;

use crate::machine::Machine;
pub(super) use screen::View;
use screen::{CLEAR, GROUND, HEIGHT, Rectangle, WIDTH};

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request,
) {
    let rgb = |value: i64| (value & 0xFF_FFFF) as u32;
    let view = &mut world.node.systems.view;
    match request {
        Request::Clear => {
            let all = Rectangle::clipped(0, 0, WIDTH as i64, HEIGHT as i64);
            view.paint(from, &all, CLEAR);
        }
        Request::GetSize => {
            let (width, height, bg_color) = (WIDTH as i64, HEIGHT as i64, i64::from(GROUND));
            world.answer(lp, from, Response::Size { width, height, bg_color });
        }
        Request::Pixel { x, y, color } => {
            view.paint(from, &Rectangle::clipped(x, y, 1, 1), rgb(color));
        }
        Request::Fill { x, y, w, h, color } => {
            view.paint(from, &Rectangle::clipped(x, y, w, h), rgb(color));
        }
        Request::Font { x, y, char, color } => view.character(from, x, y, char, rgb(color)),
        Request::SetLayer { level } => {
            view.levels.insert(from, level);
        }
        Request::DrawLayers => view.draw_layers(),
    }
}
