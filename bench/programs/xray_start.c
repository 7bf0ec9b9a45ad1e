// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked into programs built with -fxray-instrument: XRay's flight data recorder, from the start of
 * the program to its end, with room for all that is recorded. (XRAY_OPTIONS alone does not start
 * it.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

__attribute__((constructor)) static void begin(void)
{
	static char options[] = "buffer_size=1048576:buffer_max=300:func_duration_threshold_us=0";

	if (!getenv("DWELL_XRAY"))
		return;
	if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK ||
	    __xray_log_init_mode("xray-fdr", options) != XRAY_LOG_INITIALIZED ||
	    __xray_patch() != SUCCESS)
		fprintf(stderr, "XRay does not start\n");
}

__attribute__((destructor)) static void end(void)
{
	if (!getenv("DWELL_XRAY"))
		return;
	__xray_log_finalize();
	__xray_log_flushLog();
}
