//! Reading: order, acknowledgement, cancellation, broken connections.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::signing_in::fault_of;
use crate::{
    limits::NEXT_BATCH_MARGIN_MS,
    testkit::{
        PlatformScript,
        limits::{
            CLOCK_JUMP_MS, DROP_AFTER_MS, DROPPED_READERS_COUNT, FLOOD_COUNT, FLOOD_MEMORY_BYTES,
            LARGE_TEXT_BYTES, LARGE_TEXTS_COUNT,
        },
        memory,
        plugin::Trouble,
        report::{Case, ensure, excluded},
        scene::{Scene, texts},
        session::Reading,
    },
    wire::{FaultKind, Inbound, Replay},
};

/// A checkpoint that cannot be read is `config`, never "from the beginning".
pub(crate) async fn bad_checkpoint<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let Some(checkpoint) = scene.script.bad_checkpoint() else {
        return excluded("the script has no checkpoint that is none");
    };
    let answer = async {
        let session = scene.connect(Some(checkpoint)).await?;
        session.next_batch(None).await
    };
    fault_of("a checkpoint that is none", answer.await, &[FaultKind::Config])
}

/// Nothing comes: a first sign of life, then an empty batch within `max_wait_ms`.
pub(crate) async fn empty_batch<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    for _ in 0..2 {
        let begun = Instant::now();
        let batch = reading.next().await?;
        ensure!(batch.messages.is_empty(), "{} messages from nowhere", batch.messages.len());
        let limit = u64::from(scene.channel.limits.max_wait_ms) + NEXT_BATCH_MARGIN_MS;
        let took = begun.elapsed();
        ensure!(took <= Duration::from_millis(limit), "it took {took:?}, past max_wait_ms");
    }
    Ok(())
}

/// Every message once, in order, with its exact id and text.
pub(crate) async fn order<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let sent = texts(20);
    let mut ids = scene.script.inbound(&sent[..10]).await;
    let mut read = reading.texts(10).await?;
    ids.extend(scene.script.inbound(&sent[10..]).await);
    read.extend(reading.texts(10).await?);
    same(&read, &ids, &sent)
}

/// What was not acknowledged comes again.
pub(crate) async fn unacked_again<S: PlatformScript>(scene: &Scene<S>) -> Case {
    if scene.channel.replay != Replay::Platform {
        return excluded("the manifest says replay: none");
    }
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let before = reading.checkpoint.clone();
    let sent = texts(3);
    let ids = scene.script.inbound(&sent).await;
    let first = reading.texts(1).await?;
    ensure!(first[0].id == ids[0], "{} came first, not {}", first[0].id, ids[0]);
    session.close().await?;

    let session = scene.connect(before.clone()).await?;
    let read = Reading::new(&session, before).texts(3).await?;
    same(&read, &ids, &sent)
}

/// What was acknowledged does not come again from its checkpoint.
pub(crate) async fn acked_stays_away<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let sent = texts(3);
    let first = scene.script.inbound(&sent[..1]).await;
    reading.texts(1).await?;
    scene.script.inbound(&sent[1..2]).await;
    reading.texts(1).await?;
    let checkpoint = reading.checkpoint.clone();
    session.close().await?;

    let session = scene.connect(checkpoint.clone()).await?;
    let mut reading = Reading::new(&session, checkpoint);
    reading.next().await?;
    let last = scene.script.inbound(&sent[2..]).await;
    loop {
        let read = reading.texts(1).await?;
        ensure!(read.iter().all(|m| m.id != first[0]), "{} came again", first[0]);
        if read.iter().any(|m| m.id == last[0]) {
            return Ok(());
        }
    }
}

/// An ack that is not the last batch's is `protocol`.
pub(crate) async fn wrong_ack<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let batch = session.next_batch(None).await?;
    let wrong = format!("{}-wrong", batch.token);
    fault_of("a wrong ack", session.next_batch(Some(&wrong)).await, &[FaultKind::Protocol])?;
    fault_of("a late null ack", session.next_batch(None).await, &[FaultKind::Protocol])?;
    // The session goes on as if nothing had been.
    scene.script.inbound(&texts(1)).await;
    session.next_batch(Some(&batch.token)).await?;
    Ok(())
}

