// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/kernel/missing_field.h"

/*
 * The last warning of libbpf, which prints nothing itself, and the verifier's reason, or the field
 * that is the reason.
 */
static __thread char libbpf_warning[256];
static __thread char verifier_message[256];
static __thread char missing_field[128];

/* Keeps the line before the statistics, which is the reason, from a log of thousands of lines. */
static void keep_verifier_message(char *log)
{
	char *end = strstr(log, "\nverification time ");
	const char *name = strchr(log, '\'');
	char *line;

	if (!end)
		end = strstr(log, "\nprocessed ");
	if (!end || !name)
		return;
	*end = '\0';
	line = strrchr(log, '\n');
	snprintf(verifier_message, sizeof(verifier_message), "%.*s: %s",
		 (int)strcspn(name + 1, "'"), name + 1, line ? line + 1 : "");
	missing_field__parse(line ? line : log, missing_field, sizeof(missing_field));
}

static int keep_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, args) < 0)
		return 0;
	if (strstr(text, "BEGIN PROG LOAD LOG"))
		keep_verifier_message(text);
	else
		snprintf(libbpf_warning, sizeof(libbpf_warning), "%s", text);
	return 0;
}

void refusal__keep_messages(void)
{
	libbpf_set_print(keep_libbpf_message);
}

void refusal__forget(void)
{
	*libbpf_warning = *verifier_message = *missing_field = '\0';
}

bool refusal__of_field(void)
{
	return *missing_field;
}

static void hint_at_capabilities(void)
{
	_cleanup_free_ char *self = realpath("/proc/self/exe", NULL);

	error__hint("recording needs CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE to see other\n"
		    "users' processes. Run with sudo, or once:\n"
		    "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep %s",
		    self ? self : "/usr/local/bin/dwell");
}

int refusal__error(int err, const char *what)
{
	if (*missing_field)
		return missing_field__error(err, missing_field);
	error__errno(err, "cannot %s", what);
	if (*error__hint_text(err)) /* a limit */
		return err;
	libbpf_warning[strcspn(libbpf_warning, "\n")] = '\0';
	/* For privileged users, -EACCES comes from the verifier. */
	if (err == -EPERM || (err == -EACCES && geteuid()))
		hint_at_capabilities();
	else if (*verifier_message)
		error__hint("dwell supports kernels from 5.15 on; this one's verifier refuses %s",
			    verifier_message);
	else if (*libbpf_warning)
		error__hint("dwell supports kernels from 5.15 on; libbpf said: %s", libbpf_warning);
	return err;
}
