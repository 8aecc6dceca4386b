//! The room with its fakes: a platform, an agent and a file system that do as they are told.

mod accounts;
mod cases;
mod commands;
mod damage;
mod fault_loop;
mod faults;
mod legacy;
mod login;
mod machine;
mod power;
mod runs;
mod same_bot;
mod sessions;
mod simulation;
mod stops;
mod support;
