//! The whole of scv from outside: the built program and plugins, their sockets, signals and files.

mod canary;
mod coverage;
mod damage;
mod feishu;
mod full_disk;
mod hangs;
mod in_chat;
mod inbound;
mod kill_loop;
mod kinds;
mod logs;
mod new_plugin;
mod noexec;
mod operator;
mod plugin_host;
mod plugins;
mod sending;
mod sign_in;
mod signed_out;
mod socket;
mod stderr;
mod tools;
