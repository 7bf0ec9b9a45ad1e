// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/seccomp.h"
#include "base/cleanup.h"
#include "base/invoking_user.h"

void process__die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it had ended before */
		_exit(0);
}

/* Descriptors 0 to 2 are never another file, which a message could be written to. */
static void close_all_but(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (socket != PROCESS_SOCKET && dup2(socket, PROCESS_SOCKET) < 0)
		_exit(1);
	for (int fd = 0; fd < PROCESS_SOCKET; fd++) {
#ifdef SANITIZED
		if (fd == STDERR_FILENO)
			continue;
#endif
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	}
	if (close_range(PROCESS_SOCKET + 1, ~0U, 0))
		for (int fd = PROCESS_SOCKET + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
	fcntl(PROCESS_SOCKET, F_SETFD, FD_CLOEXEC);
}

void process__isolate(int socket, const char *name)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE, SIGXFSZ};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
#ifdef SANITIZED
		if (number != SIGSEGV && number != SIGBUS && number != SIGFPE)
#endif
			signal(number, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	close_all_but(socket);
	prctl(PR_SET_NAME, name);
}

static void limit(int resource, uint64_t value)
{
	struct rlimit now, wanted;

	if (getrlimit(resource, &now))
		return;
	if (now.rlim_max < value)
		value = now.rlim_max;
	wanted = (struct rlimit){value, value};
	setrlimit(resource, &wanted);
}

static void set_limits(const struct sandbox_limits *limits)
{
	limit(RLIMIT_CORE, 0);
#ifndef SANITIZED
	limit(RLIMIT_DATA, limits->memory);
#endif
	limit(RLIMIT_FSIZE, limits->file);
	limit(RLIMIT_NOFILE, limits->fds);
}

/* A directory of /proc that lists the descriptors of this process only. */
static unsigned int change_root(void)
{
	return chroot("/proc/self/fdinfo") || chdir("/") ? 0 : SANDBOX_ROOT;
}

/* From root. Where that user does not exist in a namespace, it stays who it is. */
static unsigned int change_user(uid_t uid, gid_t gid)
{
	if (getuid() && geteuid())
		return SANDBOX_USER;
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return 0;
	return SANDBOX_USER;
}

static unsigned int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 0;
	return SANDBOX_CAPS;
}

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__NR_##name), 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* The low 32 bits of an argument; all that are checked are ints. */
#define ARGUMENT(n) LOAD(args[n])
/* A SIGSYS instead of the call. */
#define TRAP(name)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__NR_##name), 0, 1), RETURN(SECCOMP_RET_TRAP)
/* Allows @name if argument @n is @value; else it fails. */
#define ALLOW_IF(name, n, value)                                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__NR_##name), 0, 4), ARGUMENT(n),                     \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), RETURN(SECCOMP_RET_ALLOW),     \
		RETURN(SECCOMP_RET_ERRNO | EPERM)
/* Allows @name if argument @n has none of the bits @bits. */
#define ALLOW_WITHOUT(name, n, bits)                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__NR_##name), 0, 4), ARGUMENT(n),                     \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0), RETURN(SECCOMP_RET_ALLOW),     \
		RETURN(SECCOMP_RET_ERRNO | EPERM)

/*
 * Reads of open files, memory that is not executable, messages over the socket. No way to a path,
 * another process, the network, or new code. What opens a file gets a signal (debug_wish.h).
 */
static unsigned int filter_syscalls(void)
{
	const struct sock_filter code[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		SECCOMP_OTHER_TABLES,
		ALLOW(read),
		ALLOW(pread64),
		ALLOW(write),
		ALLOW(pwrite64),
		ALLOW(lseek),
		ALLOW(close),
		ALLOW(fstat),
		TRAP(openat),
		ALLOW_IF(newfstatat, 3, AT_EMPTY_PATH),
		ALLOW_IF(fcntl, 1, F_DUPFD_CLOEXEC),
		ALLOW(memfd_create),
		ALLOW(ftruncate),
		ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
		ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(sendmsg),
		ALLOW(recvmsg),
		ALLOW(ppoll),
		ALLOW(futex),
		ALLOW(sched_yield),
		ALLOW(clock_gettime),
		ALLOW(getrandom),
		ALLOW(sysinfo),
		ALLOW(getpid),
		ALLOW(gettid),
		ALLOW(restart_syscall),
		ALLOW(rt_sigaction),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW_IF(tgkill, 0, (__u32)getpid()),
		ALLOW(exit),
		ALLOW(exit_group),
#ifdef SANITIZED
		ALLOW(mmap),
		ALLOW(sigaltstack),
		ALLOW(sched_getaffinity),
		ALLOW(readlink),
#endif
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = {ARRAY_SIZE(code), (struct sock_filter *)code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? 0 : SANDBOX_SYSCALLS;
}

/* What could start or take over another process, or change the system. */
static unsigned int filter_online(void)
{
#define DENY(name)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__NR_##name), 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM)
	const struct sock_filter code[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		SECCOMP_OTHER_TABLES,
		DENY(execve),
		DENY(execveat),
		DENY(ptrace),
		DENY(process_vm_readv),
		DENY(process_vm_writev),
		DENY(bpf),
		DENY(perf_event_open),
		DENY(userfaultfd),
		DENY(io_uring_setup),
		DENY(keyctl),
		DENY(add_key),
		DENY(request_key),
		DENY(unshare),
		DENY(setns),
		DENY(mount),
		DENY(kill),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_SIZE(code), (struct sock_filter *)code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? 0 : SANDBOX_SYSCALLS;
}

unsigned int sandbox__enter_online(pid_t parent)
{
	uid_t uid = SANDBOX_NOBODY;
	gid_t gid = SANDBOX_NOBODY;
	unsigned int parts;

	limit(RLIMIT_CORE, 0);
	if (!invoking_user__get(&uid, &gid) || !uid || gid == (gid_t)-1)
		uid = gid = SANDBOX_NOBODY;
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
		prctl(PR_CAPBSET_DROP, capability);
	parts = change_user(uid, gid);
	parts |= drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0);
	process__die_with(parent);
	return parts | filter_online();
}

unsigned int sandbox__enter(pid_t parent, const struct sandbox_limits *limits)
{
	unsigned int parts = 0;

	set_limits(limits);
	if (!unshare(CLONE_NEWNET))
		parts |= SANDBOX_NETWORK;
	parts |= change_root();
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
		prctl(PR_CAPBSET_DROP, capability);
	parts |= change_user(SANDBOX_NOBODY, SANDBOX_NOBODY);
	parts |= drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0);
	process__die_with(parent);
	return parts | filter_syscalls();
}
