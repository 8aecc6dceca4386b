//! The built Feishu plugin in the real program, reached through its proxy support.

mod case;
mod cases;
mod checks;
mod kill_loop;
mod player;
mod reconnecting;
mod redelivery;
mod sign_in;
mod wire;
