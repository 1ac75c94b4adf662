//! A mail whose answer is lost: the server took it and hung up. It cannot be asked, so the same mail is sent once more,
//! with the id by which a reader knows it for the same.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;
use tick::steps::effect::Phase;

use super::{
    After, Story,
    rig::{Rig, store_of},
};

/// Messages as they came, also those whose answer was lost.
type Taken = Arc<Mutex<Vec<String>>>;

#[test]
fn a_mail_whose_answer_is_lost_is_sent_again_as_the_same_mail() {
    let mut rig = Rig::new(Story::Plain);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Taken::default();
    let server = Arc::clone(&taken);
    // Ends with the test's process; it waits on a socket of its own and holds nothing else.
    drop(thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            drop(serve(stream, &server));
        }
    }));
    let file = rig.home.join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["notify"].as_object_mut().unwrap().remove("file");
    config["notify"]["email"] = Value::Bool(true);
    std::fs::write(&file, config.to_string()).unwrap();
    let env = rig.home.join(".env");
    let old = std::fs::read_to_string(&env).unwrap();
    std::fs::write(&env, format!("{old}SMTP_URL=smtp://127.0.0.1:{port}\n")).unwrap();

    rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
    // The incident did not wait for its message.
    for _ in 0..2 {
        rig.step(15);
        rig.clean(&rig.home.clone());
    }
    assert!(store_of(&rig.home).letters().unwrap().is_empty());
    assert!(store_of(&rig.home).open_effects().unwrap().is_empty());
    let taken = taken.lock().unwrap().clone();
    let ids: BTreeSet<&str> = taken.iter().map(|mail| id_of(mail)).collect();
    assert_eq!((taken.len(), ids.len()), (2, 1), "{taken:#?}");
    rig.world.finish().unwrap();
}

fn id_of(mail: &str) -> &str {
    mail.lines().find(|line| line.starts_with("Message-ID:")).unwrap()
}

/// One connection. The first message is taken and never answered.
fn serve(stream: TcpStream, taken: &Taken) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream).lines();
    out.write_all(b"220 a mail server\r\n")?;
    while let Some(line) = lines.next().transpose()? {
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        match verb.as_str() {
            "DATA" => {
                out.write_all(b"354 go on\r\n")?;
                let mut mail = String::new();
                while let Some(line) = lines.next().transpose()? {
                    if line == "." {
                        break;
                    }
                    mail.push_str(&line);
                    mail.push('\n');
                }
                let mut taken = taken.lock().unwrap();
                taken.push(mail);
                if taken.len() == 1 {
                    return Ok(());
                }
                out.write_all(b"250 taken\r\n")?;
            }
            "QUIT" => return out.write_all(b"221 bye\r\n"),
            _ => out.write_all(b"250 ok\r\n")?,
        }
    }
    Ok(())
}
