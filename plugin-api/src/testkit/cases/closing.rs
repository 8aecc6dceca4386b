//! Endings: what is open ends at once, and leaves nothing.

use crate::{
    testkit::{
        PlatformScript,
        plugin::Trouble,
        report::{Case, ensure},
        scene::{Scene, texts},
        session::Reading,
    },
    wire::{Batch, FaultKind},
};

/// Closing while a reader waits: it ends, nothing is left, and later calls are over.
pub(crate) async fn close<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let first = session.next_batch(None).await?;
    let reading = session.next_batch(Some(&first.token));
    let (read, closed) = tokio::join!(reading, session.close());
    let left = closed?.tasks_left;
    ensure!(left == 0, "{left} tasks were left");
    let token = match read {
        Ok(batch) => batch.token,
        Err(over) => {
            over_or_broken(Err(over))?;
            first.token
        }
    };
    over_or_broken(session.next_batch(Some(&token)).await)
}

/// What a closed session answers.
fn over_or_broken(answer: Result<Batch, Trouble>) -> Case {
    match answer {
        Err(Trouble::Fault { fault, .. }) => {
            let over = matches!(fault.kind, FaultKind::Cancelled | FaultKind::Retry);
            ensure!(over, "after close next_batch is {:?} ({fault})", fault.kind);
            Ok(())
        }
        Err(broken) => Err(broken.into()),
        Ok(_) => {
            ensure!(false, "after close next_batch still brings batches");
            Ok(())
        }
    }
}

/// Two sessions of one plugin: closing one does not concern the other.
pub(crate) async fn two_accounts<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let mut request = scene.connect_request(scene.script.credentials(), None);
    request.account = "second".into();
    let first = scene.connect(None).await?;
    first.next_batch(None).await?;
    first.close().await?;
    let second = scene.plugin.connect(&request).await?;
    drop(first);
    let mut reading = Reading::new(&second, None);
    reading.next().await?;
    let ids = scene.script.inbound(&texts(1)).await;
    let read = reading.texts(1).await?;
    ensure!(read[0].id == ids[0], "the second session reads {}", read[0].id);
    Ok(())
}

/// A session that the host lets go without a close keeps nobody from ending.
pub(crate) async fn dropped<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    session.next_batch(None).await?;
    drop(session);
    Ok(())
}
