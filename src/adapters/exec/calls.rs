//! Which system calls a child may make, by seccomp: none that reach into other processes, the kernel or the mounts,
//! none that leave something in memory for the next run, and sockets of the common families only.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Refused with "not permitted", as where the right is missing.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_reboot,
    libc::SYS_quotactl,
    libc::SYS_request_key,
    libc::SYS_semget,
    libc::SYS_setns,
    libc::SYS_shmget,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Families of sockets. One that has a path leads to the services of this machine (a container engine, an agent of
/// keys) past every rule about files, so only pairs may be of that family.
const FAMILIES: [(libc::c_long, &[i32]); 2] = [
    (libc::SYS_socket, &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
    (libc::SYS_socketpair, &[libc::AF_UNIX]),
];

/// Calls that change a mode, with the argument that holds it.
const MODES: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
];
/// A file with one of these lends its owner's rights to whoever runs it.
const LENDING: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Namespaces, in which a process is root once more.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Terminals take these as if somebody had typed.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// The second numbering of the same calls on x86-64.
const X32: i64 = 0x4000_0000;

pub(super) fn confine() -> Result<(), String> {
    install().map_err(|error| format!("the filter of system calls failed: {error}"))
}

fn install() -> Built<()> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    apply_filter(&program(families()?, libc::EAFNOSUPPORT, arch)?)?;
    // Its flags cannot be looked at; without it programs take the older call.
    apply_filter(&program(both([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS, arch)?)?;
    apply_filter(&program(refused()?, libc::EPERM, arch)?)?;
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, Box<dyn std::error::Error>>;

/// Under both numberings.
fn both(rules: impl IntoIterator<Item = (libc::c_long, Vec<SeccompRule>)>) -> Rules {
    rules
        .into_iter()
        .flat_map(|(call, rules)| [(call, rules.clone()), (call | X32, rules)])
        .collect()
}

fn program(rules: Rules, errno: i32, arch: TargetArch) -> Built<BpfProgram> {
    let errno = SeccompAction::Errno(u32::try_from(errno)?);
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()?)
}

fn refused() -> Built<Rules> {
    let mut rules: Vec<(libc::c_long, Vec<SeccompRule>)> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, argument) in MODES {
        rules.push((*call, bits(*argument, LENDING.map(u64::from))?));
    }
    let spaces: Vec<u64> = NAMESPACES.iter().map(|flag| u64::from(flag.unsigned_abs())).collect();
    rules.push((libc::SYS_clone, bits(0, spaces)?));
    let typing = TYPING.iter().map(|request| one(1, SeccompCmpOp::Eq, *request));
    rules.push((libc::SYS_ioctl, typing.collect::<Built<_>>()?));
    Ok(both(rules))
}

/// One rule for each bit that must not be set.
fn bits(argument: u8, bits: impl IntoIterator<Item = u64>) -> Built<Vec<SeccompRule>> {
    bits.into_iter()
        .map(|bit| one(argument, SeccompCmpOp::MaskedEq(bit), bit))
        .collect()
}

fn one(argument: u8, op: SeccompCmpOp, value: u64) -> Built<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// A socket whose family is none of those that the call may have.
fn families() -> Built<Rules> {
    let none_of = |families: &[i32]| -> Built<SeccompRule> {
        let conditions = families
            .iter()
            .map(|family| {
                let family = u64::try_from(*family)?;
                Ok(SeccompCondition::new(
                    0,
                    SeccompCmpArgLen::Dword,
                    SeccompCmpOp::Ne,
                    family,
                )?)
            })
            .collect::<Built<Vec<_>>>()?;
        Ok(SeccompRule::new(conditions)?)
    };
    let rules = FAMILIES
        .iter()
        .map(|(call, families)| Ok((*call, vec![none_of(families)?])));
    Ok(both(rules.collect::<Built<Vec<_>>>()?))
}
