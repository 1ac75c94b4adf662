//! Which system calls a child may make, by seccomp: none that reach into other processes, the kernel or the mounts,
//! and sockets of the common families only.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Refused with "not permitted", as where the right is missing.
const REFUSED: &[libc::c_long] = &[
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
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The second numbering of the same calls on x86-64.
const X32: i64 = 0x4000_0000;

pub(super) fn confine() -> Result<(), String> {
    install().map_err(|error| format!("the filter of system calls failed: {error}"))
}

fn install() -> Result<(), Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    apply_filter(&program(families()?, libc::EAFNOSUPPORT, arch)?)?;
    apply_filter(&program(refused(), libc::EPERM, arch)?)?;
    Ok(())
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
    arch: TargetArch,
) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let errno = SeccompAction::Errno(u32::try_from(errno)?);
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()?)
}

fn refused() -> BTreeMap<i64, Vec<SeccompRule>> {
    REFUSED
        .iter()
        .flat_map(|call| [*call, *call | X32])
        .map(|call| (call, Vec::new()))
        .collect()
}

/// A socket whose family is none of the common ones.
fn families() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Box<dyn std::error::Error>> {
    let none_of = || -> Result<SeccompRule, Box<dyn std::error::Error>> {
        let conditions = FAMILIES
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
            .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
        Ok(SeccompRule::new(conditions)?)
    };
    [libc::SYS_socket, libc::SYS_socketpair]
        .into_iter()
        .flat_map(|call| [call, call | X32])
        .map(|call| Ok((call, vec![none_of()?])))
        .collect()
}