/// A host that stops waiting, at any moment, loses nothing.
pub(crate) async fn cancel<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let sent = texts(DROPPED_READERS_COUNT);
    let mut ids = Vec::new();
    let mut read: Vec<Inbound> = Vec::new();
    for (n, text) in sent.iter().enumerate() {
        // From "before it was polled" to "while the batch is on its way".
        let pause = Duration::from_millis(n as u64 * DROP_AFTER_MS / DROPPED_READERS_COUNT as u64);
        let dropping = timeout(pause, session.next_batch(reading.ack.as_deref()));
        let writing = async {
            sleep(pause / 2).await;
            scene.script.inbound(std::slice::from_ref(text)).await
        };
        let (batch, written) = tokio::join!(dropping, writing);
        ids.extend(written);
        if let Ok(batch) = batch {
            let batch = batch?;
            reading.took(&batch);
            read.extend(batch.messages);
        }
    }
    let rest = sent.len().saturating_sub(read.len());
    read.extend(reading.texts(rest).await?);
    same(&read, &ids, &sent)
}

/// Connections break: a fault that passes, and after the next connect all goes on.
pub(crate) async fn cut<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    if !scene.script.cut() {
        return excluded("the script cuts no connection");
    }
    // A channel that mends its connection by itself shows nothing.
    for _ in 0..2 {
        match reading.next().await {
            Ok(_) => {}
            Err(Trouble::Fault { fault, .. }) => {
                let kind = fault.kind;
                ensure!(kind == FaultKind::Retry, "a cut is {kind:?} ({fault})");
                break;
            }
            Err(broken) => return Err(broken.into()),
        }
    }
    let checkpoint = reading.checkpoint.clone();
    session.close().await?;
    let session = scene.connect(checkpoint.clone()).await?;
    let mut reading = Reading::new(&session, checkpoint);
    reading.next().await?;
    let ids = scene.script.inbound(&texts(2)).await;
    same(&reading.texts(2).await?, &ids, &texts(2))
}

/// A thousand messages at once keep the limits of a batch.
pub(crate) async fn flood<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let sent = texts(FLOOD_COUNT);
    let (ids, read) = tokio::join!(scene.script.inbound(&sent), reading.texts(FLOOD_COUNT));
    same(&read?, &ids, &sent)
}

/// The clock jumps ahead, far back, and ahead again: messages come as they were written, and the
/// next connection still brings new ones.
pub(crate) async fn clock_jump<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    for by_ms in [CLOCK_JUMP_MS, -2 * CLOCK_JUMP_MS, CLOCK_JUMP_MS] {
        if !scene.script.jump_clock(by_ms) {
            return excluded("the script's platform has no clock");
        }
        let ids = scene.script.inbound(&texts(2)).await;
        same(&reading.texts(2).await?, &ids, &texts(2))?;
    }
    let checkpoint = reading.checkpoint.clone();
    session.close().await?;
    let session = scene.connect(checkpoint.clone()).await?;
    let mut reading = Reading::new(&session, checkpoint);
    reading.next().await?;
    let ids = scene.script.inbound(&texts(1)).await;
    // What comes once more the host knows by its id.
    while !reading.texts(1).await?.iter().any(|message| message.id == ids[0]) {}
    Ok(())
}

/// A thousand larger messages stay within the memory that their texts justify.
pub(crate) async fn memory<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let Some(before) = memory::begin() else {
        return excluded("the system does not tell how much memory was needed at most");
    };
    let text = "0123456789abcdef".repeat(LARGE_TEXT_BYTES / 16);
    let writing = async {
        for _ in 0..FLOOD_COUNT / LARGE_TEXTS_COUNT {
            scene.script.inbound(&vec![text.clone(); LARGE_TEXTS_COUNT]).await;
        }
    };
    let (read, ()) = tokio::join!(reading.texts(FLOOD_COUNT), writing);
    let whole = read?.iter().all(|message| message.text.as_ref() == Some(&text));
    ensure!(whole, "a text was changed on its way");
    let needed = memory::most().unwrap_or(u64::MAX).saturating_sub(before);
    let (needed, limit) = (needed >> 20, FLOOD_MEMORY_BYTES >> 20);
    ensure!(needed <= limit, "{needed} MiB were needed for 4 MiB of texts, more than {limit}");
    Ok(())
}

fn same(read: &[Inbound], ids: &[String], sent: &[String]) -> Case {
    ensure!(read.len() == ids.len(), "{} messages came, not {}", read.len(), ids.len());
    for (message, (id, text)) in read.iter().zip(ids.iter().zip(sent)) {
        ensure!(message.id == *id, "message {} came where {id} was due", message.id);
        let read = message.text.as_deref().unwrap_or_default();
        ensure!(read == text, "message {id} came with another text");
        ensure!(!message.sender.is_empty(), "message {id} has no sender");
    }
    Ok(())
}
