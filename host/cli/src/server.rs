//! `scv server --stdio`: the protocol on standard input and output, for one client.

use scv_daemon::InProcess;

use crate::{
    context::Context,
    exit::{self, Exit},
    signals::Signals,
    stdout::Frames,
};

pub(crate) async fn run(context: &Context) -> anyhow::Result<Exit> {
    let mut signals = Signals::catch()?;
    let server = InProcess::private(context.config()?, context.client())
        .map_err(|error| exit::usage(error.to_string()))?;
    let mut client = server.serve(tokio::io::join(tokio::io::stdin(), Frames::new()));
    tokio::select! {
        // A panic inside has been told by the log already.
        _ = &mut client => return Ok(Exit::Done),
        () = signals.end() => {}
    }
    tokio::select! {
        () = server.close() => Ok(Exit::Done),
        () = signals.interrupt() => Ok(Exit::Cancelled),
    }
}
